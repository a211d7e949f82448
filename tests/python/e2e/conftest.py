"""The installed command `tailback`, and experiments for it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("tailback")

EXPERIMENT = """\
title: two controls at a local bottleneck
hosts:
  client:
  router:
  server:
links:
  - {ends: [client, router], rate: 1gbit, delay: 250us}
  - {ends: [router, server], rate: 1gbit, delay: 250us}
qdiscs:
  client -> router: htb rate 10mbit | pfifo_fast
traffic:
  - {tcp: client -> server, name: upload, flows: 2, start: 100ms, stop: 2900ms, jitter: 10ms}
  - {ping: client -> server, interval: 20ms}
duration: 3s
measure: {warmup: 1s}
vary:
  cc: [cubic, reno]
repeat: 4
"""

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def tailback(tmp_path: Path) -> Run:
    """Runs the command in a folder that contains only `two.yaml`, and checks its exit status."""
    assert COMMAND.is_file(), "the package is not installed beside this Python: run `make test`"
    (tmp_path / "two.yaml").write_text(EXPERIMENT)

    def run(*words: str | Path, status: int = 0) -> Done:
        command = [str(COMMAND), *map(str, words)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run

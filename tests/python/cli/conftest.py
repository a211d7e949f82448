"""Experiment files small enough for the simulator to run in an instant."""

from pathlib import Path

import pytest

EXPERIMENT = """\
title: two controls at a local bottleneck
links:
  - {ends: [client, server], rate: 100mbit, delay: 500us}
qdiscs:
  client -> server: htb rate 10mbit | pfifo_fast
traffic:
  - {tcp: client -> server, name: upload, flows: 2, jitter: 10ms}
  - {tcp: server -> client, name: download}
  - {ping: client -> server, interval: 100ms}
duration: 3s
measure: {warmup: 1s}
vary:
  cc: [cubic, reno]
  tsq: [1ms, off]
repeat: 2
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment of eight runs, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path

"""Experiments small enough to validate quickly."""

from pathlib import Path

import pytest

from tailback import backends
from twin_backend import STAND_INS

EXPERIMENT = """\
title: two small queues
links:
  - {ends: [client, server], rate: 100mbit, delay: 5ms}
qdiscs:
  client -> server: htb rate 10mbit | pfifo limit 60
traffic:
  - {tcp: client -> server, name: upload, flows: 2, jitter: 10ms}
  - {ping: client -> server, interval: 100ms}
duration: 8s
cc: reno
measure: {warmup: 1s}
vary:
  tsq: [1ms, off]
repeat: 2
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment of two configurations, in the working directory, with stand-ins for kernels."""
    monkeypatch.setattr(backends, "_BACKENDS", STAND_INS)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path

"""Socket options that meet: what one does is not undone by the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tailback

FILE = """
links: [{{ends: [client, router]}}, {{ends: [router, server], delay: [0us, 20ms]}}]
qdiscs: {{router -> server: htb rate 20mbit | pfifo limit 100}}
traffic: [{{tcp: client -> server, name: bulk{options}}}]
duration: 5s
measure: {{warmup: 2s}}
cc: cubic
"""


def median_rtt_ms(options: str, folder: Path) -> float:
    (folder / "x.yaml").write_text(FILE.format(options=options))
    tailback.run(str(folder / "x.yaml"), out=str(folder / "out"))
    (file,) = (folder / "out").rglob("summary.json")
    summary: Any = json.loads(file.read_text())
    return float(summary["tcp_rtt_ms"]["p50"])


def test_a_writer_that_unsent_bytes_stop_fills_its_send_buffer_as_one_without_that_limit(tmp_path: Path) -> None:
    (tmp_path / "both").mkdir()
    (tmp_path / "one").mkdir()
    both = median_rtt_ms(", sndbuf: 100kb, notsent_lowat: 16kb", tmp_path / "both")
    alone = median_rtt_ms(", sndbuf: 100kb", tmp_path / "one")
    assert abs(both / alone - 1) < 0.1


def test_a_reader_that_waits_for_a_megabyte_does_not_limit_the_sender(tmp_path: Path) -> None:
    assert median_rtt_ms(", rcvlowat: 1mb", tmp_path) > 60

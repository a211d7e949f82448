"""`import tailback`: the same nouns as the command line."""

from pathlib import Path

import pandas as pd
import pytest

import tailback

EXPERIMENT = """\
links:
  - {ends: [client, server], rate: 100mbit, delay: 500us}
traffic:
  - {tcp: client -> server, name: upload}
  - {ping: client -> server}
duration: 1s
vary: {cc: [cubic, reno]}
"""


def test_an_experiment_is_loaded_run_and_opened(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    experiment = tailback.load(file, ["duration=2s"])
    results = tailback.run(experiment, out=tmp_path / "out")
    assert isinstance(results.summary, pd.DataFrame)
    assert results.summary["cc"].tolist() == ["cubic", "reno"]
    assert 80 < results.summary["goodput_mbps.total"].min() < 96
    again = tailback.open(tmp_path / "out").select(cc="reno")
    assert set(again.tcp_info["cc"]) == {"reno"}
    assert again.runs[0].scenario["duration_ns"] == 2_000_000_000


def test_a_wrong_file_raises_the_message_the_command_line_prints(tmp_path: Path) -> None:
    with pytest.raises(tailback.ScenarioError, match=r"nowhere\.yaml"):
        tailback.load(tmp_path / "nowhere.yaml")


def test_the_package_knows_its_version_and_nothing_else_by_surprise() -> None:
    assert tailback.__version__.count(".") == 2
    with pytest.raises(AttributeError):
        _ = tailback.drive

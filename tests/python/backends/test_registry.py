"""A backend is a class and one row: all code that runs experiments finds it by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback
from command import in_process
from tailback import backends
from tailback.backends.sim import Sim

EXPERIMENT = """
title: two hosts
links: [{ends: [a, b], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: a -> b}]
duration: 2s
measure: {warmup: 1s}
repeat: 1
"""


class Toy(Sim):
    """The simulator under another name."""

    name = "toy"


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(backends, "_BACKENDS", {**backends._BACKENDS, "toy": Toy})
    file = tmp_path / "two.yaml"
    file.write_text(EXPERIMENT)
    return file


def test_a_backend_runs_and_checks_by_the_name_in_its_row(experiment: Path, tmp_path: Path) -> None:
    assert "ok, 1 run" in in_process("check", experiment, "--backend", "toy").stdout
    in_process("run", experiment, "--backend", "toy", "--out", tmp_path / "results")
    (run,) = tailback.open(tmp_path / "results").runs
    assert run.backend == "toy"


def test_a_comparison_accepts_it_too(experiment: Path, tmp_path: Path) -> None:
    words = ("--backend", "sim", "--against", "toy", "--out", tmp_path / "compared")
    assert "1" in in_process("validate", experiment, *words).stdout


def test_a_wrong_name_is_reported(experiment: Path) -> None:
    assert "`toy`" in in_process("check", experiment, "--backend", "toi", status=2).stderr

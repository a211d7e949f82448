"""`run --twin`: one run of each configuration on a kernel, and how far the numbers are."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.conftest import EXPERIMENT
from command import in_process
from tailback import backends
from tailback.analysis.tolerances import FIDELITY
from tailback.backends.sim import Sim
from tailback.kernel import KernelMissing
from tailback.validation.twins import agreement
from twin_backend import STAND_INS, Slower, Twin

CONTROL = ["--set", "cc=reno", "--set", "repeat=2"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    return tmp_path / "small.yaml"


def kernel_is(monkeypatch: pytest.MonkeyPatch, stand_in: object) -> None:
    monkeypatch.setattr(backends, "_BACKENDS", {**STAND_INS, "uml": stand_in})


def test_a_faithful_twin_is_within_tolerance_and_written_down(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_is(monkeypatch, Twin)
    said = in_process("run", file, *CONTROL, "--twin", "--out", "out").stdout
    assert "beside one run of" in said
    assert "numbers within tolerance" in said
    assert "!" not in said
    document = json.loads(Path("out/twin.json").read_text())
    assert {each["agreement"] for each in document["distances"]} <= {"equal", "chance"}
    assert {each["title"] for each in document["distances"]} >= {"goodput"}


def test_a_twin_with_another_delay_is_off_and_marked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_is(monkeypatch, Slower)
    settings = ["--set", "cc=bbr", "--set", "tsq=1ms", "--set", "repeat=4"]
    monkeypatch.setattr(Slower, "check", Sim.check)
    said = in_process("run", file, *settings, "--twin", "--out", "out").stdout
    assert "!" in said
    assert "`tailback validate` repeats until it is clear" in said


def test_configurations_that_the_kernel_refuses_are_left_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_is(monkeypatch, Twin)
    done = in_process("run", file, "--set", "cc=[reno, bbr]", "--set", "tsq=1ms", "--twin", "--out", "out")
    assert "left out, uml cannot run it" in done.stderr
    assert "the twin has no bbr" in done.stderr
    again = in_process("run", file, "--set", "cc=[reno, bbr]", "--set", "tsq=1ms", "--twin", "--out", "out", "--json")
    warnings = [each for each in json.loads(again.stdout)["warnings"] if each["code"] == "twin-left-out"]
    assert [each["axes"]["cc"] for each in warnings] == ["bbr"]
    assert "the twin has no bbr" in warnings[0]["text"]


def test_without_a_kernel_nothing_is_run(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise KernelMissing("no kernel has been built\n  hint: build one, about four minutes: tailback kernel build")

    kernel_is(monkeypatch, missing)
    done = in_process("run", file, *CONTROL, "--twin", "--out", "out", status=2)
    assert "tailback kernel build" in done.stderr
    assert not Path("out").exists()


def test_a_number_beyond_the_tolerance_may_be_chance() -> None:
    spread, tolerance = np.array([10.0, 14.0, 18.0]), FIDELITY["rtt"]
    assert agreement(spread, 14.2, tolerance) == "equal"
    assert agreement(spread, 25.0, tolerance) == "chance"
    assert agreement(spread, 60.0, tolerance) == "off"
    assert agreement(np.array([14.0]), 25.0, tolerance) == "off"

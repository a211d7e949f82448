"""Execution of plans: in parallel, with failures, interrupted, resumed."""

import ast
import json
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fake_backend import FakeBackend, FakeProgress, Nobody, experiment, grid, planned, scenario
from tailback.backends import Clock, RunResult, Unsuitable, backend_for
from tailback.fitting import check_all, cores, side_by_side
from tailback.resolved import Scenario
from tailback.results import (
    ExperimentPlan,
    ResultsUnwritable,
    RunPlan,
    claim,
    durable,
    open_results,
    provenance,
    reusable_runs,
    soundness,
)
from tailback.sweep import Outcome, Sweep, Watch, run_all
from waiting import happened


def run_plan(folder: Path, plan: ExperimentPlan, jobs: int = 2, watch: Watch | None = None) -> list[Outcome]:
    with claim(folder, plan) as store:
        return run_all(Sweep(store, FakeBackend(), jobs), watch or Nobody())


def parquet(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.parquet"))}


def test_tables_do_not_depend_on_the_number_of_jobs(tmp_path: Path) -> None:
    for jobs in (1, 4):
        run_plan(tmp_path / str(jobs), grid(), jobs)
    assert parquet(tmp_path / "1") == parquet(tmp_path / "4")
    assert len(parquet(tmp_path / "1")) == 5 * len(grid().runs)


def test_outcomes_come_in_the_order_of_the_plan(tmp_path: Path) -> None:
    outcomes = run_plan(tmp_path / "x", grid(), jobs=4)
    assert [outcome.run.name for outcome in outcomes] == [run.name for run in grid().runs]
    assert all(outcome.summary and outcome.summary["goodput_mbps"]["total"] > 90 for outcome in outcomes)


def test_a_run_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    runs = [planned({"n": str(number)}, scenario("fails" if number == 2 else f"run {number}")) for number in range(4)]
    outcomes = run_plan(tmp_path / "x", experiment(runs))
    assert [outcome.status for outcome in outcomes] == ["ok", "ok", "failed", "ok"]
    assert outcomes[2].error == "the ring of client -> router is on fire"
    assert outcomes[2].folder is None
    assert [file.name for file in (tmp_path / "x" / "failures").iterdir()] == [f"{runs[2].name}.json"]


def test_a_run_that_is_not_valid_gives_no_result_and_is_done_again(tmp_path: Path) -> None:
    plan = experiment([planned({}, scenario("overloaded"))])
    for _ in range(2):
        [outcome] = run_plan(tmp_path / "x", plan)
        assert (outcome.status, outcome.folder, outcome.summary, outcome.reused) == ("invalid", None, None, False)
    note = json.loads((tmp_path / "x" / "failures" / f"{plan.runs[0].name}.json").read_text())
    assert (note["status"], note["error"]) == ("invalid", "the emulation was CPU-bound")
    assert list((tmp_path / "x" / "runs").iterdir()) == []


def test_a_defect_of_tailback_fails_its_run_and_its_traceback_is_stored(tmp_path: Path) -> None:
    class Defective(FakeBackend):
        def run(self, scenario: Scenario, progress: Any) -> RunResult:
            if scenario.title == "run 1":
                raise ZeroDivisionError("of a rate")
            return super().run(scenario, progress)

    runs = [planned({"n": str(number)}, scenario(f"run {number}")) for number in range(3)]
    with claim(tmp_path / "x", experiment(runs)) as store:
        outcomes = run_all(Sweep(store, Defective(), 2), Nobody())
    assert [outcome.status for outcome in outcomes] == ["ok", "failed", "ok"]
    assert "ZeroDivisionError: of a rate\n  hint: this is a defect of Tailback" in (outcomes[1].error or "")
    note = json.loads((tmp_path / "x" / "failures" / f"{runs[1].name}.json").read_text())
    assert note["traceback"][-1] == "ZeroDivisionError: of a rate"


def test_every_observer_is_notified_of_every_run_once(tmp_path: Path) -> None:
    heard: list[str] = []

    class Hears(Nobody):
        def begun(self, runs: Sequence[RunPlan]) -> None:
            heard.append(f"{len(runs)} runs")

        def ended(self, outcome: Outcome) -> None:
            heard.append(f"{outcome.run.name} {outcome.status} {outcome.reused}")

    run_plan(tmp_path / "x", grid(repetitions=1))
    outcomes = run_plan(tmp_path / "x", grid(), watch=Hears())
    assert heard[0] == "8 runs"
    assert sorted(heard[1:]) == sorted(f"{each.run.name} ok {each.reused}" for each in outcomes)


def test_runs_that_end_between_two_looks_are_reported_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    heard: list[str] = []

    class Hears(Nobody):
        def begun(self, runs: Sequence[RunPlan]) -> None:
            pass

        def ended(self, outcome: Outcome) -> None:
            heard.append(outcome.run.name)

    plan = grid(repetitions=10)
    run_plan(tmp_path / "x", plan, jobs=1, watch=Hears())
    assert heard == [run.name for run in plan.runs]


def test_what_a_backend_says_of_a_run_is_passed_on_while_it_goes_on(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []
    passed_on = threading.Event()

    class Tells(FakeProgress):
        def take_notices(self) -> list[str]:
            return [] if heard else ["virtual time has not moved"]

    class Waits(FakeBackend):
        def new_progress(self) -> Any:
            return Tells()

        def run(self, scenario: Scenario, progress: Any) -> RunResult:
            happened(passed_on)
            return super().run(scenario, progress)

    class Hears(Nobody):
        def begun(self, runs: Sequence[RunPlan]) -> None:
            pass

        def ended(self, outcome: Outcome) -> None:
            pass

        def said(self, run: str, notice: str) -> None:
            heard.append((run, notice))
            passed_on.set()

    plan = experiment([planned({}, scenario("slow"))])
    with claim(tmp_path / "x", plan) as store:
        [outcome] = run_all(Sweep(store, Waits(), 1), Hears())
    assert outcome.status == "ok"
    assert heard == [(plan.runs[0].name, "virtual time has not moved")]


def test_runs_in_real_time_go_one_at_a_time() -> None:
    class InRealTime(FakeBackend):
        clock = Clock.REAL

    assert side_by_side(InRealTime()) == 1
    assert side_by_side(FakeBackend()) == cores()


def test_complete_runs_are_reused_and_only_missing_ones_run(tmp_path: Path) -> None:
    run_plan(tmp_path / "x", grid(repetitions=1))
    backend = FakeBackend()
    plan = grid(repetitions=2)
    with claim(tmp_path / "x", plan) as store:
        outcomes = run_all(Sweep(store, backend, 2), Nobody())
    assert sum(outcome.reused for outcome in outcomes) == 4
    assert len(backend.given) == 4
    again = run_plan(tmp_path / "x", plan)
    assert all(outcome.reused for outcome in again)
    assert [outcome.summary for outcome in again] == [outcome.summary for outcome in outcomes]


def of_another_analysis(folder: Path) -> None:
    """Makes a complete run one that an older Tailback has summarised, without a digest or the metrics of today."""
    manifest, summary = (json.loads((folder / name).read_text()) for name in ("manifest.json", "summary.json"))
    del manifest["analysis"], summary["jain"]
    content = json.dumps(summary).encode()
    manifest["files"] |= soundness.noted({"summary.json": content})
    (folder / "summary.json").write_bytes(content)
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_a_reused_run_of_another_analysis_is_summarised_again_from_its_tables(tmp_path: Path, place: str) -> None:
    plan = grid(repetitions=1)
    first = run_plan(tmp_path / "here", plan)
    assert first[0].folder is not None
    of_another_analysis(first[0].folder)
    backend = FakeBackend()
    with claim(tmp_path / place, plan) as store:
        again = run_all(Sweep(store, backend, 2, reusable=reusable_runs([tmp_path / "here"])), Nobody())
    assert backend.given == []
    assert [outcome.analysed_again for outcome in again] == [True, False, False, False]
    assert [outcome.summary for outcome in again] == [outcome.summary for outcome in first]
    assert open_results(tmp_path / place).runs[0].summary == first[0].summary
    assert not any(outcome.analysed_again for outcome in run_plan(tmp_path / place, plan))


@pytest.mark.parametrize("part", provenance.ANALYSIS)
def test_every_part_that_makes_summaries_has_part_in_their_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    for each in provenance.ANALYSIS:
        source, copy = provenance.PACKAGE / each, tmp_path / each
        copy.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copy)
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    before = provenance.analysis_digest.__wrapped__()
    changed = tmp_path / part
    with (changed / "__init__.py" if changed.is_dir() else changed).open("a") as file:
        file.write("pass\n")
    assert provenance.analysis_digest.__wrapped__() != before


def imported(module: str) -> set[str]:
    """The modules of `analysis` that a module of it imports, at its top or in a function."""
    tree = ast.parse((provenance.PACKAGE / "analysis" / f"{module}.py").read_text("utf-8"))
    found: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom) and each.module == "tailback.analysis":
            found |= {name.name for name in each.names}
        elif isinstance(each, ast.ImportFrom) and (each.module or "").startswith("tailback.analysis."):
            found.add(str(each.module).rpartition(".")[2])
    return {name for name in found if (provenance.PACKAGE / "analysis" / f"{name}.py").is_file()}


def test_what_reads_summaries_has_no_part_in_them_and_none_in_their_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, new = set[str](), {"summary"}
    while new:
        known |= new
        new = {each for name in new for each in imported(name)} - known
    assert "values" in known
    assert not known & set(provenance.AFTERWARDS)
    shutil.copytree(provenance.PACKAGE / "analysis", tmp_path / "analysis")
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    monkeypatch.setattr(provenance, "ANALYSIS", ("analysis",))
    before = provenance.analysis_digest.__wrapped__()
    for name in provenance.AFTERWARDS:
        (tmp_path / "analysis" / f"{name}.py").write_text("pass\n")
    assert provenance.analysis_digest.__wrapped__() == before


def test_a_half_deleted_run_is_done_again(tmp_path: Path) -> None:
    outcomes = run_plan(tmp_path / "x", grid(repetitions=1))
    victim = outcomes[0].folder
    assert victim is not None
    for file in victim.iterdir():
        file.unlink()
    victim.rmdir()
    assert [outcome.reused for outcome in run_plan(tmp_path / "x", grid(repetitions=1))] == [False, True, True, True]


def test_the_first_repetition_of_each_configuration_is_checked_before_anything_runs() -> None:
    good, bad = planned({"n": "1"}, scenario("good")), planned({"n": "2"}, scenario("unsuitable"))
    check_all([good], FakeBackend())
    with pytest.raises(Unsuitable, match="too many rings"):
        check_all([good, bad], FakeBackend())


def test_progress_reaches_the_whole(tmp_path: Path) -> None:
    seen: list[tuple[int, int, float]] = []

    class Notes:
        def update(self, done: int, total: int, fraction: float) -> None:
            seen.append((done, total, fraction))

    run_plan(tmp_path / "x", grid(), watch=Notes())
    assert seen[-1] == (8, 8, 1.0)


def test_an_interrupt_keeps_complete_runs_and_cancels_those_under_way(tmp_path: Path) -> None:
    runs = [planned({"n": "quick"}, scenario("quick")), planned({"n": "slow"}, scenario("waits"))]

    class Interrupts:
        def update(self, done: int, _total: int, _fraction: float) -> None:
            if done == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(tmp_path / "x", experiment(runs), watch=Interrupts())
    assert [entry.name for entry in (tmp_path / "x" / "runs").iterdir()] == [runs[0].name]
    # A client of a cluster leaves a thread behind.
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("run")] == []


def test_a_full_disk_ends_the_sweep_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(target: Path, *_given: object) -> None:
        raise ResultsUnwritable.because(target, OSError(28, "No space left on device"))

    monkeypatch.setattr(durable, "write_folder", full)
    with pytest.raises(ResultsUnwritable, match="No space left"):
        run_plan(tmp_path / "x", grid())
    assert list((tmp_path / "x" / "runs").iterdir()) == []


class OfKernels(FakeBackend):
    """A backend with the name and build of its kernel."""

    def __init__(self, kernel: str = "stock") -> None:
        super().__init__()
        self.fingerprint = f"build of {kernel}"

    def of_kernel(self, name: str) -> FakeBackend:
        return OfKernels(name)


def test_a_scenario_that_names_a_kernel_runs_on_it() -> None:
    plain, named = scenario(), replace(scenario(), kernel="mine")
    assert backend_for(OfKernels(), plain).fingerprint == "build of stock"
    assert backend_for(OfKernels(), named).fingerprint == "build of mine"


def test_a_backend_without_kernels_refuses_a_scenario_that_names_one() -> None:
    named = replace(scenario(), kernel="mine")
    with pytest.raises(Unsuitable, match=r"`kernel` is `mine`, and `fake` has no kernel to choose\n  hint: .*uml"):
        check_all([planned({}, named)], FakeBackend())

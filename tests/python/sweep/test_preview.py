"""The preview of a sweep."""

from pathlib import Path

from fake_backend import FakeBackend, Nobody, experiment, grid, planned, scenario
from tailback.backends import Clock
from tailback.backends.sim import Sim
from tailback.results import ExperimentPlan, Store, claim, reusable_runs
from tailback.scenario import loads
from tailback.sweep import Preview, Sweep, plan_of, run_all
from tailback.sweep.preview import Look, document, preview

SHORT = """\
links:
  - {ends: [client, server], rate: 10mbit, delay: 1ms}
traffic:
  - {tcp: client -> server, name: upload}
duration: 2s
vary: {cc: [cubic, reno]}
"""


def ahead(folder: Path, plan: ExperimentPlan, backend: FakeBackend | None = None, jobs: int = 2) -> Preview:
    return preview(Store(folder, plan, plan.identities()), backend or FakeBackend(), reusable_runs([]), Look(jobs))


def test_nothing_is_written(tmp_path: Path) -> None:
    assert ahead(tmp_path / "x", grid()).count("missing") == 8
    assert list(tmp_path.iterdir()) == []


def test_complete_runs_are_recognised_and_their_time_predicts_that_of_the_others(tmp_path: Path) -> None:
    with claim(tmp_path / "x", grid(repetitions=1)) as store:
        run_all(Sweep(store, FakeBackend(), 2), Nobody())
    found = ahead(tmp_path / "x", grid(repetitions=3))
    assert (found.count("complete"), found.count("missing"), found.basis) == (4, 8, "measured")
    assert [planned.state for planned in found.runs] == ["complete", "missing", "missing"] * 4
    missing = [planned.seconds for planned in found.runs if planned.state == "missing"]
    assert all(seconds is not None and seconds > 0 for seconds in missing)
    assert found.seconds == max(sum(filter(None, missing)) / 2, *filter(None, missing))


def test_runs_in_other_folders_are_counted_apart(tmp_path: Path) -> None:
    with claim(tmp_path / "old", grid(repetitions=1)) as store:
        run_all(Sweep(store, FakeBackend(), 2), Nobody())
    plan = grid(repetitions=1)
    found = preview(
        Store(tmp_path / "new", plan, plan.identities()), FakeBackend(), reusable_runs([tmp_path / "old"]), Look(2)
    )
    assert (found.count("elsewhere"), found.seconds) == (4, 0.0)


def test_without_a_measured_run_a_backend_that_cannot_be_tried_has_no_time(tmp_path: Path) -> None:
    found = ahead(tmp_path / "x", grid())
    assert (found.basis, found.seconds) == (None, None)
    assert "wall_s" not in document(found)["estimate"]


def test_in_real_time_a_run_takes_its_duration(tmp_path: Path) -> None:
    class InRealTime(FakeBackend):
        clock = Clock.REAL

    plan = experiment([planned({"n": str(number)}, scenario(str(number))) for number in range(3)])
    found = ahead(tmp_path / "x", plan, InRealTime(), jobs=1)
    assert (found.basis, found.seconds) == ("duration", 60.0)


def test_the_simulator_is_tried(tmp_path: Path) -> None:
    plan = plan_of(loads(SHORT), Sim())
    found = preview(Store(tmp_path / "x", plan, plan.identities()), Sim(), reusable_runs([]), Look(1))
    assert found.basis == "trial"
    assert found.seconds is not None
    assert found.seconds > 0

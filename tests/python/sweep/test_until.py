"""Repetitions that go on until intervals are narrow."""

from pathlib import Path

import pytest

from fake_backend import FakeBackend, Nobody, grid
from tailback.analysis import Stopping
from tailback.analysis.metric import at
from tailback.results import claim, open_results
from tailback.sweep import Outcome, Sweep, run_all

GOODPUT = {"goodput": at("goodput_mbps", "total")}


def until(folder: Path, share: float, jobs: int = 2, backend: FakeBackend | None = None) -> list[Outcome]:
    """Of the grid of two controls × two settings, between 3 and 12 repetitions each."""
    with claim(folder, grid(repetitions=12)) as store:
        return run_all(Sweep(store, backend or FakeBackend(), jobs, Stopping(share, GOODPUT, 3, 12)), Nobody())


def counts(outcomes: list[Outcome]) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for outcome in outcomes:
        place = tuple(outcome.run.axes.values())
        found[place] = found.get(place, 0) + 1
    return found


def test_repetitions_end_when_the_intervals_are_narrow(tmp_path: Path) -> None:
    assert set(counts(until(tmp_path / "x", 0.5)).values()) == {3}


def test_all_repetitions_are_run_if_the_intervals_stay_wide(tmp_path: Path) -> None:
    assert set(counts(until(tmp_path / "x", 1e-9)).values()) == {12}


def test_the_number_does_not_depend_on_the_jobs(tmp_path: Path) -> None:
    one, four = (until(tmp_path / str(jobs), 0.004, jobs) for jobs in (1, 4))
    assert counts(one) == counts(four)
    assert 3 < max(counts(one).values()) <= 12


def test_the_repetitions_are_the_first_ones_and_the_folder_opens(tmp_path: Path) -> None:
    outcomes = until(tmp_path / "x", 0.5)
    assert [outcome.run.repetition for outcome in outcomes] == [1, 2, 3] * 4
    assert len(open_results(tmp_path / "x").runs) == 12


def test_a_resumed_sweep_runs_only_missing_repetitions(tmp_path: Path) -> None:
    until(tmp_path / "x", 0.5)
    backend = FakeBackend()
    outcomes = until(tmp_path / "x", 1e-9, backend=backend)
    assert len(backend.given) == 4 * 9
    assert sum(outcome.reused for outcome in outcomes) == 12


@pytest.mark.parametrize("jobs", [1, 3])
def test_progress_never_runs_backwards_in_runs_done(tmp_path: Path, jobs: int) -> None:
    seen: list[int] = []

    class Watch:
        def update(self, done: int, total: int, fraction: float) -> None:
            assert 0 <= done <= total
            assert 0 <= fraction <= 1
            seen.append(done)

    with claim(tmp_path / "x", grid(repetitions=12)) as store:
        run_all(Sweep(store, FakeBackend(), jobs, Stopping(0.004, GOODPUT, 3, 12)), Watch())
    assert seen == sorted(seen)

"""Complete runs of other folders are reused if they would give the same data."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from fake_backend import FakeBackend, Nobody, experiment, planned, scenario
from sweep.same import lasting
from tailback.results import RunPlan, claim, neighbours, open_results, reusable_runs
from tailback.sweep import Outcome, Sweep, run_all


def run_plan(folder: Path, runs: Sequence[RunPlan], sources: Sequence[Path] = ()) -> tuple[list[Outcome], FakeBackend]:
    backend = FakeBackend()
    with claim(folder, experiment(list(runs))) as store:
        return run_all(Sweep(store, backend, 2, reusable=reusable_runs(sources)), Nobody()), backend


def test_a_run_in_another_results_folder_is_reused_with_the_same_data(tmp_path: Path) -> None:
    resolved = scenario("alike")
    run_plan(tmp_path / "old", [planned({"cc": "cubic"}, resolved)])
    grown = [planned({"cc": cc, "flows": "2"}, resolved if cc == "cubic" else scenario(cc)) for cc in ("cubic", "bbr")]
    outcomes, backend = run_plan(tmp_path / "new", grown, [tmp_path / "old"])
    assert [outcome.reused for outcome in outcomes] == [True, False]
    assert len(backend.given) == 1
    run_plan(tmp_path / "again", grown)
    assert lasting(tmp_path / "new") == lasting(tmp_path / "again")
    first = open_results(tmp_path / "new").runs[0]
    assert first.axes == {"cc": "cubic", "flows": "2"}
    assert first.manifest["taken_from"] == str(tmp_path / "old" / "runs" / planned({"cc": "cubic"}, resolved).name)


@pytest.mark.parametrize(
    "change",
    [{"fingerprint": "another engine"}, {"window_ns": (1, 2)}, {"directions": {}}],
    ids=["engine", "window", "directions"],
)
def test_a_run_that_could_differ_is_not_reused(tmp_path: Path, change: dict[str, Any]) -> None:
    run = planned({}, scenario("alike"))
    run_plan(tmp_path / "old", [run])
    other = structs.replace(run, **change)
    assert reusable_runs([tmp_path / "old"]).find(run, FakeBackend.name) is not None
    assert reusable_runs([tmp_path / "old"]).find(other, FakeBackend.name) is None
    assert reusable_runs([tmp_path / "old"]).find(run, "uml") is None


def test_a_damaged_run_is_not_taken(tmp_path: Path) -> None:
    run = planned({}, scenario("alike"))
    run_plan(tmp_path / "old", [run])
    (tmp_path / "old" / "runs" / run.name / "summary.json").unlink()
    assert reusable_runs([tmp_path / "old"]).find(run, FakeBackend.name) is None


def test_all_results_folders_beside_a_folder_are_searched_and_others_skipped(tmp_path: Path) -> None:
    run = planned({}, scenario("alike"))
    run_plan(tmp_path / "old", [run])
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").write_text("")
    assert neighbours(tmp_path / "new") == [tmp_path / "notes", tmp_path / "old"]
    assert reusable_runs(neighbours(tmp_path / "new")).find(run, FakeBackend.name) is not None
    assert neighbours(tmp_path / "nowhere" / "new") == []


def test_the_record_of_a_failure_is_removed_after_success(tmp_path: Path) -> None:
    run = planned({}, scenario("alike"))
    run_plan(tmp_path / "old", [run])
    note = tmp_path / "old" / "failures" / f"{run.name}.json"
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps({"status": "failed"}))
    run_plan(tmp_path / "old", [run])
    assert not note.exists()

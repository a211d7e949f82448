"""Results folders that were damaged after they were written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import tailback
from fake_backend import FakeBackend, Nobody, experiment, grid, planned, scenario
from tailback.backends import Progress, RunResult
from tailback.resolved import Scenario
from tailback.results import NotResults, ResultsUnwritable, RunDamaged, claim, open_results, reusable_runs
from tailback.results.identity import digest
from tailback.results.soundness import read
from tailback.sweep import Outcome, Sweep, run_all

Damage = Callable[[Path], object]


def carried_out(folder: Path) -> tuple[list[Outcome], dict[str, str]]:
    with claim(folder, grid()) as store:
        outcomes = run_all(Sweep(store, FakeBackend(), 2), Nobody())
    return outcomes, store.damaged


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def changed(path: Path) -> None:
    """Changes one byte in the middle, and keeps the size."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def edited(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


SEEN: dict[str, tuple[Damage, str]] = {
    "table truncated": (lambda run: truncated(run / "flows.parquet"), "`flows.parquet` "),
    "table missing": (lambda run: (run / "ping.parquet").unlink(), "`ping.parquet` is missing"),
    "table empty": (lambda run: (run / "ping.parquet").write_bytes(b""), "`ping.parquet` "),
    "manifest truncated": (lambda run: truncated(run / "manifest.json"), "`manifest.json` is not a JSON object"),
    "manifest empty": (lambda run: (run / "manifest.json").write_text(""), "`manifest.json` is empty"),
    "manifest missing": (lambda run: (run / "manifest.json").unlink(), "`manifest.json` is missing"),
    "manifest a list": (lambda run: (run / "manifest.json").write_text("[]"), "`manifest.json` is not a JSON object"),
    "manifest without a run": (lambda run: (run / "manifest.json").write_text("{}"), "lacks keys that every run has"),
    "manifest nested": (lambda run: (run / "manifest.json").write_text("[" * 10**5), "is not a JSON object"),
    "axes of another form": (lambda run: edited(run / "manifest.json", axes=[1]), "lacks keys that every run has"),
    "another scenario": (lambda run: edited(run / "manifest.json", scenario={}), "does not match its own identity"),
    "a file elsewhere": (
        lambda run: edited(run / "manifest.json", files={"../x": {"bytes": 1, "crc32": 1}}),
        "lacks keys that every run has",
    ),
    "summary truncated": (lambda run: truncated(run / "summary.json"), "`summary.json` is not a JSON object"),
    "summary missing": (lambda run: (run / "summary.json").unlink(), "`summary.json` is missing"),
    "another summary": (
        lambda run: (run / "summary.json").write_text("{}"),
        "`summary.json` has changed since it was written",
    ),
    "summary of bytes": (lambda run: (run / "summary.json").write_bytes(b"\xff\xfe"), "is not a JSON object"),
}


@pytest.mark.parametrize(("damage", "what"), SEEN.values(), ids=SEEN)
def test_a_damaged_run_is_reported_left_out_and_repeated(tmp_path: Path, damage: Damage, what: str) -> None:
    first, _ = carried_out(tmp_path / "x")
    run = first[2].folder
    assert run is not None
    damage(run)
    left = {file.name: file.read_bytes() for file in run.iterdir()}

    found = open_results(tmp_path / "x")
    assert len(found.runs) == len(first) - 1
    assert [each.folder for each in found.damaged] == [run]
    assert what in str(found.damaged[0])
    with pytest.warns(UserWarning, match=run.name):
        assert len(tailback.tabulate(tmp_path / "x")) > 0

    again, damaged = carried_out(tmp_path / "x")
    assert [outcome.reused for outcome in again] == [outcome.run.name != run.name for outcome in again]
    assert list(damaged) == [run.name]
    assert what in damaged[run.name]
    assert not open_results(tmp_path / "x").damaged
    kept = tmp_path / "x" / "set-aside" / run.name
    assert {file.name: file.read_bytes() for file in kept.iterdir()} == left


def test_a_byte_that_changed_is_noticed_when_its_table_is_read_and_by_run(tmp_path: Path) -> None:
    first, _ = carried_out(tmp_path / "x")
    run = first[0].folder
    assert run is not None
    changed(run / "tcp_info.parquet")
    found = open_results(tmp_path / "x")
    assert len(found.runs) == len(first)
    with pytest.raises(RunDamaged, match=r"`tcp_info\.parquet` has changed since it was written"):
        _ = found.tcp_info
    assert len(found.flows) > 0
    with pytest.raises(RunDamaged):
        read(run, "contents")
    again, damaged = carried_out(tmp_path / "x")
    assert sum(not outcome.reused for outcome in again) == 1
    assert list(damaged) == [run.name]


@pytest.mark.parametrize(
    "head", ["", "{", "[]", "{}", '{"runs": 5}', '{"title": 1, "axes": {}, "runs": []}', '{"runs": [{"name": "../x"}]}']
)
def test_a_damaged_head_is_named_and_written_again(tmp_path: Path, head: str) -> None:
    first, _ = carried_out(tmp_path / "x")
    sound = json.loads((tmp_path / "x" / "experiment.json").read_text())
    (tmp_path / "x" / "experiment.json").write_text(head)
    found = open_results(tmp_path / "x")
    assert len(found.runs) == len(first)
    assert "`experiment.json` does not say what was run" in str(found.damaged[0])
    again, _ = carried_out(tmp_path / "x")
    assert all(outcome.reused for outcome in again)
    assert json.loads((tmp_path / "x" / "experiment.json").read_text()) == {
        **sound,
        "created": json.loads((tmp_path / "x" / "experiment.json").read_text())["created"],
    }
    assert (tmp_path / "x" / "set-aside" / "experiment.json").read_text() == head


def test_if_every_run_is_damaged_all_are_named(tmp_path: Path) -> None:
    first, _ = carried_out(tmp_path / "x")
    for outcome in first:
        assert outcome.folder is not None
        truncated(outcome.folder / "manifest.json")
    with pytest.raises(NotResults) as refused:
        open_results(tmp_path / "x")
    assert all(outcome.run.name in str(refused.value) for outcome in first)


def test_a_damaged_run_of_another_folder_is_not_taken_over(tmp_path: Path) -> None:
    first, _ = carried_out(tmp_path / "old")
    assert first[0].folder is not None
    changed(first[0].folder / "flows.parquet")
    with claim(tmp_path / "new", grid()) as store:
        outcomes = run_all(Sweep(store, FakeBackend(), 2, reusable=reusable_runs([tmp_path / "old"])), Nobody())
    assert [outcome.reused for outcome in outcomes] == [False] + [True] * (len(first) - 1)


def test_a_folder_that_is_removed_during_a_run_ends_the_sweep_with_the_reason(tmp_path: Path) -> None:
    class Removing(FakeBackend):
        def run(self, scenario: Scenario, progress: Progress) -> RunResult:
            shutil.rmtree(tmp_path / "x", ignore_errors=True)
            return super().run(scenario, progress)

    with (
        pytest.raises(ResultsUnwritable, match=r"(?s)No such file.*hint: it was removed or renamed while"),
        claim(tmp_path / "x", grid()) as store,
    ):
        run_all(Sweep(store, Removing(), 1), Nobody())
    assert not (tmp_path / "x").exists()
    outcomes, _ = carried_out(tmp_path / "x")
    assert all(outcome.status == "ok" for outcome in outcomes)


def test_a_run_that_fails_in_a_folder_that_was_removed_does_not_make_it_anew(tmp_path: Path) -> None:
    plan = experiment([planned({"n": "1"}, scenario("fails"))])
    with claim(tmp_path / "x", plan) as store:
        shutil.rmtree(tmp_path / "x")
        with pytest.raises(ResultsUnwritable):
            store.write_failure(plan.runs[0], "failed", "why")
    assert not (tmp_path / "x").exists()


def test_a_scenario_with_keys_of_another_version_is_named_with_that_version(tmp_path: Path) -> None:
    first, _ = carried_out(tmp_path / "x")
    folder = first[0].folder
    assert folder is not None
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"tailback": "7.0", "scenario": {**manifest["scenario"], "gravity": 9}}
    parts = {key: manifest[key] for key in ("scenario", "measure", "axes", "backend", "fingerprint")}
    edited(folder / "manifest.json", **{**manifest, "identity": digest(parts)})
    run = next(run for run in open_results(tmp_path / "x").runs if run.path == folder)
    assert len(run.flows) > 0
    with pytest.raises(NotResults, match=r"`gravity`.*\n  hint: read it with Tailback 7\.0, which wrote it"):
        _ = run.scenario

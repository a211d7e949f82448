"""Small experiments give the recorded results, to the digit."""

import json
from pathlib import Path

import pytest

from golden_tables import EXPERIMENTS, FOLDER, RUNS, golden_of, runs_of, table_of


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_gives_its_golden_table(experiment: Path) -> None:
    table = table_of(experiment)
    assert table == golden_of(experiment).read_text(encoding="utf-8"), (
        f"`{experiment.name}` gives another table; if that is meant, run `make golden`, commit the difference with the "
        "change and name it under Results in CHANGELOG.md"
    )


def test_every_golden_table_has_its_experiment() -> None:
    assert len(EXPERIMENTS) >= 5
    assert sorted(FOLDER.glob("*.txt")) == [golden_of(experiment) for experiment in EXPERIMENTS]


@pytest.mark.parametrize("experiment", RUNS, ids=lambda path: path.stem)
def test_every_golden_run_is_resolved_as_recorded(experiment: Path) -> None:
    recorded = experiment.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    for number, (before, now) in enumerate(zip(recorded, runs_of(experiment).splitlines(), strict=True), 1):
        assert json.loads(now) == json.loads(before), f"{experiment.name}, run {number}: if meant, `make golden`"


def test_every_golden_run_has_its_experiment_and_its_tables() -> None:
    for suffix in (".jsonl", ".tables.zst"):
        assert sorted((FOLDER / "runs").glob(f"*{suffix}")) == [one.with_suffix(suffix) for one in RUNS]

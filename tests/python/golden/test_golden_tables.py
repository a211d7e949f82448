"""Small experiments give the recorded results, to the digit."""

from pathlib import Path

import pytest

from golden_tables import EXPERIMENTS, FOLDER, golden_of, table_of


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

"""What version 0.1.0 wrote is read by every later one (docs/stability.md): experiment files, results folders, tables.

`PYTHONPATH=tests/python python tests/python/e2e/test_kept.py` writes the bundles of `tests/kept/VERSION` again, which
only a version that is not released yet may do.
"""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import tailback
from command import in_process
from tailback.bundle.rerun import How, rerun
from tailback.results import Results, RunResult, open_results
from tailback.sweep import Silent

KEPT = sorted((Path(__file__).parents[2] / "kept").glob("*/*.yaml"))


@pytest.fixture(scope="module", params=KEPT, ids=lambda file: f"{file.parent.name}-{file.stem}")
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An experiment file, and the results folder that the version made of it."""
    place = tmp_path_factory.mktemp("kept")
    file: Path = request.param
    with zipfile.ZipFile(file.with_suffix(".zip")) as archive:
        archive.extractall(place)
    return file, place / file.stem


@pytest.fixture(scope="module")
def now(kept: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The results that this version makes of the file."""
    return tailback.run(kept[0], out=tmp_path_factory.mktemp("now") / "out")


def pairs(before: Results, now: Results) -> Iterator[tuple[RunResult, RunResult]]:
    assert [run.axes for run in before.runs] == [run.axes for run in now.runs]
    yield from zip(before.runs, now.runs, strict=True)


def lost(before: Mapping[str, Any], now: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """The keys of a document that are no longer there, or hold another kind of value."""
    for key, value in before.items():
        if key not in now:
            yield f"{place}{key}"
        elif isinstance(value, dict):
            yield from lost(value, now[key], f"{place}{key}.") if isinstance(now[key], dict) else [f"{place}{key}"]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if not isinstance(now[key], int | float):
                yield f"{place}{key}"
        elif type(value) is not type(now[key]):
            yield f"{place}{key}"


BY_RUN = {"warnings", "cost"}
"""Parts of a summary that say what befell a run."""


def test_its_results_are_read_and_drawn(kept: tuple[Path, Path], tmp_path: Path) -> None:
    folder = kept[1]
    found = open_results(folder)
    assert not found.damaged
    for run in found.runs:
        for table in run.manifest["tables"]:
            assert len(run.table(table)) == run.manifest["tables"][table]["rows"]
    in_process("plot", folder, "-o", tmp_path / "figure.png")
    in_process("report", folder, "-o", tmp_path / "report.html")
    in_process("compare", folder, folder)


def test_its_numbers_have_the_same_names_and_kinds(kept: tuple[Path, Path], now: Results) -> None:
    for before, after in pairs(open_results(kept[1]), now):
        summary = {key: value for key, value in before.summary.items() if key not in BY_RUN}
        # The reasons of drops are those that a run happens to have.
        gone = [key for key in lost(summary, after.summary) if not key.startswith("drops.")]
        assert gone == []


def test_its_tables_have_the_same_columns_and_units(kept: tuple[Path, Path], now: Results) -> None:
    for before, after in pairs(open_results(kept[1]), now):
        for table in before.manifest["tables"]:
            assert before.units(table).items() <= after.units(table).items(), table
            columns = [column for column in after.table(table).columns if column in before.table(table).columns]
            assert columns == list(before.table(table).columns), table


def test_its_scenarios_run_again(kept: tuple[Path, Path]) -> None:
    # Tables of another build may differ, which is told; but none may fail or lack a table.
    again = rerun(open_results(kept[1]), How(2), Silent())
    assert {each.state for each in again.verdicts} <= {"equal", "differs", "new"}


def main() -> None:
    """Writes the bundles anew."""
    import tempfile

    for file in KEPT:
        with tempfile.TemporaryDirectory() as place:
            in_process("run", file, "--out", Path(place) / file.stem)
            in_process("bundle", Path(place) / file.stem, "-o", file.with_suffix(".zip"))


if __name__ == "__main__":
    main()

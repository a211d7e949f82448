"""Writes `conformance/results/rfc7928.md` from the results of the suite.

tailback run experiments/rfc7928/*.yaml --out DIR
python -m conformance.rfc7928 DIR
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from conformance.page import RESULTS, rows, write_tables
from tailback.analysis.repetitions import configurations
from tailback.results import Results, RunResult, open_results

PAGE = RESULTS / "rfc7928.md"
TITLE = "RFC 7928 "
WORDS_OF_TC = ("qdisc", "first", "second")
"""Axes whose values are disciplines."""
COLUMNS = {"goodput": ".1f", "ping p50": ".0f", "ping p90": ".0f", "TCP RTT p90": ".0f", "drops": ".0f"}
FEW = 3
"""Maximum number of kinds of bulk flows with their own columns."""
SHORT = ("page", "video", "cbr", "call")
"""Traffic that does not compete for goodput."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables of the RFC 7928 suite.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    found = [open_results(each) for each in folder.iterdir() if each.is_dir()]
    lines = [line for results in sorted(found, key=_title) for line in _section(results)]
    write_tables({"suite": lines}, PAGE, "python -m conformance.rfc7928 DIR")


def _title(results: Results) -> str:
    title = results.runs[0].scenario.title.removeprefix(TITLE)
    section, _, words = title.partition(": ")
    return ".".join(f"{int(part):02}" for part in section.split(".")) + f": {words}"


def _section(results: Results) -> Iterator[str]:
    table = configurations([(run.axes, run.summary) for run in results.runs])
    axes = list(table.columns[: table.columns.get_loc("runs")])
    kinds = _kinds(results.runs)
    heading = [*axes, "goodput", *kinds, *(name for name in COLUMNS if name != "goodput")]
    body = [_row(row, axes, _shares(results.runs, row, axes, kinds)) for _, row in table.iterrows()]
    yield f"**{results.runs[0].scenario.title.removeprefix(TITLE)}** (`{results.path.name}`)"
    yield ""
    yield from rows(heading, body)
    yield ""


def _row(row: pd.Series, axes: Sequence[str], shares: Sequence[str]) -> list[str]:
    places = [f"`{row[axis]}`" if axis in WORDS_OF_TC else str(row[axis]) for axis in axes]
    figures = [f"{float(row[name]):{form}}" for name, form in COLUMNS.items()]
    return [*places, figures[0], *shares, *figures[1:]]


def _kinds(runs: Sequence[RunResult]) -> list[str]:
    names = {name.split(".")[0] for run in runs for name in run.summary["goodput_mbps"]["flows"]}
    kinds = sorted(name for name in names if not name.startswith(SHORT))
    return kinds if 1 < len(kinds) <= FEW else []


def _shares(runs: Sequence[RunResult], row: pd.Series, axes: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """Goodput of each kind of flow, mean over repetitions."""
    mine = [run for run in runs if all(str(row[axis]) == run.axes[axis] for axis in axes)]
    return [f"{sum(_of(run, kind) for run in mine) / len(mine):.1f}" for kind in kinds]


def _of(run: RunResult, kind: str) -> float:
    flows = run.summary["goodput_mbps"]["flows"]
    return sum(float(value) for name, value in flows.items() if name.split(".")[0] == kind)


if __name__ == "__main__":
    main()

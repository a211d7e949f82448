"""Writes what runs cost into docs/performance.md (EXPERIMENTS) and conformance/results/cost.md (the other tables).

python -m performance.table              # all tables, some ten minutes
python -m performance.table CASES        # only this one: EXPERIMENTS, FUNCTIONS, CASES, DISCIPLINES or CONTROLS
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.page import DOCS, RESULTS, write_tables
from performance.cases import CASES, Case, controls, disciplines, experiments
from performance.count import Runner, Spent, count, extension, spend

DOCUMENT, COST = DOCS / "performance.md", RESULTS / "cost.md"
RUNS = 3
"""Of this many runs the shortest counts: other work on the machine only makes them longer."""
SMALLEST = 20
"""Functions that take fewer instructions per segment are counted together."""


def tables() -> Mapping[str, Callable[[Runner], Iterator[str]]]:
    """What writes the lines of each table, by the name of its marks in the document."""
    return {
        "EXPERIMENTS": of_experiments,
        "FUNCTIONS": of_functions,
        "CASES": lambda runner: of_cases("case", CASES, runner),
        "DISCIPLINES": lambda runner: of_cases("queue discipline", disciplines(), runner),
        "CONTROLS": lambda runner: of_cases("congestion control", controls(), runner),
    }


def of_experiments(runner: Runner) -> Iterator[str]:
    """What a simulated second of the first run of each experiment costs."""
    yield "| experiment | segments per simulated second | ms per simulated second | simulated seconds per second |"
    yield "|---|---|---|---|"
    for name, scenario in experiments():
        spent = shortest(runner, scenario)
        seconds = scenario["duration_ns"] / 1e9
        cells = [
            f"[{name}](../experiments/{name})",
            f"{spent.segments / seconds:,.0f}",
            f"{1e3 * spent.cpu_s / seconds:.1f}",
            f"{seconds / spent.cpu_s:,.0f}",
        ]
        yield f"| {' | '.join(cells)} |"


def of_functions(runner: Runner) -> Iterator[str]:
    """Which functions take the instructions of a segment of the first case, what is inlined in each included."""
    counted = count(runner, CASES[0].resolved())
    yield "| function | instructions per segment |"
    yield "|---|---|"
    rest = counted.per_segment
    for name, instructions in sorted(counted.functions.items(), key=lambda each: -each[1]):
        if instructions >= SMALLEST:
            rest -= instructions
            yield f"| `{readable(name)}` | {instructions:,.0f} |"
    yield f"| all others | {rest:,.0f} |"


def readable(name: str) -> str:
    """The type and the name of a function, without modules, traits and type parameters."""
    owner = re.sub(r".*<impl (\S+)>", r"\1", name)
    owner = re.sub(r"<(\S+) as \S+>", r"\1", owner)
    return "::".join(re.sub(r"<\w+>", "", owner).split("::")[-2:])


def of_cases(head: str, cases: Iterable[Case], runner: Runner) -> Iterator[str]:
    """What a segment of each case costs."""
    yield f"| {head} | segments | events | instructions | ns | MiB |"
    yield "|---|---|---|---|---|---|"
    for case in cases:
        yield row(case, runner)


def row(case: Case, runner: Runner) -> str:
    """A row of the table. Events, instructions and nanoseconds are those per segment."""
    scenario = case.resolved()
    counted, spent = count(runner, scenario), shortest(runner, scenario)
    cells = [
        case.name.replace("|", r"\|"),
        f"{counted.segments:,}",
        f"{counted.events / counted.segments:.2f}",
        f"{counted.per_segment:,.0f}",
        f"{1e9 * spent.cpu_s / counted.segments:,.0f}",
        f"{spent.peak_mib:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def shortest(runner: Runner, scenario: Mapping[str, Any]) -> Spent:
    """The run of some that took the least time."""
    return min((spend(runner, scenario) for _ in range(RUNS)), key=lambda spent: spent.cpu_s)


def page(part: str) -> Path:
    """The page that has the table."""
    return DOCUMENT if part == "EXPERIMENTS" else COST


def main() -> None:
    """Measures and writes."""
    runner, wanted = extension(), sys.argv[1:]
    for part, write in tables().items():
        if wanted and part not in wanted:
            continue
        lines = []
        for line in write(runner):
            lines.append(line)
            print(line, flush=True)
        write_tables({part: lines}, page(part), f"python -m performance.table {part}")


if __name__ == "__main__":
    main()

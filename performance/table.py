"""Writes what each case, queue discipline and congestion control costs into docs/performance.md.

python -m performance.table              # all of them, some ten minutes
python -m performance.table CASES        # only this part of the table: CASES, DISCIPLINES or CONTROLS
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from performance.cases import CASES, Case, controls, disciplines
from performance.count import Runner, count, extension, spend

DOCUMENT = Path(__file__).parents[1] / "docs" / "performance.md"
HEAD = "| {} | segments | events | instructions | ns | MiB |\n|---|---|---|---|---|---|"
RUNS = 3
"""Of this many runs the shortest counts: other work on the machine only makes them longer."""


def parts() -> dict[str, tuple[str, Iterable[Case]]]:
    """The parts of the table: the name of each, the head of its first column, its cases."""
    return {
        "CASES": ("case", CASES),
        "DISCIPLINES": ("queue discipline", disciplines()),
        "CONTROLS": ("congestion control", controls()),
    }


def row(case: Case, runner: Runner) -> str:
    """A row of the table. Events, instructions and nanoseconds are those per segment."""
    scenario = case.resolved()
    counted, spent = count(runner, scenario), [spend(runner, scenario) for _ in range(RUNS)]
    cells = [
        case.name.replace("|", r"\|"),
        f"{counted.segments:,}",
        f"{counted.events / counted.segments:.2f}",
        f"{counted.per_segment:,.0f}",
        f"{1e9 * min(each.cpu_s for each in spent) / counted.segments:,.0f}",
        f"{max(each.peak_mib for each in spent):.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def replaced(text: str, part: str, table: str) -> str:
    """The document with another table between the marks of `part`; raises `ValueError` if it has no such marks."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    found, count = re.subn(f"{begin}.*?{end}", lambda _: f"{begin}\n\n{table}\n\n{end}", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{DOCUMENT.name} needs `{begin}` and `{end}` once, with the table between them")
    return found


def main() -> None:
    """Measures and writes."""
    runner, wanted = extension(), sys.argv[1:]
    for part, (head, cases) in parts().items():
        if wanted and part not in wanted:
            continue
        lines = [HEAD.format(head)]
        for case in cases:
            lines.append(row(case, runner))
            print(lines[-1], flush=True)
        DOCUMENT.write_text(replaced(DOCUMENT.read_text(), part, "\n".join(lines)))


if __name__ == "__main__":
    main()

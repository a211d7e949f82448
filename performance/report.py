"""Prints what each case costs: instructions, misses of a modelled cache, events, time, memory.

python -m performance.report [WORD]      # the cases whose name has the word; without it all of them, some minutes
"""

import sys

from performance.cases import CASES, Case
from performance.count import count, program, spend

HEAD = (
    "| case | segments | events per segment | instructions per segment | L1 misses | last-level misses | ns | MiB |\n"
    "|---|---|---|---|---|---|---|---|"
)


def line(case: Case) -> str:
    """A row of the table. Everything is per segment but the segments and the memory."""
    built, scenario = program(), case.resolved()
    counted, spent = count(built, scenario, caches=True), spend(built, scenario)
    assert counted.first_level_misses is not None
    assert counted.last_level_misses is not None
    cells = [
        case.name,
        f"{counted.segments:,}",
        f"{counted.events / counted.segments:.1f}",
        f"{counted.per_segment:,.0f}",
        f"{counted.first_level_misses / counted.segments:.1f}",
        f"{counted.last_level_misses / counted.segments:.2f}",
        f"{1e9 * spent.cpu_s / spent.segments:.0f}",
        f"{spent.peak_mib:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the table."""
    wanted = " ".join(sys.argv[1:])
    print(HEAD, flush=True)
    for case in CASES:
        if wanted in case.name:
            print(line(case), flush=True)


if __name__ == "__main__":
    main()

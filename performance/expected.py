"""The counts that are expected, and what has risen above them. `counts.json` is changed on purpose only:

python -m performance.expected       # counts again what `make test` checks, and writes the file
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from performance.cases import GUARDED
from performance.count import Counted, count, extension

FILE = Path(__file__).with_name("counts.json")
MAX_RISE = 0.03
"""A rise above this share of the expected instructions fails."""
NAMED = 40
"""Functions of each case in the file, the dearest first."""


def read() -> dict[str, Any]:
    """The compiler; and by the name of the case: instructions per segment, of the whole and of each function."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def compiler() -> str:
    """The compiler of this clone. Another one makes other instructions of the same code."""
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def entry(counted: Counted) -> dict[str, Any]:
    """What the file holds of a case."""
    dearest = sorted(counted.functions.items(), key=lambda item: -item[1])[:NAMED]
    return {
        "instructions_per_segment": round(counted.per_segment),
        "functions": {name: round(cost) for name, cost in dearest},
    }


def rise(expected: Mapping[str, Any], counted: Counted) -> float:
    """How much dearer a segment has become, as a share of what was expected; negative if it is cheaper."""
    before: float = expected["instructions_per_segment"]
    return counted.per_segment / before - 1


def risen(expected: Mapping[str, Any], counted: Counted) -> Sequence[str]:
    """The functions that cost more, the largest rise first, with instructions per segment before and now."""
    before: Mapping[str, float] = expected["functions"]
    more = {name: cost - before.get(name, 0.0) for name, cost in counted.functions.items()}
    found = sorted((name for name in more if more[name] >= 1), key=lambda name: -more[name])
    return [f"{before.get(name, 0):6.0f} -> {counted.functions[name]:6.0f}  {name}" for name in found[:15]]


def main() -> None:
    """Counts again and writes the file."""
    found = {case.name: entry(count(extension(), case.resolved())) for case in GUARDED}
    FILE.write_text(json.dumps({"compiler": compiler(), "cases": found}, indent=1) + "\n")
    for name, case in found.items():
        print(f"{case['instructions_per_segment']:8} instructions per segment  {name}")


if __name__ == "__main__":
    main()

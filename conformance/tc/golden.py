"""The answers of a real `tc` on a real kernel to each string: `tests/data/tc/strings.tsv`.

A row contains the string, the exit status of `tc` (1 = syntax error, 2 = refused by the kernel), the resulting options
(`tc -j -d qdisc show`), and the classes (`tc class show`). `tests/data/tc/counters.json` has the names of the counters
in `tc -s -j`, by kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.tc.guest import Answer

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "tc"
STRINGS = FOLDER / "strings.tsv"
COUNTERS = FOLDER / "counters.json"
HEADING = "string\tstatus\toptions\tclasses"

NOT_COUNTERS = ("kind", "handle", "root", "refcnt", "options")


@dataclass(frozen=True)
class Row:
    """One string."""

    text: str
    status: int
    options: dict[str, Any]
    classes: tuple[str, ...]


def write(answers: Iterable[Answer]) -> None:
    """Writes the answers."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    answers = list(answers)
    STRINGS.write_text("\n".join([HEADING, *map(_line, answers)]) + "\n", encoding="utf-8")
    COUNTERS.write_text(json.dumps(_counters(answers), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def rows() -> list[Row]:
    """The table."""
    lines = STRINGS.read_text(encoding="utf-8").splitlines()[1:]
    return [_row(*line.split("\t")) for line in lines]


def counters() -> dict[str, Any]:
    """Names of counters by kind; those of a tin have the kind `cake tin`."""
    found: dict[str, Any] = json.loads(COUNTERS.read_text(encoding="utf-8"))
    return found


def _line(answer: Answer) -> str:
    options = json.dumps(answer.discipline["options"], separators=(",", ":")) if answer.discipline else ""
    classes = "|".join(line.strip() for line in answer.classes)
    return f"{answer.text}\t{answer.status}\t{options}\t{classes}"


def _row(text: str, status: str, options: str, classes: str) -> Row:
    return Row(text, int(status), json.loads(options) if options else {}, tuple(classes.split("|")) if classes else ())


def _counters(answers: Iterable[Answer]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for answer in answers:
        if answer.discipline is None:
            continue
        names = set(answer.discipline) - set(NOT_COUNTERS)
        kind = answer.discipline["kind"]
        found[kind] = sorted({*found.get(kind, []), *names})
        for tin in answer.discipline.get("tins", ()):
            found["cake tin"] = sorted(tin)
    return found

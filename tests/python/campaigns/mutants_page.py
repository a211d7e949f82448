"""What has become of the mutants: a record of each, and a page (conformance/results/mutants.md)."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from campaigns.mutants import Judged
from campaigns.planting import CRATES, Mutant
from campaigns.seeds import REPOSITORY
from tailback.papers.made import made

PAGE = REPOSITORY / "conformance" / "results" / "mutants.md"
EQUIVALENT = REPOSITORY / "mutants" / "equivalent.toml"
OUTCOMES = ("golden tables", "tests of the crate", "gap", "equivalent", "survived", "not compiled")


@dataclass(frozen=True)
class Record:
    """A mutant and its outcome."""

    crate: str
    mutant: str
    """File, place, and what is changed."""
    code: str
    """The line of code."""
    outcome: str
    by: str = ""
    """What saw it first."""


def record(mutant: Mutant, judged: Judged | None) -> Record:
    """The record of a mutant; without a verdict if it did not compile."""
    file, line = mutant.listed["file"], mutant.listed["span"]["start"]["line"]
    code = (REPOSITORY / file).read_text(encoding="utf-8").splitlines()[line - 1].strip()
    if judged is None:
        return Record(mutant.crate, mutant.name, code, "not compiled")
    if judged.outcome == "killed":
        net = next(name for name in judged.seen if name != "experiments")
        return Record(mutant.crate, mutant.name, code, net, judged.seen[net])
    return Record(mutant.crate, mutant.name, code, judged.outcome, judged.seen.get("experiments", ""))


def kept(place: Path) -> list[Record]:
    """The records of earlier parts of the campaign."""
    return [Record(**json.loads(line)) for line in place.read_text().splitlines()] if place.exists() else []


def keep(place: Path, records: Sequence[Record]) -> None:
    """Adds records to those before."""
    with place.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(one)) + "\n" for one in records)


def reasons() -> dict[tuple[str, str], str]:
    """Why a mutant changes nothing, by what is changed and the line of code; both outlast other changes of the file."""
    known = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["mutant"]
    return {(one["change"], one["code"]): one["reason"] for one in known}


def change(mutant: str) -> str:
    """A mutant without its place in the file."""
    return re.sub(r":\d+:\d+: ", ": ", mutant)


def page(records: Sequence[Record], listed: int, command: str) -> str:
    """The page: a table of outcomes, and each survivor with its reason."""
    known = reasons()
    outcomes = Counter((one.crate, _outcome(one, known)) for one in records)
    head = ["crate", "drawn", *OUTCOMES]
    rows = [[crate, *_counts(outcomes, crate)] for crate in CRATES]
    rows.append(["all", *(str(sum(int(row[at]) for row in rows)) for at in range(1, len(head)))])
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---", *["---:"] * (len(head) - 1)], *rows)]
    return "\n".join(
        [_INTRODUCTION.format(made=made(command), listed=f"{listed:,}"), *lines, "", *_survivors(records, known)]
    )


def _outcome(one: Record, known: dict[tuple[str, str], str]) -> str:
    equivalent = one.outcome == "survived" and (change(one.mutant), one.code) in known
    return "equivalent" if equivalent else one.outcome


def _counts(outcomes: Counter[tuple[str, str]], crate: str) -> list[str]:
    counts = [outcomes[crate, outcome] for outcome in OUTCOMES]
    return [str(sum(counts)), *map(str, counts)]


def _survivors(records: Sequence[Record], known: dict[tuple[str, str], str]) -> Iterator[str]:
    for outcome, title in (("gap", "Gaps"), ("survived", "Not judged yet"), ("equivalent", "Equivalent, and why")):
        found = [one for one in records if _outcome(one, known) == outcome]
        if found:
            yield f"## {title}\n"
        for one in found:
            reason = known.get((change(one.mutant), one.code), one.by)
            crate, place = change(one.mutant).split("/", 1)
            yield f"- `crates/{crate}/src/{place}` in `{one.code}`" + (f": {reason}" if reason else "")
        if found:
            yield ""


_INTRODUCTION = """# Mutants

{made}

Of {listed} mutants that `cargo mutants` lists; another draw adds to them. Each changes one operator, one value or
one arm of a crate. **Killed** are those that the golden tables or the tests of their crate see. A
**gap** changes a run of `experiments`, and no test sees it. *Equivalent* ones change nothing that can be observed, for
the reason below ([equivalent.toml](../../mutants/equivalent.toml)). *Not compiled*: the compiler refuses them, or they
are in constants. Survivors are judged again when there is a test for them; those whose code is gone since are left out.
"""

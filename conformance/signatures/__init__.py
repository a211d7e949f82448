"""Signatures: observable behaviours by which one can tell whether a TCP or a queue discipline behaves like Linux's.

    python -m conformance.signatures          # writes conformance/results/signatures.md

They were collected from RFCs, papers, packetdrill scripts and the kernel's sources; the file that implements a
behaviour cites them. `tcp.toml` and `qdiscs.toml` name the test of each, or say why there is none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.page import rows

FOLDER = Path(__file__).parent
FILES = {"tcp": "TCP", "qdiscs": "Queue disciplines"}


@dataclass(frozen=True)
class Signature:
    """A behaviour, and its test or the reason why it has none."""

    number: str
    what: str
    of: str
    """The queue disciplines that show it."""
    file: str | None
    test: str | None
    """The function in `file`; none if `file` is a script of packetdrill."""
    untested: str | None


def read(name: str) -> list[Signature]:
    """The signatures of `tcp.toml` or `qdiscs.toml`."""
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    return [Signature(number, **{"of": "", "file": None, "test": None, "untested": None, **row})
            for number, row in table.items()]  # fmt: skip


def tables(found: Sequence[Signature]) -> Iterator[str]:
    """The tested signatures in a table, and those without a test in another."""
    tested = [each for each in found if each.file]
    yield f"{len(found)} signatures: {len(tested)} have a named test, {len(found) - len(tested)} have none."
    yield ""
    yield from rows(("", "behaviour", "test"), [_row(each) for each in tested])
    yield ""
    rest = [(each.number, each.what, each.untested or "") for each in found if not each.file]
    yield from rows(("", "behaviour", "why there is no test"), rest)


def _row(one: Signature) -> list[str]:
    file = str(one.file)
    what = f"{one.of}: {one.what}" if one.of else one.what
    return [one.number, what, f"[{file.rpartition('/')[2]}](../../{file}) `{one.test or 'the script'}`"]

"""The registry of queue disciplines: one name per file, which is imported when a discipline is used."""

from __future__ import annotations

import functools
import importlib

from tailback.on_demand import OnDemand
from tailback.qdiscs.discipline import Discipline, Json, Settings
from tailback.tc.rows import Row, rows
from tailback.tc.writing import Units, without

KINDS: OnDemand[Discipline] = OnDemand(
    "tailback.qdiscs",
    "bfifo",
    "cake",
    "choke",
    "codel",
    "drr",
    "dualpi2",
    "fq",
    "fq_codel",
    "fq_pie",
    "hhf",
    "htb",
    "mq",
    "netem",
    "pfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "pie",
    "prio",
    "red",
    "series",
    "sfq",
    "tbf",
)


class NotListed(LookupError):
    """A discipline without a name in the registry."""


def of(kind: str) -> Discipline:
    """The discipline of that kind; raises `NotListed` if there is none."""
    found = KINDS.get(kind)
    if found is None:
        what = f"the queue discipline `{kind}` is not in python/tailback/qdiscs/registry.py"
        raise NotListed(
            f"{what}\n  hint: write python/tailback/qdiscs/{kind}.py as CONTRIBUTING.md says, and its name there"
        )
    return found


def words_of(kind: str, options: Settings) -> list[str]:
    """The options in the syntax of a kernel's `tc`."""
    row = of(kind)
    return list(row.writer(without(options, *row.kernel.left_out), units_of(kind)))


def shown(kind: str, resolved: Settings, given: Settings | None = None) -> Json:
    """The options of a discipline as in `tc -j qdisc show`."""
    row = of(kind).shown
    return row.options(resolved) | {name: resolved[name] for name in row.if_given if name in (given or {})}


def units_of(kind: str) -> Units:
    """The unit of each option of a discipline and of its classes."""
    row = next((row for row in core_rows() if row.name == kind), None)
    return {} if row is None else {one.name: one.unit for one in (*row.parameters, *(row.classes or ()))}


@functools.cache
def core_rows() -> tuple[Row, ...]:
    """The disciplines of the core, with their parameters."""
    return rows(importlib.import_module("tailback._core").qdiscs())

"""Draws disciplines, congestion controls, drivers and sysctls from their registries, so that new ones are drawn too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.random_experiments import Draw
from tailback.algorithms import CoreRegistry
from tailback.qdiscs import words_of
from tailback.scenario.sysctl import SYSCTLS
from tailback.tc.rows import Parameter, Row
from tailback.tc.writing import word_of

REGISTRY = CoreRegistry()

TYPICAL: Mapping[str, tuple[int, int]] = {
    "time": (100_000, 200_000_000), "rate": (500_000, 50_000_000), "bytes": (3_000, 500_000), "packets": (2, 2_000),
    "number": (1, 2_000),
}  # fmt: skip
"""Values of most draws, by unit; the others are from the whole range of the parameter."""

REQUIRED: Mapping[str, Mapping[str, int]] = {
    "htb": {"rate": 5_000_000},
    "tbf": {"rate": 5_000_000, "burst": 10_000, "limit": 60_000},
    "red": {"limit": 300_000, "min": 10_000, "max": 40_000, "avpkt": 1_000, "burst": 20, "bandwidth": 5_000_000},
    "choke": {"limit": 300, "min": 10, "max": 40, "burst": 20, "bandwidth": 5_000_000},
}
"""Options without which a discipline cannot be, or makes no sense."""

ATTEMPTS = 20
"""Options that exclude each other are drawn again so often, and then left out."""


def within(draw: Draw, parameter: Parameter) -> int:
    """A value of a parameter: mostly a typical one, now and then any."""
    if parameter.unit in ("flag", "choice"):
        return draw.source.randint(parameter.min, parameter.max)
    least, most = parameter.min, parameter.max
    if parameter.unit in TYPICAL and draw.happens(0.9):
        low, high = TYPICAL[parameter.unit]
        least, most = (max(least, low), min(most, high)) if max(least, low) <= min(most, high) else (least, most)
    elif parameter.unit == "percent":
        most = min(most, (2**32 - 1) // 5)
    return log_uniform(draw, least, most)


def log_uniform(draw: Draw, least: int, most: int) -> int:
    """A number whose logarithm is uniform."""
    drawn = math.exp(draw.source.uniform(math.log(least + 1), math.log(most + 1))) - 1
    return min(max(round(drawn), least), most)


def options(draw: Draw, row: Row) -> dict[str, int]:
    """Some options of a discipline that go together."""
    always = REQUIRED.get(row.name, {})
    for _ in range(ATTEMPTS):
        given = {one.name: within(draw, one) for one in row.parameters if draw.happens(0.25)}
        given = {**always, **given}
        try:
            REGISTRY.resolved_qdisc(row.name, given, 1500)
        except ValueError:
            continue
        return given
    return dict(always)


def written(kind: str, given: Mapping[str, int]) -> str:
    """A discipline as in an experiment file."""
    return " ".join([kind, *words_of(kind, given)])


def leaf(draw: Draw) -> str:
    """A discipline with options, and now and then with a child."""
    row = draw.one([row for row in REGISTRY.qdiscs if row.name not in ("htb", "drr", "mq")])
    text = written(row.name, options(draw, row))
    if row.classful and draw.happens(0.4):
        child = draw.one([row for row in REGISTRY.qdiscs if not row.classful and row.classes is None])
        text += f" | {written(child.name, options(draw, child))}"
    return text


def tree(draw: Draw, flow: str, host: str) -> str:
    """A discipline with classes and filters."""
    kind = draw.one(("htb", "htb", "drr", "prio", "mq"))
    if kind == "mq":
        return f"mq queues {draw.one((1, 2, 4))} | {leaf_without_children(draw)}"
    if kind == "prio":
        return f"prio; class 1 | {leaf_without_children(draw)}; filter to {host} flowid 1"
    fits = [f"filter {draw.one(('dscp EF', f'flow {flow}', f'from {host}', f'to {host}'))} flowid 10"]
    fits += ["filter all flowid 20"] if draw.happens(0.5) else []
    if kind == "drr":
        classes = [f"class {minor} quantum {draw.one((300, 1514, 3000))}" for minor in (10, 20)]
        return "; ".join(["drr", *classes, *fits, *(["filter all flowid 20"] if draw.happens(0.5) else [])])
    default = draw.one(("default 20", "default 10", "", "direct_qlen 50 default 20"))
    classes = [
        "class 1 rate 8mbit ceil 8mbit",
        f"class parent 1 classid 10 rate {draw.one(('1mbit', '4mbit'))} ceil 8mbit | {leaf_without_children(draw)}",
        f"class parent 1 classid 20 rate {draw.one(('500kbit', '2mbit'))} ceil {draw.one(('2mbit', '8mbit'))} "
        f"prio {draw.one((0, 1, 3))}",
    ]
    return "; ".join([f"htb {default}".strip(), *classes, *fits])


def leaf_without_children(draw: Draw) -> str:
    """A discipline that has neither a child nor classes."""
    row = draw.one([row for row in REGISTRY.qdiscs if not row.classful and row.classes is None])
    return written(row.name, options(draw, row))


def discipline(draw: Draw, flow: str, host: str) -> Any:
    """What a device may have: a discipline, a shaper with one, a tree, or some in series."""
    rate = draw.one(("1mbit", "4mbit", "20mbit"))
    return draw.one(
        (
            leaf(draw),
            f"htb rate {rate} | {leaf(draw)}",
            f"tbf rate {rate} burst {draw.one(('2kb', '20kb'))} latency {draw.one(('5ms', '50ms'))}",
            tree(draw, flow, host),
            [f"netem delay {draw.one(('1ms', '20ms'))}", f"htb rate {rate} | {leaf_without_children(draw)}"],
        )
    )


def control(draw: Draw) -> Any:
    """A congestion control, now and then with parameters."""
    row = draw.one(REGISTRY.congestion_controls)
    if not row.parameters or draw.happens(0.6):
        return row.name
    given: dict[str, Any] = {}
    for _ in range(draw.one((1, 3, 12))):
        given |= _named(draw, row)
    return {"name": row.name, **given}


def driver(draw: Draw) -> Any:
    """A driver, now and then with an option."""
    row = draw.one(REGISTRY.drivers)
    return row.name if draw.happens(0.7) or not row.parameters else {"name": row.name, **_named(draw, row)}


def _named(draw: Draw, row: Row) -> dict[str, Any]:
    """One parameter of an algorithm, near its default, as an experiment file has it."""
    one = draw.one(row.parameters)
    least, most = one.min, one.max
    if one.default:
        least, most = max(least, one.default // 2), min(most, 2 * one.default)
    value = draw.source.randint(least, most) if most - least < 10 else log_uniform(draw, least, most)
    if one.unit == "flag":
        return {one.name: bool(value)}
    return {one.name: one.words[value] if one.unit == "choice" else _plain_number(word_of(value, one.unit))}


def _plain_number(word: str) -> int | str:
    return int(word) if word.isdecimal() else word


def sysctls(draw: Draw) -> dict[str, Any]:
    """Up to three sysctls."""
    chosen: Sequence[Any] = draw.source.sample(SYSCTLS, draw.one((1, 2, 2, 3)))
    return {row.name: _value(draw, row) for row in chosen}


def _value(draw: Draw, row: Any) -> Any:
    if row.count > 1:
        return sorted(log_uniform(draw, 4_096, 4_000_000) for _ in range(row.count))
    if row.most - row.least < 10:
        return draw.source.randint(row.least, row.most)
    return draw.one((row.least, log_uniform(draw, row.least, row.most), log_uniform(draw, row.least, row.most)))

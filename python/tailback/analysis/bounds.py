"""Bounds in words: `ping p99 < 10ms and goodput > 50mbit`.

A quantity is a name (`ping`, `tcp rtt`, `goodput`, `jain`, `drops`, `retransmits`) with a statistic where it has many
samples (`p99`, `mean`, `max`; the median if none is named), or the path of any number in `summary.json`
(`tcp_rtt_up_ms.p90`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tailback.analysis.metrics import PERCENTILES
from tailback.analysis.repetitions import Column, Summary, at, drops_in_all

Sign = Literal["<", ">"]

HINT = 'write a quantity, a sign and a value: "ping p99 < 10ms", "goodput up > 50mbit and jain > 0.9"'

STATISTICS = ("mean", "min", "max", *(f"p{percent}" for percent in PERCENTILES))

TIMES = {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
RATES = {"kbit": 1e-3, "mbit": 1.0, "gbit": 1e3}
SHARES = {"%": 0.01}

UNITS: Mapping[str, Mapping[str, float]] = {"ms": TIMES, "Mbit/s": RATES, "": SHARES}
"""What may stand behind a value of each unit, in that unit; a number alone is in the unit itself."""

SAMPLED = {"ping": "ping_ms", "tcp rtt": "tcp_rtt_ms", "rtt": "tcp_rtt_ms"}
TITLES = {"tcp rtt": "TCP RTT", "rtt": "TCP RTT"}
SINGLE: Mapping[str, tuple[str, Callable[[Summary], float | None]]] = {
    "goodput": ("Mbit/s", at("goodput_mbps", "total")),
    "goodput total": ("Mbit/s", at("goodput_mbps", "total")),
    "goodput up": ("Mbit/s", at("goodput_mbps", "up")),
    "goodput down": ("Mbit/s", at("goodput_mbps", "down")),
    "jain": ("", at("jain")),
    "drops": ("packets", drops_in_all),
    "retransmits": ("segments", at("retransmits")),
}
SUFFIXES = {"_ms": "ms", "_mbps": "Mbit/s", "_s": "s", "_segments": "segments"}

_BOUND = re.compile(r"(?P<words>[a-zA-Z][\w. ]*?)\s*(?P<sign>[<>])=?\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>[a-zµ%]*)")


class WrongBound(Exception):
    """Words that are not a bound or not a quantity; the message says what may stand there."""


@dataclass(frozen=True)
class Bound:
    """What a quantity must be."""

    column: Column
    sign: Sign
    value: float
    """In the unit of the column."""

    def holds(self, value: float) -> bool:
        """Whether it holds for one value."""
        return value < self.value if self.sign == "<" else value > self.value

    def __str__(self) -> str:
        return f"{self.column.title} {self.sign} {self.value:g} {self.column.unit}".rstrip()


def bounds(text: str) -> list[Bound]:
    """The bounds in `text`, joined by `and`."""
    return [_bound(part) for part in re.split(r"\s+and\s+|\s*,\s*", text.strip())]


def quantity(words: str) -> Column:
    """The number of a summary that `words` name."""
    text = " ".join(words.lower().split())
    if text in SINGLE:
        unit, read = SINGLE[text]
        return Column(text, unit, read)
    name, _, statistic = text.rpartition(" ")
    if statistic in SAMPLED or text in SAMPLED:
        name, statistic = text, "p50"
    if name in SAMPLED and statistic in STATISTICS:
        return Column(f"{TITLES.get(name, name)} {statistic}", "ms", at(SAMPLED[name], statistic))
    keys = words.strip().split(".")
    if len(keys) > 1 or "_" in keys[0]:
        return Column(words.strip(), _unit(keys[0]), at(*keys))
    known = ", ".join((*SAMPLED, *SINGLE))
    hint = f"there are {known}; of samples {', '.join(STATISTICS)}; or a path of `summary.json`: ping_ms.p99"
    raise WrongBound(f"`{words}` is not a quantity\n  hint: {hint}")


def _bound(text: str) -> Bound:
    match = _BOUND.fullmatch(text.strip())
    if match is None:
        raise WrongBound(f"`{text}` is not a bound\n  hint: {HINT}")
    column = quantity(match["words"])
    factors = UNITS.get(column.unit, {})
    if match["unit"] and match["unit"] != column.unit and match["unit"] not in factors:
        known = ", ".join(factors) or "none"
        raise WrongBound(f"`{match['unit']}` is not a unit of {column.title}\n  hint: there are {known}")
    sign: Sign = "<" if match["sign"] == "<" else ">"
    return Bound(column, sign, float(match["value"]) * factors.get(match["unit"], 1.0))


def _unit(key: str) -> str:
    return next((unit for suffix, unit in SUFFIXES.items() if key.endswith(suffix)), "")

"""Helpers for the options of several disciplines."""

from __future__ import annotations

from collections.abc import Iterator

from tailback.qdiscs.discipline import Json, Settings
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.options import WHOLE, Options, Table, Words
from tailback.tc.writing import Units, plain

PRIORITIES = 16
DEFAULT_PRIOMAP = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
"""The band of each priority. [linux-6.12 sch_generic.c sch_default_prio2band]"""

LINK_LAYERS = ("ethernet", "atm")


def priomap(words: Words, table: Table) -> Options:
    """The bands of up to 16 priorities, four bits each."""
    bands: list[int] = []
    while len(bands) < PRIORITIES and (band := units.whole(words.peek())) is not None:
        bands.append(band)
        words.next()
    if any(band > 15 for band in bands):
        hint = "write the bands of up to 16 priorities: priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
        raise WordError(f"`priomap` of `{table.kind}` names a band {max(bands)}", hint)
    # Of the priorities that are not named the map stays as it is.
    usual = table.require("priomap").default or 0
    bands += [usual >> 4 * priority & 15 for priority in range(len(bands), PRIORITIES)]
    return {"priomap": sum(band << (4 * priority) for priority, band in enumerate(bands))}


def bands_of(packed: int) -> list[int]:
    """The band of each priority."""
    return [packed >> 4 * place & 15 for place in range(PRIORITIES)]


def link_layer(words: Words, table: Table) -> Options:
    """`adsl` is another word for `atm`."""
    word = words.next()
    return {"linklayer": table.value("linklayer", "atm" if word == "adsl" else word or "")}


def nanoseconds_in_us(nanoseconds: int) -> int:
    """A time in µs, as `tc` shows it."""
    return nanoseconds // 1000


def codel_us(nanoseconds: int) -> int:
    """A time that CoDel keeps in units of 1.024 µs, in µs."""
    return ((nanoseconds >> 10) << 10) // 1000


def seconds(nanoseconds: int) -> float:
    """A time in s, as `tc` shows those of netem."""
    return nanoseconds / 1e9


def share(value: int) -> float:
    """A share of 2^32 - 1 as one from 0 to 1."""
    return value / WHOLE


def flags(settings: Settings, *names: str) -> Json:
    """Those that are on."""
    return {name: True for name in names if settings.get(name)}


def limit(settings: Settings) -> Json:
    """The limit alone."""
    return {"limit": settings["limit"]}


def bands(settings: Settings) -> Json:
    """Bands and the priorities that go to them."""
    packed = settings.get("priomap")
    found = list(DEFAULT_PRIOMAP) if packed is None else bands_of(packed)
    return {"bands": settings.get("bands", 3), "priomap": found, "multiqueue": False}


def with_link_layer(options: Settings, units: Units) -> Iterator[str]:
    """Words of a shaper, which counts cells where the link has some."""
    for name, value in options.items():
        if name == "linklayer":
            yield from (name, LINK_LAYERS[value])
        else:
            yield from plain({name: value}, units)

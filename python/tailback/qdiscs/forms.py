"""Helpers that several disciplines share."""

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
    """Reads the bands of up to 16 priorities, packed as four bits each."""
    bands: list[int] = []
    while len(bands) < PRIORITIES and (band := units.whole(words.peek())) is not None:
        bands.append(band)
        words.next()
    if any(band > 15 for band in bands):
        hint = "write the bands of up to 16 priorities: priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
        raise WordError(f"`priomap` of `{table.kind}` names a band {max(bands)}", hint)
    # Priorities that are not given keep their default.
    usual = table.require("priomap").default or 0
    bands += [usual >> 4 * priority & 15 for priority in range(len(bands), PRIORITIES)]
    return {"priomap": sum(band << (4 * priority) for priority, band in enumerate(bands))}


def three_bands(words: Words, table: Table) -> Options:
    """Reads the number of bands of a discipline that always has three."""
    if words.next() != "3":
        raise WordError(
            f"`bands` of `{table.kind}` is always 3", "write: bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
        )
    return {}


def bands_of(packed: int) -> list[int]:
    """Unpacks the band of each priority."""
    return [packed >> 4 * place & 15 for place in range(PRIORITIES)]


def link_layer(words: Words, table: Table) -> Options:
    """Reads a link layer; `adsl` is an alias of `atm`."""
    word = words.next()
    return {"linklayer": table.value("linklayer", "atm" if word == "adsl" else word or "")}


def nanoseconds_in_us(nanoseconds: int) -> int:
    """Converts ns to µs."""
    return nanoseconds // 1000


def codel_us(nanoseconds: int) -> int:
    """Converts ns to µs with the rounding of CoDel, whose unit is 1.024 µs."""
    return ((nanoseconds >> 10) << 10) // 1000


def seconds(nanoseconds: int) -> float:
    """Converts ns to s."""
    return nanoseconds / 1e9


def share(value: int) -> float:
    """Converts a fraction of 2^32 - 1 to 0 to 1."""
    return value / WHOLE


def flags(settings: Settings, *names: str) -> Json:
    """The flags that are on."""
    return {name: True for name in names if settings.get(name)}


def limit(settings: Settings) -> Json:
    """The `limit` as the only option."""
    return {"limit": settings["limit"]}


def bands(settings: Settings) -> Json:
    """The number of bands, and the band of each priority."""
    packed = settings.get("priomap")
    found = list(DEFAULT_PRIOMAP) if packed is None else bands_of(packed)
    return {"bands": settings.get("bands", 3), "priomap": found, "multiqueue": False}


def with_link_layer(options: Settings, units: Units) -> Iterator[str]:
    """Writes the options of a shaper, including its link layer."""
    for name, value in options.items():
        if name == "linklayer":
            yield from (name, LINK_LAYERS[value])
        else:
            yield from plain({name: value}, units)

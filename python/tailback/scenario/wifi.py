"""Words of a Wi-Fi cell: standard, band, width, MCS, guard interval, drivers, loss.

HT counts streams in its MCS index: 8 · (streams - 1) + index within one stream, 0 to 31. VHT (0 to 9) and HE (0 to 11)
do not. An MPDU has 38 bytes beside its IP packet: QoS header 26, LLC/SNAP 8, FCS 4; CCMP adds 16.
[ieee80211-2016 §9.2.4, §12.5.3, §19.5, §21.5] [ieee80211ax §27.5]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tailback.scenario import words
from tailback.scenario.errors import WordError, nearest_hint
from tailback.scenario.registry import Row
from tailback.scenario.units import shown
from tailback.scenario.words import Algorithm

MPDU_OVERHEAD = 26 + 8 + 4
CCMP = 16

#: What the access point is called beside the stations' names, where settings are given by host.
ACCESS_POINT = "ap"

MILLION = 1_000_000

_DRIVER_HINT = "name one, {name: ath9k, slots: 1} with options, or one per host: {ap: ath9k, client: ath9k_htc}"
_MCS_HINT = "write one index for all stations, or one per station: {near: 15, far: 0}"
_PERCENT = re.compile(r"(?P<number>[0-9]{1,3}(?:\.[0-9]{0,9})?)\s*%")


@dataclass(frozen=True)
class Standard:
    """What a standard has: formats of PPDUs and what they may be."""

    format: str
    bands: tuple[str, ...]
    widths: tuple[int, ...]
    guards_ns: tuple[int, ...]
    most_mcs: int
    counts_streams: bool = False
    """The MCS index tells the number of streams."""


STANDARDS: Mapping[str, Standard] = {
    "802.11n": Standard("ht", ("2.4GHz", "5GHz"), (20, 40), (400, 800), 31, counts_streams=True),
    "802.11ac": Standard("vht", ("5GHz",), (20, 40, 80, 160), (400, 800), 9),
    "802.11ax": Standard("he", ("2.4GHz", "5GHz"), (20, 40, 80, 160), (800, 1600, 3200), 11),
}


@dataclass(frozen=True)
class Drivers:
    """One driver for all radios of a cell, and those of single hosts."""

    every: Algorithm
    by_host: Mapping[str, Algorithm] = field(default_factory=dict)

    def of(self, *names: str) -> Algorithm:
        """The driver of the host that goes by these names."""
        return next((self.by_host[name] for name in names if name in self.by_host), self.every)


def width(word: object) -> int:
    """MHz of a channel."""
    return _one_of(word, {f"{mhz}MHz": mhz for mhz in (20, 40, 80, 160)}, "the width of a channel")


def guard(word: object) -> int:
    """Guard interval in ns."""
    return _one_of(word, {f"{ns}ns": ns for ns in (400, 800, 1600, 3200)}, "a guard interval")


def loss(word: object) -> int:
    """MPDUs lost, of a million; written in per cent."""
    match = _PERCENT.fullmatch(word.strip()) if isinstance(word, str) else None
    share = Fraction(match["number"].rstrip(".")) / 100 if match is not None else Fraction(2)
    if share > 1:
        raise WordError(f"`{shown(word)}` is not a share of MPDUs", "write per cent, 0% to 100%: 1%")
    return int(share * MILLION)


def mcs(word: object) -> int | dict[str, int]:
    """An MCS index for all stations, or one for each by name."""
    if isinstance(word, dict) and word:
        return {str(host): _index(index) for host, index in word.items()}
    return _index(word)


def drivers(word: object, rows: Sequence[Row], fallback: str) -> Drivers:
    """The drivers of a cell; `fallback` is the one of hosts that none is given for."""
    if isinstance(word, dict) and word and "name" not in word:
        by_host = {str(host): driver(entry, rows) for host, entry in word.items()}
        return Drivers(words.driver(fallback, rows), by_host)
    return Drivers(driver(word, rows))


def driver(word: object, rows: Sequence[Row]) -> Algorithm:
    """`ath9k`, `ath9k slots 1` or `{name: ath9k, slots: 1}`."""
    if not isinstance(word, dict):
        return words.driver(word, rows)
    if not isinstance(word.get("name"), str):
        raise WordError("a driver here has no name", _DRIVER_HINT)
    pairs = [f"{option} {_plain(value)}" for option, value in word.items() if option != "name"]
    return words.driver(" ".join([word["name"], *pairs]), rows)


def _plain(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).split():
        raise WordError(f"`{shown(value)}` is not the value of an option", _DRIVER_HINT)
    return "".join(str(value).split())


def _index(word: object) -> int:
    if isinstance(word, bool) or not isinstance(word, int) or not 0 <= word <= 31:
        raise WordError(f"`{shown(word)}` is not an MCS index", _MCS_HINT)
    return word


def _one_of(word: object, known: Mapping[str, int], noun: str) -> int:
    text = "".join(word.split()).lower() if isinstance(word, str) else ""
    for name, value in known.items():
        if name.lower() == text:
            return value
    raise WordError(f"`{shown(word)}` is not {noun}", nearest_hint(str(word), list(known)))


def mode(standard: Standard, width_mhz: int, mcs_index: int, streams: int | None, guard_ns: int) -> dict[str, Any]:
    """A mode as the resolved scenario holds it; what it is made of has been checked (`mcs_problem`)."""
    if standard.counts_streams:
        streams, mcs_index = mcs_index // 8 + 1, mcs_index % 8
    return {
        "format": standard.format,
        "width": width_mhz,
        "streams": streams,
        "mcs": mcs_index,
        "guard_ns": guard_ns,
    }


def mcs_problem(name: str, mcs_index: int, streams: int | None) -> tuple[str, str] | None:
    """What is wrong with an MCS index of a standard, and the remedy."""
    standard = STANDARDS[name]
    if mcs_index > standard.most_mcs:
        return f"`{mcs_index}` is not an MCS index of {name}", f"write 0 to {standard.most_mcs}"
    if standard.counts_streams and streams not in (None, mcs_index // 8 + 1):
        counted = mcs_index // 8 + 1
        return f"`{mcs_index}` is an index of {counted} streams", f"write streams: {counted}, or leave `streams` out"
    return None

"""Values of a Wi-Fi cell: standard, band, width, MCS, guard interval, drivers, loss, SNR, contention.

The MCS index of HT includes the number of streams: 8 · (streams - 1) + index of one stream, 0 to 31. That of VHT (0 to
9) and HE (0 to 11) does not. An MPDU adds 38 bytes to its IP packet: QoS header 26, LLC/SNAP 8, FCS 4; CCMP adds 16.
[ieee80211-2016 §9.2.4, §12.5.3, §19.5, §21.5] [ieee80211ax §27.5]

SNR = transmit power - path loss - noise      dB, over the whole channel
path loss = 20 · log10(4 · pi · f / c) + 10 · 3 · log10(max(distance, 1 m))          (log-distance model, indoors)
noise = -174 dBm/Hz + 10 · log10(width) + 7 (noise figure); transmit power: 20 dBm (100 mW)
[rappaport2002 §4.9] Antenna gains are 0 dB, and there is no fading.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

from msgspec import Struct, field

from tailback.resolved import Edca, Mode
from tailback.scenario import words
from tailback.scenario.words import Algorithm
from tailback.tc import units
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.rows import Row
from tailback.tc.units import shown

T = TypeVar("T")

MPDU_OVERHEAD = 26 + 8 + 4
CCMP = 16

#: Name of the access point in settings by host.
ACCESS_POINT = "ap"

MILLION = 1_000_000

_DRIVER_HINT = "name one, {name: ath9k, slots: 1} with options, or one per host: {ap: ath9k, client: ath9k_htc}"
_MCS_HINT = "write one index for all stations, or one per station: {near: 15, far: 0}"
_SNR_HINT = "write decibels: 25dB"
_DISTANCE_HINT = "write metres: 10m"
_EDCA_HINT = "write hostapd, or settings by category: {be: {aifsn: 3, cwmin: 15, cwmax: 63, txop: 2528us}}"

TRANSMIT_POWER_DBM = 20.0
NOISE_DBM_HZ = -174.0
NOISE_FIGURE_DB = 7.0
PATH_LOSS_EXPONENT = 3.0
#: Centre frequency of each band, Hz.
FREQUENCY = {"2.4GHz": 2.437e9, "5GHz": 5.25e9}
LIGHT = 299_792_458.0

_UNIT = re.compile(r"(?P<number>-?[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?P<unit>[a-zA-Z]+)")
_DECIBELS = {"db": 1, "decibel": 1, "decibels": 1}
_METRES = {"metre": 1, "metres": 1, "meter": 1, "meters": 1, "km": 1000, "m": 1}
"""Units that people write, in the unit of the file."""

_PERCENT = re.compile(r"(?P<number>[0-9]{1,3}(?:\.[0-9]{0,9})?)\s*%")


class Standard(Struct, frozen=True):
    """The PPDU format of a standard, and its valid values."""

    format: str
    bands: tuple[str, ...]
    widths: tuple[int, ...]
    guards_ns: tuple[int, ...]
    most_mcs: int
    counts_streams: bool = False
    """Whether the MCS index includes the number of streams."""


STANDARDS: Mapping[str, Standard] = {
    "802.11n": Standard("ht", ("2.4GHz", "5GHz"), (20, 40), (400, 800), 31, counts_streams=True),
    "802.11ac": Standard("vht", ("5GHz",), (20, 40, 80, 160), (400, 800), 9),
    "802.11ax": Standard("he", ("2.4GHz", "5GHz"), (20, 40, 80, 160), (800, 1600, 3200), 11),
}


class Drivers(Struct, frozen=True):
    """The driver of all radios of a cell, and exceptions by host."""

    every: Algorithm
    by_host: Mapping[str, Algorithm] = field(default_factory=dict)

    def of(self, *names: str) -> Algorithm:
        """The driver of a host, which may have several names (`ap`, and its own)."""
        return next((self.by_host[name] for name in names if name in self.by_host), self.every)


class ByStation(Generic[T], Struct, frozen=True):
    """The value of all stations of a cell, and exceptions by station."""

    every: T
    by_host: Mapping[str, T] = field(default_factory=dict)

    def of(self, name: str) -> T:
        """The value of a station."""
        return self.by_host.get(name, self.every)


#: Categories in the order of the contract: voice, video, best effort, background.
CATEGORIES = ("vo", "vi", "be", "bk")

#: The defaults of a station, and what hostapd sets for an access point. [ieee80211-2016 table 9-137] [hostapd]
STATION_EDCA = (Edca(2, 3, 7, 1_504_000), Edca(2, 7, 15, 3_008_000), Edca(3, 15, 1023, 0), Edca(7, 15, 1023, 0))
HOSTAPD_EDCA = (Edca(1, 3, 7, 1_504_000), Edca(1, 7, 15, 3_008_000), Edca(3, 15, 63, 0), Edca(7, 15, 1023, 0))


def by_station(read: Callable[[object], T], fallback: T) -> Callable[[object], ByStation[T]]:
    """A reader of one value for all stations, or of a mapping by station; others then have `fallback`."""

    def reader(word: object) -> ByStation[T]:
        if isinstance(word, dict) and word:
            return ByStation(fallback, {str(host): read(value) for host, value in word.items()})
        return ByStation(read(word))

    return reader


def streams(word: object) -> int | None:
    """Reads a number of spatial streams."""
    if word is None:
        return None
    if isinstance(word, bool) or not isinstance(word, int) or not 1 <= word <= 8:
        raise WordError(f"`{shown(word)}` is not a number of streams", "write 1 to 8")
    return word


def rate(word: object) -> str:
    """Reads the rate control."""
    if word not in ("fixed", "minstrel"):
        raise WordError(f"`{shown(word)}` is not a rate control", "write fixed or minstrel")
    return str(word)


def snr(word: object) -> float | None:
    """Reads a signal-to-noise ratio in dB."""
    return None if word is None else _number_of(word, "dB", _DECIBELS, "a signal-to-noise ratio", _SNR_HINT)


def distance(word: object) -> float | None:
    """Reads a distance from the access point in metres."""
    if word is None:
        return None
    bare = units.without_unit(word)
    metres = 0.0 if bare is not None and bare <= 0 else _number_of(word, "m", _METRES, "a distance", _DISTANCE_HINT)
    if metres <= 0:
        raise WordError(f"`{shown(word)}` is not a distance", _DISTANCE_HINT)
    return metres


def snr_at(metres: float, band: str, width_mhz: int) -> float:
    """The signal-to-noise ratio in dB at a distance."""
    first_metre = 20 * math.log10(4 * math.pi * FREQUENCY[band] / LIGHT)
    path_loss = first_metre + 10 * PATH_LOSS_EXPONENT * math.log10(max(metres, 1.0))
    noise = NOISE_DBM_HZ + 10 * math.log10(width_mhz * 1e6) + NOISE_FIGURE_DB
    return TRANSMIT_POWER_DBM - path_loss - noise


def distance_at(snr_db: float, band: str, width_mhz: int) -> float:
    """The distance in metres at which the signal-to-noise ratio has this value."""
    return max(1.0, math.pow(10, (snr_at(1, band, width_mhz) - snr_db) / (10 * PATH_LOSS_EXPONENT)))


def beacons(word: object) -> int | None:
    """Reads the rate of the beacons in bit/s."""
    return None if word is None else units.rate(word)


def edca(word: object) -> tuple[Edca, ...]:
    """Reads the EDCA parameters of a radio, in the order of `CATEGORIES`."""
    if word in ("station", "hostapd"):
        return STATION_EDCA if word == "station" else HOSTAPD_EDCA
    if not isinstance(word, dict) or not all(isinstance(settings, dict) for settings in word.values()):
        raise WordError(f"`{shown(word)}` is not a setting of contention (EDCA)", _EDCA_HINT)
    unknown = [str(name) for name in word if name not in CATEGORIES]
    if unknown:
        raise WordError(f"`{unknown[0]}` is not an access category", nearest_hint(unknown[0], CATEGORIES))
    return tuple(_category(own, word.get(name, {})) for name, own in zip(CATEGORIES, STATION_EDCA, strict=True))


def edca_by_side(word: object) -> dict[str, tuple[Edca, ...]]:
    """Reads the EDCA parameters of the access point (`ap`) and of the stations."""
    if isinstance(word, dict) and word and set(word) <= {ACCESS_POINT, "stations"}:
        return {str(side): edca(value) for side, value in word.items()}
    if isinstance(word, dict) and not word:
        return {}
    return dict.fromkeys((ACCESS_POINT, "stations"), edca(word))


def _category(own: Edca, given: Mapping[str, object]) -> Edca:
    unknown = [str(name) for name in given if name not in ("aifsn", "cwmin", "cwmax", "txop")]
    if unknown:
        raise WordError(f"`{unknown[0]}` is not a setting of a category", _EDCA_HINT)
    return Edca(
        _slots(given.get("aifsn", own.aifsn), 15),
        _window(given.get("cwmin", own.cw_min)),
        _window(given.get("cwmax", own.cw_max)),
        units.time(given["txop"]) if "txop" in given else own.txop_ns,
    )


def _slots(word: object, limit: int) -> int:
    if isinstance(word, bool) or not isinstance(word, int) or not 1 <= word <= limit:
        raise WordError(f"`{shown(word)}` is not a number of slots", f"write 1 to {limit}")
    return word


def _window(word: object) -> int:
    if isinstance(word, bool) or not isinstance(word, int) or word not in {2**bits - 1 for bits in range(16)}:
        raise WordError(f"`{shown(word)}` is not a contention window", "write a power of two minus one, such as 15")
    return word


def _number_of(word: object, unit: str, meant: Mapping[str, int], noun: str, hint: str) -> float:
    text = word.strip() if isinstance(word, str) else str(word)
    match = _UNIT.fullmatch(text)
    if match is not None and match["unit"] == unit:
        return float(match["number"])
    factor = meant.get(match["unit"].lower()) if match is not None else None
    if match is not None and factor is not None:
        likely = units.plain_word(Fraction(match["number"]) * factor)
        raise WordError(f"`{shown(word)}` is not {noun}", f"did you mean `{likely}{unit}`? {hint}")
    raise WordError(f"`{shown(word)}` is not {noun}", units.hint_of_unit(word, unit, hint))


def width(word: object) -> int:
    """Reads the width of a channel in MHz."""
    return _one_of(word, {f"{mhz}MHz": mhz for mhz in (20, 40, 80, 160)}, "the width of a channel")


def guard(word: object) -> int:
    """Reads a guard interval in ns."""
    return _one_of(word, {f"{ns}ns": ns for ns in (400, 800, 1600, 3200)}, "a guard interval")


def loss(word: object) -> int:
    """Reads a loss rate of MPDUs in per cent; returns it in ppm."""
    match = _PERCENT.fullmatch(word.strip()) if isinstance(word, str) else None
    share = Fraction(match["number"].rstrip(".")) / 100 if match is not None else Fraction(2)
    if share > 1:
        raise WordError(
            f"`{shown(word)}` is not a loss rate", units.hint_of_percent(word, "write per cent, 0% to 100%: 1%")
        )
    return int(share * MILLION)


def changed_loss(word: object) -> int | None:
    """Reads the loss rate after a change; `None`: as before."""
    return None if word is None else loss(word)


def mcs(word: object) -> int | dict[str, int]:
    """Reads an MCS index for all stations, or a mapping by station."""
    if isinstance(word, dict) and word:
        return {str(host): _index(index) for host, index in word.items()}
    return _index(word)


def drivers(word: object, rows: Sequence[Row], fallback: str) -> Drivers:
    """Reads the drivers of a cell; hosts that a mapping does not name have `fallback`."""
    if isinstance(word, dict) and word and "name" not in word:
        by_host = {str(host): driver(entry, rows) for host, entry in word.items()}
        return Drivers(words.driver(fallback, rows), by_host)
    return Drivers(driver(word, rows))


def driver(word: object, rows: Sequence[Row]) -> Algorithm:
    """Reads a driver: `ath9k`, `ath9k slots 1` or `{name: ath9k, slots: 1}`."""
    if not isinstance(word, dict):
        return words.driver(word, rows)
    if not isinstance(word.get("name"), str):
        raise WordError("the driver has no name", _DRIVER_HINT)
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


def mode(standard: Standard, width_mhz: int, mcs_index: int, streams: int | None, guard_ns: int) -> Mode:
    """The mode for the resolved scenario, from values that `mcs_problem` has checked."""
    if standard.counts_streams:
        streams, mcs_index = mcs_index // 8 + 1, mcs_index % 8
    assert streams is not None, "only HT may omit the streams (`cells._streams`)"
    return Mode(format=standard.format, width=width_mhz, streams=streams, mcs=mcs_index, guard_ns=guard_ns)


def mcs_problem(name: str, mcs_index: int, streams: int | None) -> tuple[str, str] | None:
    """The error of an MCS index and its remedy; None if it is valid."""
    standard = STANDARDS[name]
    if mcs_index > standard.most_mcs:
        return f"`{mcs_index}` is not an MCS index of {name}", f"write 0 to {standard.most_mcs}"
    if standard.counts_streams and streams not in (None, mcs_index // 8 + 1):
        counted = mcs_index // 8 + 1
        return f"`{mcs_index}` is an index of {counted} streams", f"write streams: {counted}, or remove `streams`"
    return None

"""Whether anything gets through: the loss of a Wi-Fi station's MPDUs at its SNR, and paths that carry nothing.

The loss is that of `crates/wifi/src/loss.rs`, whose table is repeated here; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tailback.scenario import policers, wifi
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Keys, Link, Wifi

#: SNR per stream in dB at which one PSDU of 4096 bytes in ten is lost, by MCS of one stream.
THRESHOLDS_DB = (4, 7, 9, 12, 16, 20, 21, 22, 27, 29, 32, 34)
#: Bits in error at the threshold, and the dB in which they change tenfold.
AT_THRESHOLD = 1 - 0.9 ** (1 / 32768)
DECADE_DB = 0.6

ETHERNET_HEADER = 14

#: Bytes of an MPDU with a full-sized packet.
FULL_SIZED = 1500 + wifi.MPDU_OVERHEAD

OUT_OF_REACH = 0.8
"""The share of MPDUs lost from which a station counts as out of reach."""

FEW_FRAMES = 10
"""A path that carries fewer full-sized frames than this in the window carries hardly anything."""


class Unreached(Struct, frozen=True):
    """Why data does not arrive, and what to do about it."""

    loc: Loc
    text: str
    remedy: str
    extent: float = 1.0


def lost_share(mcs: int, streams: int, snr_db: float, loss: float = 0.0) -> float:
    """The share of full-sized MPDUs that are lost in a mode, whose MCS is that of one stream."""
    margin = snr_db - 10 * math.log10(streams) - THRESHOLDS_DB[mcs]
    errors = min(AT_THRESHOLD * 10 ** (-margin / DECADE_DB), 0.5) if margin > -60 else 0.5
    return 1 - (1 - errors) ** (8 * FULL_SIZED) * (1 - loss)


def needed_db(mcs: int, streams: int) -> float:
    """The SNR in dB at which hardly any MPDU is lost."""
    return THRESHOLDS_DB[mcs] + 10 * math.log10(streams) + 1


def out_of_reach(keys: Keys) -> Iterator[Unreached]:
    """The stations whose MPDUs hardly ever arrive."""
    for place, cell in enumerate(keys.links):
        if isinstance(cell, Wifi):
            # What changes during the run has no one reach.
            for name in (name for name in cell.wifi.stations if not any(each.changed(name) for each in cell.schedule)):
                yield from _station(("links", place), cell, name)


def _station(loc: Loc, cell: Wifi, name: str) -> Iterator[Unreached]:
    loss = cell.loss.of(name) / wifi.MILLION
    if loss >= OUT_OF_REACH:
        text = f"`{name}` loses {loss:.0%} of its MPDUs in any mode".replace("%", " %")
        remedy = "give a smaller `loss`, or an `snr` that determines it"
        yield Unreached(_key(loc, "loss", name, cell.loss), text, remedy, loss)
        return
    snr, metres = cell.snr.of(name), cell.distance.of(name)
    if snr is None and metres is None:
        return
    snr_db = wifi.snr_at(metres, cell.band, cell.width) if snr is None and metres is not None else float(snr or 0)
    mcs, streams = _slowest(cell, name)
    lost = lost_share(mcs, streams, snr_db, loss)
    if lost < OUT_OF_REACH:
        return
    fixed = cell.rate.of(name) == "fixed"
    where = "" if metres is None else f" at {metres:g}m"
    mode = f"the mode of `mcs` {_index(cell, name)}" if fixed else "even the slowest mode"
    text = f"`{name}`{where} has an SNR of {snr_db:.1f} dB, at which {mode} loses {lost:.0%} of its full-sized MPDUs"
    needed = needed_db(mcs, streams)
    nearer = f"{wifi.distance_at(needed, cell.band, cell.width):.0f}m or nearer"
    better = f"an `snr` of {math.ceil(needed)}dB or more" if metres is None else f"a `distance` of {nearer}"
    other = ", a lower `mcs`, or `rate: minstrel`" if fixed else " or a narrower channel"
    key = _key(loc, "snr", name, cell.snr) if metres is None else _key(loc, "distance", name, cell.distance)
    yield Unreached(key, text.replace("%", " %"), f"give it {better}{other}", lost + needed - snr_db)


def _key(loc: Loc, key: str, name: str, values: wifi.ByStation[Any]) -> Loc:
    """The key of a station's value: its own, or that of all stations."""
    return (*loc, key, name) if name in values.by_host else (*loc, key)


def _index(cell: Wifi, name: str) -> int:
    return cell.mcs[name] if isinstance(cell.mcs, dict) else cell.mcs


def _slowest(cell: Wifi, name: str) -> tuple[int, int]:
    """MCS of one stream and streams of the most robust mode that the station may use."""
    if cell.rate.of(name) != "fixed":
        return 0, 1
    mode = wifi.mode(wifi.STANDARDS[cell.standard], cell.width, _index(cell, name), cell.streams.of(name), cell.guard)
    return mode.mcs, mode.streams


def policed(keys: Keys) -> Iterator[Unreached]:
    """The policers that no full-sized packet passes."""
    for place, link in enumerate(keys.links):
        if not isinstance(link, Link):
            continue
        for end, options in enumerate(link.police):
            if options is None:
                continue
            loc = ("links", place, "police")
            way = " -> ".join(link.ends if end == 0 else link.ends[::-1])
            if options["burst"] < link.mtu:
                text = (
                    f"the policer of {way} has a bucket of {options['burst']} bytes, less than a packet of {link.mtu}"
                )
                yield Unreached(loc, text, f"give it a `burst` of {link.mtu}b or more", link.mtu / options["burst"])
            elif (most := options.get("mtu", policers.DEFAULT_MTU)) < link.mtu + ETHERNET_HEADER:
                text = f"the policer of {way} drops frames of more than {most} bytes (`mtu`), as tc's does"
                yield Unreached(
                    loc, text, f"write `mtu {link.mtu + ETHERNET_HEADER}b` behind its `burst`", link.mtu / most
                )


def down(keys: Keys, window_ns: tuple[int, int]) -> Iterator[Unreached]:
    """The links that are down during the whole window."""
    for place, link in enumerate(keys.links):
        if not isinstance(link, Link):
            continue
        for end, way in enumerate((link.ends, link.ends[::-1])):
            if _is_down(link, end, window_ns):
                text = f"{' -> '.join(way)} is down during the whole measurement window"
                yield Unreached(("links", place, "schedule"), text, "let it go up again earlier: `state: up`")


def _is_down(link: Link, end: int, window_ns: tuple[int, int]) -> bool:
    start, stop = window_ns
    changes = sorted((change.at, change.state[end] or "") for change in link.schedule if change.state[end])
    before = [state for at, state in changes if at <= start]
    return before[-1:] == ["down"] and not any(start < at < stop for at, _ in changes)

"""Whether anything gets through: the loss of a Wi-Fi station's MPDUs at its SNR, and paths that carry nothing.

The loss is that of `crates/wifi/src/loss.rs`, whose table is repeated here; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tailback.scenario import policers, wifi
from tailback.scenario.case import Case
from tailback.scenario.over_time import during, over_time
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Keys, Link, SignalChange, Wifi
from tailback.tc.units import time_word

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
    severity: Literal["warning", "info"] = "warning"


def lost_share(mcs: int, streams: int, snr_db: float, loss: float = 0.0) -> float:
    """The share of full-sized MPDUs that are lost in a mode, whose MCS is that of one stream."""
    margin = snr_db - 10 * math.log10(streams) - THRESHOLDS_DB[mcs]
    errors = min(AT_THRESHOLD * 10 ** (-margin / DECADE_DB), 0.5) if margin > -60 else 0.5
    return 1 - (1 - errors) ** (8 * FULL_SIZED) * (1 - loss)


def needed_db(mcs: int, streams: int) -> float:
    """The SNR in dB at which hardly any MPDU is lost."""
    return THRESHOLDS_DB[mcs] + 10 * math.log10(streams) + 1


def out_of_reach(case: Case) -> Iterator[Unreached]:
    """The stations whose MPDUs hardly ever arrive."""
    for place, cell in enumerate(case.keys.links):
        if isinstance(cell, Wifi):
            for name in cell.wifi.stations:
                yield from _station(("links", place), cell, name, case)


class _Signal(Struct, frozen=True):
    """The signal of a station, with the keys that give it."""

    loss: float
    snr: float | None
    metres: float | None
    loss_key: Loc
    signal_key: Loc


def _station(loc: Loc, cell: Wifi, name: str, case: Case) -> Iterator[Unreached]:
    """Says of a station that it is out of reach when its traffic is measured, or from some time on for the rest."""
    signals = _signals(loc, cell, name)
    found = {at: _problem(cell, name, signal) for at, signal in signals.items()}
    start, stop = case.window
    measured = [each for _, each in during(found, (case.first_start(name, start), stop))]
    wrong = [each for each in measured if each is not None]
    if wrong and len(wrong) == len(measured):
        yield wrong[0]
        return
    reached = [at for at, problem in found.items() if problem is None]
    lost = [at for at, problem in found.items() if problem is not None]
    # One that comes and goes is meant to.
    if lost and max(reached, default=0) < min(lost) < stop and (problem := found[min(lost)]) is not None:
        text = f"from {time_word(min(lost))} on {problem.text}"
        remedy = f"{problem.remedy}, or change it back, unless it is to lose the connection"
        yield replace(problem, severity="info", text=text, remedy=remedy)


def _signals(loc: Loc, cell: Wifi, name: str) -> dict[int, _Signal]:
    """The signals of a station over time."""
    now = _Signal(
        cell.loss.of(name) / wifi.MILLION,
        _snr_of(cell, name, cell),
        cell.distance.of(name),
        _key(loc, "loss", name, cell.loss),
        _signal_key(loc, name, cell),
    )
    found = {0: now}
    for number, change in enumerate(cell.schedule):
        place = (*loc, "schedule", number)
        if (loss := change.loss.of(name)) is not None:
            now = replace(now, loss=loss / wifi.MILLION, loss_key=_key(place, "loss", name, change.loss))
        if (snr := _snr_of(cell, name, change)) is not None:
            metres, key = change.distance.of(name), _signal_key(place, name, change)
            now = replace(now, snr=snr, metres=metres, signal_key=key)
        found[change.at] = now
    return found


def _snr_of(cell: Wifi, name: str, given: Wifi | SignalChange) -> float | None:
    snr, metres = given.snr.of(name), given.distance.of(name)
    return wifi.snr_at(metres, cell.band, cell.width) if snr is None and metres is not None else snr


def _problem(cell: Wifi, name: str, signal: _Signal) -> Unreached | None:
    """Why hardly an MPDU of this signal arrives; `None` if they do."""
    loss = signal.loss
    if loss >= OUT_OF_REACH:
        text = f"`{name}` loses {loss:.0%} of its MPDUs in any mode".replace("%", " %")
        remedy = "give a smaller `loss`, or an `snr` that determines it"
        return Unreached(signal.loss_key, text, remedy, loss)
    if signal.snr is None:
        return None
    mcs, streams = _slowest(cell, name)
    lost = lost_share(mcs, streams, signal.snr, loss)
    if lost < OUT_OF_REACH:
        return None
    fixed = cell.rate.of(name) == "fixed"
    metres = signal.metres
    where = "" if metres is None else f" at {metres:g}m"
    mode = f"the mode of `mcs` {_index(cell, name)}" if fixed else "even the slowest mode"
    text = (
        f"`{name}`{where} has an SNR of {signal.snr:.1f} dB, at which {mode} loses {lost:.0%} of its full-sized MPDUs"
    )
    needed = needed_db(mcs, streams)
    nearer = f"{wifi.distance_at(needed, cell.band, cell.width):.0f}m or nearer"
    better = f"an `snr` of {math.ceil(needed)}dB or more" if metres is None else f"a `distance` of {nearer}"
    other = ", a lower `mcs`, or `rate: minstrel`" if fixed else " or a narrower channel"
    return Unreached(signal.signal_key, text.replace("%", " %"), f"give it {better}{other}", lost + needed - signal.snr)


def _signal_key(loc: Loc, name: str, given: Wifi | SignalChange) -> Loc:
    metres = given.distance.of(name)
    return _key(loc, "snr", name, given.snr) if metres is None else _key(loc, "distance", name, given.distance)


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
    states = over_time("up", ((change.at, change.state[end]) for change in link.schedule))
    return all(state == "down" for _, state in during(states, window_ns))

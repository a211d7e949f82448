"""Checks of a Wi-Fi cell that involve several keys: the standard must have the modes, and the cell the hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tailback.scenario.hops import cell_names, network_of
from tailback.scenario.links import time_of_change
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Keys, SignalChange, Wifi
from tailback.scenario.wifi import ACCESS_POINT, STANDARDS, mcs_problem
from tailback.tc.errors import nearest_hint

#: Mbit/s of 802.11a/g, and of 802.11b.
LEGACY_MBIT = (6, 9, 12, 18, 24, 36, 48, 54)
DSSS_MBIT = (1, 2, 5.5, 11)

#: MHz of the widest channel at 2.4 GHz.
WIDEST_24 = 40


def problems(keys: Keys) -> Iterator[Problem]:
    """Everything wrong with the cells of an experiment."""
    taken = Counter([*cell_names(keys).values(), *network_of(keys).hosts])
    for index, cell in enumerate(keys.links):
        if isinstance(cell, Wifi):
            loc: Loc = ("links", index)
            if taken[name := cell_names(keys)[index]] > 1:
                message = f"`{name}` is the name of a Wi-Fi cell and of something else"
                yield Problem((*loc, "name"), message, "give the cell another `name`")
            yield from _channel(loc, cell)
            yield from _streams(loc, cell)
            yield from _named_in_cell((*loc, "driver"), cell.driver.by_host, [ACCESS_POINT, cell.wifi.ap], cell)
            yield from _station_modes(loc, cell)
            yield from _by_station(loc, cell)
            yield from _signal(loc, cell.wifi.stations, cell)
            yield from _schedule((*loc, "schedule"), cell, keys.duration)
            yield from _hidden(loc, cell, keys)
            yield from _beacons(loc, cell)


def _channel(loc: Loc, cell: Wifi) -> Iterator[Problem]:
    """Checks that the standard has this band, width and guard interval."""
    standard = STANDARDS[cell.standard]
    if cell.band not in standard.bands:
        message = f"{cell.standard} does not use `{cell.band}`"
        yield Problem((*loc, "band"), message, f"write {' or '.join(standard.bands)}")
    if cell.width not in standard.widths or (cell.band == "2.4GHz" and cell.width > WIDEST_24):
        known = [mhz for mhz in standard.widths if cell.band != "2.4GHz" or mhz <= WIDEST_24]
        message = f"`{cell.width}MHz` is not a width of {cell.standard} at {cell.band}"
        yield Problem((*loc, "width"), message, f"write {_or(known, 'MHz')}")
    if cell.guard not in standard.guards_ns:
        message = f"`{cell.guard}ns` is not a guard interval of {cell.standard}"
        yield Problem((*loc, "guard"), message, f"write {_or(standard.guards_ns, 'ns')}")


def _streams(loc: Loc, cell: Wifi) -> Iterator[Problem]:
    if STANDARDS[cell.standard].counts_streams:
        return
    if any(cell.streams.of(station) is None for station in cell.wifi.stations):
        message = f"is missing: the MCS of {cell.standard} does not determine it"
        yield Problem((*loc, "streams"), message, "write the number of spatial streams: streams: 2")


def _station_modes(loc: Loc, cell: Wifi) -> Iterator[Problem]:
    by_host = cell.mcs if isinstance(cell.mcs, dict) else {}
    yield from _named_in_cell((*loc, "mcs"), by_host, [], cell)
    missing = [station for station in cell.wifi.stations if by_host and station not in by_host]
    if missing:
        message = f"`{missing[0]}` has no MCS index"
        yield Problem((*loc, "mcs"), message, "give one for each station, or one number for all")
    indices = dict(by_host) if isinstance(cell.mcs, dict) else dict.fromkeys(cell.wifi.stations, cell.mcs)
    reported = set()
    for host, index in indices.items():
        problem = mcs_problem(cell.standard, index, cell.streams.of(host))
        if problem is not None and problem not in reported:
            reported.add(problem)
            yield Problem((*loc, "mcs", host) if isinstance(cell.mcs, dict) else (*loc, "mcs"), *problem)


def _by_station(loc: Loc, cell: Wifi) -> Iterator[Problem]:
    """Checks that values by station name stations of this cell."""
    named: dict[str, Iterable[str]] = {
        "streams": cell.streams.by_host,
        "rate": cell.rate.by_host,
        "loss": cell.loss.by_host,
        "snr": cell.snr.by_host,
        "distance": cell.distance.by_host,
    }
    for key, hosts in named.items():
        yield from _named_in_cell((*loc, key), hosts, [], cell)


def _signal(loc: Loc, stations: Sequence[str], given: Wifi | SignalChange) -> Iterator[Problem]:
    """Checks that no station has both an SNR and a distance."""
    for station in stations:
        if given.snr.of(station) is not None and given.distance.of(station) is not None:
            message = f"`{station}` also has an `snr`"
            yield Problem((*loc, "distance"), message, "give only one of them: the distance determines the SNR")
            return


def _schedule(loc: Loc, cell: Wifi, duration: int) -> Iterator[Problem]:
    """Checks the changes of the signals: their order, and that each changes a station of this cell."""
    before = 0
    for number, change in enumerate(cell.schedule):
        place = (*loc, number)
        yield from time_of_change((*place, "at"), change.at, before, duration)
        for key in ("snr", "distance", "loss"):
            yield from _named_in_cell((*place, key), getattr(change, key).by_host, [], cell)
        yield from _signal(place, cell.wifi.stations, change)
        if not change.model_fields_set - {"at"}:
            yield Problem(place, "changes nothing", "give a new value: {at: 10s, snr: 3dB}")
        before = max(before, change.at)


def _hidden(loc: Loc, cell: Wifi, keys: Keys) -> Iterator[Problem]:
    """Checks that hidden pairs name hosts on this channel."""
    if not cell.hidden:
        return
    cells = [other for other in keys.links if isinstance(other, Wifi) and _shares(cell, other)]
    known = [host for other in cells for host in (other.wifi.ap, *other.wifi.stations)]
    for number, pair in enumerate(cell.hidden):
        for host in pair:
            if host not in known:
                message = f"`{host}` has no radio on this channel"
                yield Problem((*loc, "hidden", number), message, nearest_hint(host, known))


def _shares(one: Wifi, other: Wifi) -> bool:
    return one is other or (one.channel is not None and one.channel == other.channel)


def _beacons(loc: Loc, cell: Wifi) -> Iterator[Problem]:
    known = [*LEGACY_MBIT, *(DSSS_MBIT if cell.band == "2.4GHz" else ())]
    if cell.beacons is not None and cell.beacons not in {int(mbit * 1_000_000) for mbit in known}:
        message = f"no legacy rate of {cell.beacons / 1e6:g} Mbit/s at {cell.band}"
        yield Problem((*loc, "beacons"), message, f"write {_or(known, 'mbit')}")


def _named_in_cell(loc: Loc, by_host: Iterable[str], also: list[str], cell: Wifi) -> Iterator[Problem]:
    known = [*also, *cell.wifi.stations]
    for host in by_host:
        if host not in known:
            yield Problem((*loc, host), f"`{host}` is not in this cell", nearest_hint(host, known))


def _or(numbers: Sequence[float], unit: str) -> str:
    return " or ".join(f"{number}{unit}" for number in numbers)

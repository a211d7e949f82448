"""What spans several keys of a Wi-Fi cell: what its standard has, and hosts that are in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tailback.scenario.errors import nearest_hint
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Keys, Wifi
from tailback.scenario.wifi import ACCESS_POINT, STANDARDS, mcs_problem

#: MHz of the widest channel at 2.4 GHz.
WIDEST_24 = 40


def problems(keys: Keys) -> Iterator[Problem]:
    """Everything wrong with the cells of an experiment."""
    for index, cell in enumerate(keys.links):
        if isinstance(cell, Wifi):
            loc: Loc = ("links", index)
            yield from _channel(loc, cell)
            yield from _streams(loc, cell)
            yield from _named_in_cell((*loc, "driver"), cell.driver.by_host, [ACCESS_POINT, cell.wifi.ap], cell)
            yield from _station_modes(loc, cell)


def _channel(loc: Loc, cell: Wifi) -> Iterator[Problem]:
    """Band, width and guard interval are those of the standard."""
    standard = STANDARDS[cell.standard]
    if cell.band not in standard.bands:
        yield Problem((*loc, "band"), f"`{cell.band}` has no {cell.standard}", f"write {' or '.join(standard.bands)}")
    if cell.width not in standard.widths or (cell.band == "2.4GHz" and cell.width > WIDEST_24):
        known = [mhz for mhz in standard.widths if cell.band != "2.4GHz" or mhz <= WIDEST_24]
        message = f"`{cell.width}MHz` is no width of {cell.standard} at {cell.band}"
        yield Problem((*loc, "width"), message, f"write {_or(known, 'MHz')}")
    if cell.guard not in standard.guards_ns:
        message = f"`{cell.guard}ns` is no guard interval of {cell.standard}"
        yield Problem((*loc, "guard"), message, f"write {_or(standard.guards_ns, 'ns')}")


def _streams(loc: Loc, cell: Wifi) -> Iterator[Problem]:
    if cell.streams is None and not STANDARDS[cell.standard].counts_streams:
        message = f"is missing: the MCS of {cell.standard} does not tell it"
        yield Problem((*loc, "streams"), message, "write the number of spatial streams: streams: 2")


def _station_modes(loc: Loc, cell: Wifi) -> Iterator[Problem]:
    by_host = cell.mcs if isinstance(cell.mcs, dict) else {}
    yield from _named_in_cell((*loc, "mcs"), by_host, [], cell)
    missing = [station for station in cell.wifi.stations if by_host and station not in by_host]
    if missing:
        message = f"`{missing[0]}` has no MCS index"
        yield Problem((*loc, "mcs"), message, "give one for each station, or one number for all")
    indices = by_host if isinstance(cell.mcs, dict) else {None: cell.mcs}
    for host, index in indices.items():
        problem = mcs_problem(cell.standard, index, cell.streams)
        if problem is not None:
            yield Problem((*loc, "mcs") if host is None else (*loc, "mcs", host), *problem)


def _named_in_cell(loc: Loc, by_host: Iterable[str], also: list[str], cell: Wifi) -> Iterator[Problem]:
    known = [*also, *cell.wifi.stations]
    for host in by_host:
        if host not in known:
            yield Problem((*loc, host), f"`{host}` is not in this cell", nearest_hint(host, known))


def _or(numbers: Sequence[int], unit: str) -> str:
    return " or ".join(f"{number}{unit}" for number in numbers)

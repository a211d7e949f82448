"""Classifies the axes of a grid as settings, which the user can choose, or conditions, which are given.

A setting is an axis whose values differ only in congestion control, small queue, socket options, sysctls, stack,
offloads, NIC rings, what the owner of a Wi-Fi cell sets (options of drivers, EDCA, RTS), or queue disciplines, except
for what disciplines emulate: the rates of shapers, and netem. Any other axis is a condition (rate, delay, hosts, flows,
drivers and all else of Wi-Fi); recommendations are made for each of its values.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from tailback.resolved import (
    Cell,
    Connection,
    Control,
    Driver,
    Host,
    Link,
    Qdisc,
    Record,
    Scenario,
    SmallQueue,
    SocketOptions,
    Traffic,
    shaped_rate,
    to_json,
)

Axes: TypeAlias = Mapping[str, str]

#: Placeholders that make the settings of all runs equal.
NO_CONTROL, NO_SMALL_QUEUE, NO_OPTIONS = Control(name=""), SmallQueue(kind="off"), SocketOptions()
NO_RECORD = Record(interval_ns=1, tcp_info="interval", events=False)


def conditions(axes: Sequence[str], runs: Sequence[tuple[Axes, Scenario]]) -> list[str]:
    """The axes that are conditions, in order; `runs` are the runs of one repetition."""
    given = [({axis: place[axis] for axis in axes}, _path(scenario)) for place, scenario in runs]
    return [axis for axis in axes if _changes_path(axis, given)]


def _changes_path(axis: str, given: Sequence[tuple[Axes, str]]) -> bool:
    """Whether two runs that differ only in `axis` have different paths."""
    groups: dict[tuple[tuple[str, str], ...], set[str]] = {}
    for place, path in given:
        others = tuple((name, value) for name, value in place.items() if name != axis)
        groups.setdefault(others, set()).add(path)
    return any(len(paths) > 1 for paths in groups.values())


def _path(scenario: Scenario) -> str:
    """The parts of a scenario that are not settings, as text."""
    emulated = [
        (attached.host, attached.link, found) for attached in scenario.qdiscs if (found := _emulated(attached.root))
    ]
    path = replace(
        scenario,
        title="",
        seed=0,
        hosts=tuple(Host(name=host.name, stack="") for host in scenario.hosts),
        links=tuple(_without_nic(link) for link in scenario.links),
        cells=tuple(_without_choices(cell) for cell in scenario.cells),
        qdiscs=(),
        traffic=tuple(_without_socket(entry) for entry in scenario.traffic),
        record=NO_RECORD,
        kernel=None,
        controls=(),
    )
    return json.dumps([to_json(path), emulated], sort_keys=True)


def _without_nic(link: Link) -> Link:
    return replace(link, ring=(0, 0), bql=(False, False), interrupt_ns=(0, 0))


def _without_choices(cell: Cell) -> Cell:
    """The cell without what its owner sets; the radios, and so their drivers, are given."""
    return replace(
        cell,
        rts=False,
        access_point_edca=None,
        station_edca=None,
        driver=Driver(name=cell.driver.name),
        stations=tuple(replace(station, driver=Driver(name=station.driver.name)) for station in cell.stations),
    )


def _without_socket(entry: Traffic) -> Traffic:
    if not isinstance(entry, Connection):
        return entry
    return replace(entry, cc=NO_CONTROL, tsq=NO_SMALL_QUEUE, socket=NO_OPTIONS)


def _emulated(root: Qdisc) -> list[tuple[str, int]]:
    """What the disciplines of a device emulate: the rates of shapers and of their classes, and netem's options."""
    rate = shaped_rate(root)
    return [*([] if rate is None else [("rate", rate)]), *(found for node in root.tree for found in _parts(node))]


def _parts(node: Qdisc) -> Iterator[tuple[str, int]]:
    if node.kind == "netem":
        yield from ((name, value) for name, value in sorted(node.options.items()) if name != "limit")
    for each in node.classes:
        yield from ((name, each.options[name]) for name in ("ceil", "rate") if name in each.options)

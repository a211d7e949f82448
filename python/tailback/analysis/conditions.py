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
    AttachedQdisc,
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
Network: TypeAlias = Mapping[str, str]

#: Placeholders that make the settings of all runs equal.
NO_CONTROL, NO_SMALL_QUEUE, NO_OPTIONS = Control(name=""), SmallQueue(kind="off"), SocketOptions()
NO_RECORD = Record(interval_ns=1, tcp_info="interval", events=False)


def conditions(axes: Sequence[str], runs: Sequence[tuple[Axes, Scenario]]) -> list[str]:
    """The axes that are conditions, in order; `runs` are the runs of one repetition."""
    return list(reasons(axes, runs))


def reasons(axes: Sequence[str], runs: Sequence[tuple[Axes, Scenario]]) -> dict[str, str]:
    """Why each axis that is a condition is one: `it changes the rate of a shaper`."""
    given = [({axis: place[axis] for axis in axes}, _path(scenario)) for place, scenario in runs]
    changed = {axis: _changed(axis, given) for axis in axes}
    return {axis: f"it changes {' and '.join(what)}" for axis, what in changed.items() if what}


def _changed(axis: str, given: Sequence[tuple[Axes, Network]]) -> list[str]:
    """What differs between the paths of runs that differ only in `axis`."""
    groups: dict[tuple[tuple[str, str], ...], list[Network]] = {}
    for place, path in given:
        others = tuple((name, value) for name, value in place.items() if name != axis)
        groups.setdefault(others, []).append(path)
    pairs = [(paths[0], path) for paths in groups.values() for path in paths[1:]]
    return [part for part in dict.fromkeys(name for path in given for name in path[1]) if _differs(part, pairs)]


def _differs(part: str, pairs: Sequence[tuple[Network, Network]]) -> bool:
    return any(one.get(part) != other.get(part) for one, other in pairs)


def _path(scenario: Scenario) -> Network:
    """The parts of a scenario that are not settings, as text, by what they are."""
    emulated = [each for attached in scenario.qdiscs for each in _emulated(attached)]
    path = to_json(_without_settings(scenario))
    links = path.pop("links", [])
    parts = {
        **{words: [[link.get(key) for key in keys] for link in links] for words, keys in OF_LINKS.items()},
        "the links": [{key: link[key] for key in link if key not in NAMED} for link in links],
        "the rate of a shaper": [each for each in emulated if each[0] in RATES],
        "what netem emulates": [each for each in emulated if each[0] not in RATES],
        **{words: path.pop(key, None) for key, words in OF_SCENARIOS.items()},
        "the network": path,
    }
    return {words: json.dumps(content, sort_keys=True) for words, content in parts.items()}


OF_LINKS = {
    "the rate of a link": ("rate_bps", "trace"),
    "the delay of a link": ("delay_ns",),
    "the losses of a link": ("netem",),
    "the policer of a link": ("police",),
    "the schedule of a link": ("schedule",),
}
NAMED = {key for keys in OF_LINKS.values() for key in keys}
OF_SCENARIOS = {
    "hosts": "the hosts",
    "cells": "the Wi-Fi",
    "traffic": "the traffic",
    "duration_ns": "the duration",
    "traces": "a trace",
    "routes": "the routes",
}
RATES = ("rate", "ceil")


def _without_settings(scenario: Scenario) -> Scenario:
    return replace(
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


def _emulated(attached: AttachedQdisc) -> Iterator[tuple[str, int, int, int]]:
    """What the disciplines of a device emulate: the rates of shapers and of their classes, and netem's options."""
    rate = shaped_rate(attached.root)
    found = [] if rate is None else [("rate", rate)]
    found += [part for node in attached.root.tree for part in _parts(node)]
    return ((name, value, attached.host, attached.link) for name, value in found)


def _parts(node: Qdisc) -> Iterator[tuple[str, int]]:
    if node.kind == "netem":
        yield from ((name, value) for name, value in sorted(node.options.items()) if name != "limit")
    for each in node.classes:
        yield from ((name, each.options[name]) for name in ("ceil", "rate") if name in each.options)

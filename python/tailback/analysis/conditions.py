"""Which axes of a grid somebody at the sending end may choose, and which are given.

A setting is an axis whose values differ in nothing but congestion control, small queue, socket options, sysctls, stack,
offloads, NIC rings, or the disciplines of devices: but for what these emulate, their rates and all of netem. Any other
axis is a condition (rate, delay, hosts, flows, Wi-Fi): one answer holds under each of its values and not across them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Axes = Mapping[str, str]
Scenario = Mapping[str, Any]

CHOSEN = {
    "traffic": ("cc", "tsq", "socket"),
    "hosts": ("sysctl", "stack", "offloads"),
    "links": ("ring", "bql"),
}
"""Keys of the entries of a resolved scenario that are settings."""

OF_THE_OCCASION = ("title", "seed", "record", "kernel")

EMULATED = ("rate",)
"""Options of disciplines that stand for the path."""


def conditions(axes: Sequence[str], runs: Sequence[tuple[Axes, Scenario]]) -> list[str]:
    """Those of `axes` that are conditions, in their order; `runs` are those of one repetition."""
    given = [({axis: place[axis] for axis in axes}, _path(scenario)) for place, scenario in runs]
    return [axis for axis in axes if _changes_path(axis, given)]


def _changes_path(axis: str, given: Sequence[tuple[Axes, str]]) -> bool:
    """Whether two runs that differ in `axis` alone have another path."""
    groups: dict[tuple[tuple[str, str], ...], set[str]] = {}
    for place, path in given:
        others = tuple((name, value) for name, value in place.items() if name != axis)
        groups.setdefault(others, set()).add(path)
    return any(len(paths) > 1 for paths in groups.values())


def _path(scenario: Scenario) -> str:
    """What of a scenario is not a setting, as text."""
    kept = {key: value for key, value in scenario.items() if key not in (*OF_THE_OCCASION, *CHOSEN, "qdiscs")}
    for key, chosen in CHOSEN.items():
        kept[key] = [
            {name: value for name, value in entry.items() if name not in chosen} for entry in scenario.get(key, ())
        ]
    devices = [(entry["host"], entry["link"], _emulated(entry["root"])) for entry in scenario.get("qdiscs", ())]
    kept["emulated"] = [device for device in devices if device[-1]]
    return json.dumps(kept, sort_keys=True)


def _emulated(node: Any) -> list[Any]:
    """What the disciplines of a tree emulate, from the root down."""
    if isinstance(node, list | tuple):
        return [found for each in node for found in _emulated(each)]
    if not isinstance(node, Mapping):
        return []
    options = node.get("options", {})
    names = [name for name in options if node.get("kind") == "netem" and name != "limit"] or EMULATED
    here = [[name, options[name]] for name in sorted(names) if name in options]
    return [*here, *(found for key, value in sorted(node.items()) if key != "options" for found in _emulated(value))]

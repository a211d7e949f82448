"""Settings that were found by turning knobs, as one axis of an experiment file: `vary: {setting: {A: …, B: …}}`."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tailback.scenario import axes as grids
from tailback.scenario.reader import read_yaml

AXIS = "setting"


class Named(Struct, frozen=True):
    """A setting and its name."""

    name: str
    text: str
    choices: Mapping[str, str] = {}


def with_axis(settings: Sequence[Named]) -> str:
    """The file of the first setting with an axis of all of them, in place of the axes that it had; its comments stay.

    Raises `ScenarioError` or `YAMLError` if a setting is no YAML.
    """
    chosen = {each.name: _chosen(each) for each in settings}
    values = {each.name: dict(_scalars(_plain(each.text), "")) for each in settings}
    first = values[settings[0].name]
    yaml = YAML()
    yaml.width = 120
    document = yaml.load(settings[0].text)
    axis: dict[str, dict[str, Any]] = {}
    for name, scalars in values.items():
        changed = {path: value for path, value in scalars.items() if first.get(path) != value}
        # What another setting changed is written in each, so that all say the same keys.
        others = {path for each in values.values() for path, value in each.items() if first.get(path) != value}
        kept = {path: scalars[path] for path in others if path in scalars}
        axis[name] = {**chosen[name], **kept, **changed}
    document["vary"] = {AXIS: axis}
    written = io.StringIO()
    yaml.dump(document, written)
    return written.getvalue()


def _chosen(setting: Named) -> dict[str, Any]:
    """What the chosen values of the axes set, as patches."""
    tree = read_yaml(setting.text, setting.name)
    grid, _ = grids.axes(tree)
    vary = _plain(setting.text).get("vary") or {}
    found: dict[str, Any] = {}
    for axis in grid:
        given = vary[axis.name]
        values = list(given.values()) if isinstance(given, dict) else given
        known = dict(zip((choice.label for choice in axis.choices), values, strict=True))
        label = setting.choices.get(axis.name, axis.choices[0].label)
        value = known.get(label, label)
        # An axis that is called after no key has patches for its values.
        found |= value if grids.target(axis.name, tree) is None else {axis.name: value}
    return found


def _plain(text: str) -> dict[str, Any]:
    found = YAML(typ="safe", pure=True).load(text)
    return found if isinstance(found, dict) else {}


def _scalars(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values of a file by their paths, without those of axes."""
    if isinstance(value, dict):
        for key, child in value.items():
            if path or key != "vary":
                yield from _scalars(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for place, child in enumerate(value):
            yield from _scalars(child, f"{path}[{place}]")
    else:
        yield path.removeprefix("let."), value


__all__ = ["AXIS", "Named", "YAMLError", "with_axis"]

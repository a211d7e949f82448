"""Overrides from the command line: `--set KEY=VALUE`. The value is YAML; overrides apply before all checks.

`KEY` is a path as in `vary`, or a variable of `let`. If it is an axis of the file, the override restricts that axis:
`--set AXIS=LABEL` keeps one of its values, `--set AXIS=[A, B]` several; any other value of a key replaces the axis.
A list of congestion controls is an axis, `--set 'cc=[cubic, {python: ./mine.py}]'`, because a flow has one control. The
file of a control is relative to the working directory here, and relative to the experiment in the experiment file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from tailback.scenario import axes, meant, own_controls, paths
from tailback.scenario.document import Node, at, without, words
from tailback.scenario.errors import Finding, ScenarioError, Where
from tailback.scenario.reader import OVERRIDE, read_value
from tailback.tc.errors import WordError, nearest_hint

_HINT = "write a key, `=` and a value: --set cc=bbr"


def apply(tree: Node, override: str) -> Node:
    """The file with one override applied."""
    where = Where(f"{OVERRIDE}{override}")
    key, equals, text = override.partition("=")
    if not equals:
        raise ScenarioError([Finding(where, "", "has no `=`", _HINT)])
    value = _from_here(read_value(text, override))
    if not value.text:
        value = replace(value, text=words(value) or text.strip())
    try:
        return _applied(tree, paths.canonical(key), value)
    except WordError as error:
        raise ScenarioError([Finding(where, key.strip(), error.message, error.hint)]) from None


def without_effect(overrides: Sequence[str], trees: Sequence[Node], grid: Sequence[axes.Axis]) -> Iterator[Finding]:
    """The overrides that change no configuration, because an axis sets the same key after them. `trees` are the file
    before the first override and after each of them.
    """
    for override, (before, after) in zip(overrides, itertools.pairwise(trees), strict=True):
        if without(before, ("vary",)) == without(after, ("vary",)):
            # It chose among the values of an axis.
            continue
        for axis in grid:
            if all(_hides(choice, before, after) for choice in axis.choices):
                key = override.partition("=")[0].strip()
                one = axis.choices[0].label
                hint = f"choose among its values, --set {axis.name}={one}, or change them in `vary`"
                message = f"has no effect, because every value of the axis `{axis.name}` sets it afterwards"
                yield Finding(Where(f"{OVERRIDE}{override}"), key, message, hint)


def _hides(choice: axes.Choice, before: Node, after: Node) -> bool:
    """Whether the file with this value of an axis is the same before and after an override."""
    try:
        return choice.apply(before) == choice.apply(after)
    except WordError:
        # The override made the place where the axis sets its value.
        return False


def labels(text: str) -> list[str]:
    """The labels of the values in a list, `[cubic, {python: mine.py}]`, as an axis of them has."""
    return [words(element) for element in read_value(text, text).items()]


def _applied(tree: Node, key: str, value: Node) -> Node:
    vary = at(tree, ("vary",))
    axis = vary.entries().get(key) if vary is not None else None
    if vary is not None and axis is not None and not (_lists_controls(key, value) and not _are_labels(axis, value)):
        ruled = {**vary.entries(), key: _ruled(axis, key, value, is_key=axes.target(key, tree) is not None)}
        return replace(tree, value={**tree.entries(), "vary": replace(vary, value=ruled)})
    loc = axes.target(key, tree)
    if loc is None:
        names = [*(vary.entries() if vary is not None else []), *axes.known_names(tree)]
        raise WordError(f"`{key}` names no key", meant.path_hint(key, names))
    if _lists_controls(key, value):
        axis_of_controls = {**(vary.entries() if vary is not None else {}), key: value}
        return replace(tree, value={**tree.entries(), "vary": Node(axis_of_controls, value.where)})
    return axes.lay(tree, loc, value)


def _lists_controls(key: str, value: Node) -> bool:
    loc = paths.parse(key)
    return loc[-1] == "cc" and loc[0] != "vary" and bool(value.items())


def _are_labels(axis: Node, value: Node) -> bool:
    """Whether all elements of `value` are values of the axis."""
    return {words(element) for element in value.items()} <= set(_by_label(axis))


def _from_here(value: Node) -> Node:
    """`value`, in which the names of files of controls are relative to the working directory."""
    if value.items():
        return replace(value, value=[_from_here(element) for element in value.items()])
    if not value.entries():
        return value
    entries = {key: _from_here(child) for key, child in value.entries().items()}
    for key in own_controls.KEYS:
        file = entries.get(key)
        if file is not None and isinstance(file.value, str):
            path = str(Path.cwd() / file.value)
            entries[key] = replace(file, value=path, text=path)
    return replace(value, value=entries)


def _by_label(axis: Node) -> dict[str, Node]:
    return dict(axis.entries()) or {words(element): element for element in axis.items()}


def _ruled(axis: Node, key: str, value: Node, *, is_key: bool) -> Node:
    by_label = _by_label(axis)
    wanted = [words(element) for element in value.items()] or [value.text]
    if all(label in by_label for label in wanted):
        chosen = {label: by_label[label] for label in wanted}
        return replace(axis, value=chosen)
    if is_key:
        return Node({value.text: value}, value.where)
    missing = next(label for label in wanted if label not in by_label)
    raise WordError(f"`{missing}` is not a value of the axis `{key}`", nearest_hint(missing, list(by_label)))

"""Overrides from the command line: `--set KEY=VALUE`. The value is YAML; overrides apply before all checks.

`KEY` is a path as in `vary`, or a variable of `let`. If it is an axis of the file, the override restricts that axis:
`--set AXIS=LABEL` keeps one of its values, `--set AXIS=[A, B]` several; any other value of a key replaces the axis.
A list of congestion controls is an axis, `--set 'cc=[cubic, ./mine.py]'`, because a flow has one control. The file of a
control is relative to the working directory here, and relative to the experiment in the experiment file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from tailback.scenario import axes, meant, own_controls, paths
from tailback.scenario.document import Node, at, is_one_value, without, words
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
    value = read_value(text, override)
    if not value.text and not is_one_value("cc", value):
        value = replace(value, text=text.strip())
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
    if vary is not None and axis is not None:
        ruled = {**vary.entries(), key: _ruled(axis, key, value, is_key=axes.target(key, tree) is not None)}
        return replace(tree, value={**tree.entries(), "vary": replace(vary, value=ruled)})
    loc = axes.target(key, tree)
    if loc is None:
        names = [*(vary.entries() if vary is not None else []), *axes.known_names(tree), *axes.FIXED]
        raise WordError(f"`{key}` names no key", meant.path_hint(key, names))
    value = _from_here(value, key)
    if _lists_controls(key, value):
        axis_of_controls = {**(vary.entries() if vary is not None else {}), key: value}
        return replace(tree, value={**tree.entries(), "vary": Node(axis_of_controls, value.where)})
    return axes.lay(tree, loc, value)


def _lists_controls(key: str, value: Node) -> bool:
    return _is_control(key) and not key.startswith("vary.") and bool(value.items())


def _is_control(key: str) -> bool:
    return key == "cc" or key.endswith(".cc")


def _from_here(value: Node, key: str) -> Node:
    """`value` of a key, in which the names of files of controls are relative to the working directory."""
    if value.items():
        return replace(value, value=[_from_here(element, key) for element in value.items()])
    if _is_control(key):
        value = own_controls.as_mapping(value)
    if not value.entries():
        return value
    # A mapping under `cc` that is not a control has labels and their controls.
    labelled = _is_control(key) and not is_one_value("cc", value)
    entries = {name: _from_here(child, key if labelled else name) for name, child in value.entries().items()}
    for name in own_controls.KEYS:
        file = entries.get(name)
        if file is not None and isinstance(file.value, str):
            path = str(Path.cwd() / file.value)
            entries[name] = replace(file, value=path, text=path)
    return replace(value, value=entries)


def _by_label(axis: Node) -> dict[str, Node]:
    return dict(axis.entries()) or {words(element): element for element in axis.items()}


def _ruled(axis: Node, key: str, value: Node, *, is_key: bool) -> Node:
    """The axis with the values that `value` chooses, or with `value` in their place."""
    by_label = _by_label(axis)
    wanted = value.items() or [value]
    chosen = [_chosen(by_label, element) for element in wanted]
    if all(label is not None for label in chosen):
        return replace(axis, value={label: by_label[label] for label in chosen if label is not None})
    if _lists_controls(key, value):
        pairs = zip(chosen, wanted, strict=True)
        return replace(
            value, value=[_from_here(each, key) if label is None else by_label[label] for label, each in pairs]
        )
    if is_key:
        return Node({words(value) or value.text: _from_here(value, key)}, value.where)
    missing = next(words(each) for label, each in zip(chosen, wanted, strict=True) if label is None)
    raise WordError(f"`{missing}` is not a value of the axis `{key}`", nearest_hint(missing, list(by_label)))


def _chosen(by_label: Mapping[str, Node], value: Node) -> str | None:
    """The label of the value of an axis that `value` names: by the label itself, or as the same control."""
    if value.text in by_label:
        return value.text
    label = words(value)
    known = by_label.get(label)
    return label if known is not None and _is_same(known, _from_here(value, "cc")) else None


def _is_same(known: Node, given: Node) -> bool:
    """Whether two values with one label are the same; files of one name may be different ones."""
    sides = [own_controls.as_mapping(each).entries() for each in (known, given)]
    files = [[each[key] for key in own_controls.KEYS if key in each] for each in sides]
    if not any(files):
        return True
    kinds = [[key for key in own_controls.KEYS if key in each] for each in sides]
    return kinds[0] == kinds[1] and [_path(file) for file in files[0]] == [_path(file) for file in files[1]]


def _path(file: Node) -> Path:
    """The file that is named relative to the file of the node; one of an override is absolute."""
    return (Path(file.where.file).parent / str(file.value)).resolve()

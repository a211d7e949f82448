"""The axes of a grid, from `vary`, and the variants of the file that they produce.

    vary:
      cc: [cubic, bbr]                        a key of the file, or a variable of `let`
      tsq: {TSQ: 1ms, NoTSQ: off}             the same, with your own labels
      bottleneck:                             a name that is neither: each label patches several keys at once
        L10M: {qdiscs: {client -> router: htb rate 10mbit}}
        R10M: {qdiscs: {router -> server: htb rate 10mbit}}
        none: {}                              the file as it is

`cc`, `tsq` and `offloads` as an axis (or in `--set`) apply to every flow and host, even to those with their own
setting; otherwise an axis could silently change nothing. To vary a single flow, name it: `traffic[0].cc`.

The runs are the cross product; the last axis varies fastest. Patches are merged into the file in the order of the
axes (`document.merge`). `--set AXIS=LABEL` keeps one value of an axis, `--set AXIS=[A, B]` keeps several.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from tailback.scenario import defaults, meant, paths
from tailback.scenario.document import Node, at, is_one_value, plain, put, without, words
from tailback.scenario.errors import Finding, ScenarioError
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Keys
from tailback.tc.errors import WordError
from tailback.tc.units import shown

#: More configurations than this are taken for a mistake, and refused before they use up the memory.
MAX_VARIANTS = 100_000

#: Flow settings that can be given for the whole file, for a host, or for a flow.
FOR_ALL_FLOWS = ("cc", "tsq", "offloads")

#: Keys that apply to the whole grid and therefore cannot vary.
FIXED = ("title", "vary", "repeat", "seed")


class Choice(Struct, frozen=True):
    """One value of an axis: the patches that it applies to the file, each with its location."""

    label: str
    patches: tuple[tuple[Loc, Node], ...]

    def apply(self, tree: Node) -> Node:
        """Returns the file with this value."""
        for loc, patch in self.patches:
            tree = lay(tree, loc, patch)
        return tree


class Axis(Struct, frozen=True):
    """One axis of the grid."""

    name: str
    choices: tuple[Choice, ...]


class Variant(Struct, frozen=True):
    """The file of one configuration, and the labels that identify it."""

    labels: dict[str, str]
    tree: Node


class Refused(Exception):
    """An axis or an override that cannot be used."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def lay(tree: Node, loc: Loc, patch: Node) -> Node:
    """Merges a patch at `loc`. A setting for all flows replaces the settings of single flows and hosts."""
    if len(loc) == 1 and loc[0] in FOR_ALL_FLOWS:
        tree = _without_own_settings(tree, loc[0])
    return put(tree, loc, patch)


def _without_own_settings(tree: Node, key: str | int) -> Node:
    """Removes a setting from all flows and hosts."""
    entries = dict(tree.entries())
    traffic, hosts = entries.get("traffic"), entries.get("hosts")
    if traffic is not None and traffic.items():
        entries["traffic"] = replace(traffic, value=[without(flow, (key,)) for flow in traffic.items()])
    if hosts is not None and hosts.entries():
        own = {name: without(host, (key,)) for name, host in hosts.entries().items()}
        entries["hosts"] = settings_left(hosts, own)
    return replace(tree, value=entries)


def settings_left(hosts: Node, own: Mapping[str, Node | None]) -> Node:
    """`hosts` with the settings in `own`, which are fewer, or None for a host that is invalid as a whole. A host that
    has none left gets one that changes nothing: a host without settings makes `hosts` the list of all hosts.
    """
    kept: dict[str, Node] = {}
    for name, host in hosts.entries().items():
        left = own[name]
        if left is None or (host.entries() and not left.entries()):
            left = Node({"stack": Node(defaults.STACK, host.where, defaults.STACK)}, host.where)
        kept[name] = left
    return replace(hosts, value=kept)


def target(name: str, tree: Node) -> Loc | None:
    """Returns the location of a key or of a variable of `let`; None if the name is neither."""
    loc = paths.parse(name)
    if loc[0] in Keys.model_fields:
        return loc
    variables = at(tree, ("let",))
    return ("let", *loc) if variables is not None and loc[0] in variables.entries() else None


def known_names(tree: Node) -> list[str]:
    """The names that `target` resolves."""
    variables = at(tree, ("let",))
    own = list(variables.entries()) if variables is not None else []
    return [*own, *(key for key in Keys.model_fields if key not in FIXED)]


def axes(tree: Node) -> tuple[list[Axis], list[Finding]]:
    """The axes of a file, and the errors in them."""
    vary = at(tree, ("vary",))
    if vary is None or vary.value is None:
        return [], []
    if not isinstance(vary.value, dict):
        message = f"`{shown(vary.text)}` is not a set of axes" if vary.text else "is not a set of axes"
        return [], [Finding(vary.where, "vary", message, "write vary: {cc: [cubic, bbr]}")]
    good: list[Axis] = []
    wrong: list[Finding] = []
    for name, values in vary.value.items():
        try:
            good.append(_axis(name, values, tree))
        except Refused as error:
            wrong.append(error.finding)
    count = math.prod(len(axis.choices) for axis in good)
    if count > MAX_VARIANTS:
        hint = f"at most {MAX_VARIANTS}: vary fewer keys at once"
        return [], [*wrong, Finding(vary.where, "vary", f"makes {count} configurations", hint)]
    return good, wrong


def variants(tree: Node, grid: list[Axis]) -> Iterator[Variant]:
    """Yields the file of each configuration of the grid; raises `ScenarioError` if a value of an axis has no place in
    what axes before it have set.
    """
    for choices in itertools.product(*(axis.choices for axis in grid)):
        labels = {axis.name: choice.label for axis, choice in zip(grid, choices, strict=True)}
        patched = tree
        for name, choice in zip(labels, choices, strict=True):
            try:
                patched = choice.apply(patched)
            except WordError as error:
                raise ScenarioError([_no_place(name, choice, labels, error)]) from None
        yield Variant(labels, patched)


def _no_place(name: str, choice: Choice, labels: Mapping[str, str], error: WordError) -> Finding:
    """A value that could be set in the file alone, but not after the axes before it."""
    before = itertools.takewhile(lambda axis: axis != name, labels)
    after = ", ".join(f"`{axis}: {labels[axis]}`" for axis in before)
    return _refused(name, choice.patches[0][1], f"{error.message} after {after}", error.hint).finding


def _axis(name: str, values: Node, tree: Node) -> Axis:
    try:
        loc = target(name, tree)
    except WordError as error:
        raise _refused(name, values, error.message, error.hint) from None
    if loc is not None and loc[0] in FIXED:
        raise _refused(name, values, f"`{loc[0]}` is the same for all runs", f"it cannot vary; set `{loc[0]}` itself")
    labelled = _labelled(name, values, by_name=loc is None, tree=tree)
    choices = [
        _named(f"{name}.{label}", label, value, tree) if loc is None else Choice(label, ((loc, value),))
        for label, value in labelled
    ]
    for choice, (_, value) in zip(choices, labelled, strict=True):
        _try(name, choice, value, tree)
    return Axis(name, tuple(choices))


def _labelled(name: str, values: Node, *, by_name: bool, tree: Node) -> list[tuple[str, Node]]:
    is_scalar = not isinstance(values.value, dict | list)
    if is_scalar and values.text and not by_name:
        hint = f"write a list of values: {name}: [{shown(values.text)}, ...]"
        raise _refused(name, values, f"`{shown(values.text)}` is a single value, not a list", hint)
    if not (values.items() or values.entries() or (is_scalar and values.text)):
        raise _refused(
            name, values, "has no values", "give a list, [cubic, bbr], or labels with values, {A: ..., B: ...}"
        )
    if is_one_value(paths.parse(name)[-1], values):
        kind, one = next(iter(values.entries().items()))
        hint = f"write a list of values: {name}: [{{{kind}: {one.text}, ...}}]"
        raise _refused(name, values, f"`{words(values)}` is a single value, not a set of labels", hint)
    if isinstance(values.value, dict):
        return list(values.value.items())
    if by_name:
        near = meant.path_hint(name, known_names(tree))
        hint = f"{near}; an axis of your own needs labels: {{A: {{cc: bbr}}, B: ...}}"
        raise _refused(name, values, f"`{name}` names no key and no variable", hint)
    labels = [_label(name, value) for value in values.items()]
    for label, count in Counter(labels).items():
        if count > 1:
            same = [value for value in values.items() if _label(name, value) == label]
            raise _refused(name, values, f"has the value `{label}` twice", _remedy(name, same))
    return list(zip(labels, values.items(), strict=True))


def _remedy(name: str, same: list[Node]) -> str:
    """What to do about values with one label: they may be different files of one name."""
    if all(plain(value) == plain(same[0]) for value in same):
        return "remove one of the two"
    old, new = (json.dumps(plain(value)).replace('"', "") for value in same[:2])
    return f"give them labels: {name}: {{old: {old}, new: {new}}}"


def _label(name: str, value: Node) -> str:
    label = words(value)
    if not label:
        raise _refused(name, value, "has a value that is not a single word", "give it a label: {LABEL: value}")
    return label


def _named(path: str, label: str, value: Node, tree: Node) -> Choice:
    if not isinstance(value.value, dict):
        hint = f"write the keys it sets: {label}: {{cc: bbr}}; the file as it is: {label}: {{}}"
        raise _refused(path, value, "sets no key", hint)
    return Choice(label, tuple(_patch(f"{path}.{key}", key, child, tree) for key, child in value.entries().items()))


def _patch(path: str, key: str, value: Node, tree: Node) -> tuple[Loc, Node]:
    try:
        # A name that is neither key nor variable stays where it is, and is found when the whole file is checked.
        loc = target(key, tree) or paths.parse(key)
    except WordError as error:
        raise _refused(path, value, error.message, error.hint) from None
    if loc[0] in FIXED:
        raise _refused(path, value, f"`{loc[0]}` is the same for all runs", "it cannot be part of an axis")
    return loc, value


def _try(name: str, choice: Choice, value: Node, tree: Node) -> None:
    try:
        choice.apply(tree)
    except WordError as error:
        raise _refused(name, value, error.message, error.hint) from None


def _refused(name: str, node: Node, message: str, hint: str) -> Refused:
    return Refused(Finding(node.where, f"vary.{name}", message, hint))

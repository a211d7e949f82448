"""The experiment file as a tree in which every value has its position in the file.

Patches (`vary`, `--set`) are merged into the tree and keep their own position, so that a wrong value in a patch is
reported at the line of the patch. Merging follows the rules of a JSON merge patch [rfc7396 §2]: mappings merge key
by key, `null` removes a key, and anything else, including a list, replaces the old value. A control or a driver with
options, `cc: {name: cubic, hystart: 0}`, is replaced as a whole, because the options of two algorithms do not mix.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from tailback.scenario.errors import Where
from tailback.scenario.paths import Loc, show
from tailback.tc.errors import WordError

Scalar = str | int | float | bool | None

#: Keys whose mapping with a `name`, or with the file of a control, is one value.
NAMED = ("cc", "driver")
NAMES = ("name", "python", "module", "bpf")
#: The suffixes of the files of controls.
SUFFIXES = (".py", ".c")


class Node(Struct, frozen=True):
    """A value, the position of its key, and (for a scalar) its text as written."""

    value: Scalar | dict[str, Node] | list[Node]
    where: Where
    text: str = ""

    def entries(self) -> Mapping[str, Node]:
        """The entries of a mapping; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    def items(self) -> list[Node]:
        """The elements of a list; empty for anything else."""
        return self.value if isinstance(self.value, list) else []


def plain(node: Node) -> object:
    """The tree as plain values, without positions."""
    if isinstance(node.value, dict):
        return {key: plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain(child) for child in node.value]
    return node.value


def nearest(node: Node, loc: Loc) -> Node:
    """The node at `loc`, or the deepest existing one above it."""
    for step in loc:
        child = _child(node, step)
        if child is None:
            return node
        node = child
    return node


def at(node: Node, loc: Loc) -> Node | None:
    """The node at `loc`; None if there is none."""
    found: Node | None = node
    for step in loc:
        if found is None:
            return None
        found = _child(found, step)
    return found


def merge(base: Node | None, patch: Node) -> Node:
    """`base` with `patch` merged into it."""
    if not isinstance(patch.value, dict):
        return patch
    merged = dict(base.entries()) if base is not None else {}
    for key, child in patch.value.items():
        if child.value is None:
            merged.pop(key, None)
        else:
            merged[key] = _laid(key, merged.get(key), child)
    return replace(base if base is not None else patch, value=merged)


def words(node: Node) -> str:
    """A value as labels show it: the text of a scalar; `cubic hystart 0` for a mapping with a name; `mine.py beta 0.7`
    for a control of the user, also for one in words, `./mine.py beta 0.7`.
    """
    naming = _naming(node)
    if naming is None:
        first, *rest = node.text.split(" ")
        return " ".join([PurePath(first).name, *rest]) if first.endswith(SUFFIXES) else node.text
    options = [f"{key} {child.text}" for key, child in node.entries().items() if key != naming]
    text = node.entries()[naming].text
    return " ".join([text if naming == "name" else PurePath(text).name, *options])


def is_one_value(key: str | int, node: Node) -> bool:
    """Whether the mapping `node` under `key` is one value: a control or a driver with its options."""
    return key in NAMED and _naming(node) is not None


def _naming(node: Node) -> str | None:
    return next((name for name in NAMES if name in node.entries()), None)


def _laid(key: str, base: Node | None, patch: Node) -> Node:
    return patch if is_one_value(key, patch) else merge(base, patch)


def put(base: Node, loc: Loc, patch: Node) -> Node:
    """`base` with `patch` merged at `loc`; missing mappings on the path are created, list elements are not."""
    return _put(base, loc, 0, patch)


def without(base: Node, loc: Loc) -> Node:
    """`base` without the mapping entry at `loc`; unchanged if that is not an entry of a mapping."""
    parent = at(base, loc[:-1]) if loc else None
    if parent is None or loc[-1] not in parent.entries():
        return base
    left = {key: child for key, child in parent.entries().items() if key != loc[-1]}
    return _replaced(base, loc[:-1], replace(parent, value=left))


def _put(base: Node, loc: Loc, depth: int, patch: Node) -> Node:
    if depth == len(loc):
        return _laid(str(loc[-1]) if loc else "", base, patch)
    step = loc[depth]
    if isinstance(step, int):
        return _put_element(base, loc, depth, patch)
    if not isinstance(base.value, dict):
        raise _no_mapping(base, loc, depth)
    entries = dict(base.value)
    if depth + 1 == len(loc) and patch.value is None:
        entries.pop(step, None)
    else:
        child = entries.get(step, Node({}, patch.where))
        if child.value is None:
            child = Node({}, patch.where)
        entries[step] = _put(child, loc, depth + 1, patch)
    return replace(base, value=entries)


def _no_mapping(base: Node, loc: Loc, depth: int) -> WordError:
    """What is wrong with a path that has a key where `base` has none: a list has numbers."""
    step = loc[depth]
    if isinstance(base.value, list) and str(step).isdecimal():
        number = (*loc[:depth], int(step), *loc[depth + 1 :])
        return WordError(
            f"`{show(loc[:depth])}` is a list", f"write the number of an element in brackets: {show(number)}"
        )
    return WordError(f"`{show(loc[:depth])}` is not a mapping", f"it has no key `{step}`; set the whole value")


def _put_element(base: Node, loc: Loc, depth: int, patch: Node) -> Node:
    step, elements = loc[depth], list(base.items())
    assert isinstance(step, int)
    if step >= len(elements):
        has = f"{len(elements)} element{'' if len(elements) == 1 else 's'}, numbered from 0"
        raise WordError(f"there is no `{show(loc[: depth + 1])}`", f"`{show(loc[:depth])}` has {has}")
    elements[step] = _put(elements[step], loc, depth + 1, patch)
    return replace(base, value=elements)


def _replaced(base: Node, loc: Loc, new: Node) -> Node:
    if not loc:
        return new
    step = loc[0]
    if isinstance(step, int):
        elements = list(base.items())
        elements[step] = _replaced(elements[step], loc[1:], new)
        return replace(base, value=elements)
    entries = dict(base.entries())
    entries[step] = _replaced(entries[step], loc[1:], new)
    return replace(base, value=entries)


def _child(node: Node, step: str | int) -> Node | None:
    if isinstance(step, str):
        return node.entries().get(step)
    elements = node.items()
    return elements[step] if 0 <= step < len(elements) else None

"""Short forms for networks and for many hosts, expanded to plain links and entries before the file is checked.

`{dumbbell: 4, rate: 10mbit, access: {rate: 1gbit}}` becomes `sender1` … `sender4` at `left`, `receiver1` … `receiver4`
at `right`, and the link between `left` and `right` with the other keys.

`{parking_lot: 3, rate: 10mbit, access: {...}}` becomes `router1` … `router4` in a row, with `sender` at the first and
`receiver` at the last. `cross1` … `cross3` are at the router before link 1 … 3, and `sink1` … `sink3` at the one after.

`{star: 8, rate: 1gbit}` becomes `host1` … `host8`, each with a link to `hub`.

`access` has the keys of the links of the hosts, otherwise these have neither rate nor delay.

`sender1..8` stands for `sender1` to `sender8`: in `ends` of a link, among the hosts of a `lan` and the stations of
`wifi`, in the names of `hosts`, in devices of `qdiscs`, and in the direction of an entry of `traffic`. Two ranges of
the same length are taken in pairs, `sender1..8 -> receiver1..8`; a range beside a single host gives an entry for each.
`sender[1..8]` is the same, but YAML wants quotes around it inside braces. A named entry of `traffic` gets names with
numbers: `bulk.1`, `bulk.2`.

Everything that comes from an entry has the position of that entry, so that errors name its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tailback.scenario.document import Node
from tailback.scenario.errors import Finding
from tailback.scenario.paths import Loc, show
from tailback.tc.errors import WordError
from tailback.tc.units import shown

MOST = 1000
"""Maximum number of hosts that one entry stands for."""

_RANGE = (
    r"(?P<stem>[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z_-])?)"
    r"(?:\[(?P<a>[0-9]+)\.\.(?P<b>[0-9]+)\]|(?P<c>[0-9]+)\.\.(?P<d>[0-9]+))"
)
_ARROW = re.compile(r"\s*->\s*")


T = TypeVar("T")


class Expansion:
    """Expands the short forms of a tree, and collects errors."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def apply(self, tree: Node) -> Node:
        """The tree without short forms."""
        entries = dict(tree.entries())
        for key, expand in _LISTS.items():
            if key in entries and entries[key].items():
                entries[key] = replace(entries[key], value=list(self._elements(key, entries[key], expand)))
        for key, words in _MAPPINGS.items():
            if key in entries and entries[key].entries():
                entries[key] = replace(entries[key], value=self._entries(key, entries[key], words))
        return replace(tree, value=entries) if entries != tree.value else tree

    def _elements(self, key: str, node: Node, expand: Callable[[Node], Iterator[Node]]) -> Iterator[Node]:
        for index, entry in enumerate(node.items()):
            yield from self._made_or_noted((key, index), entry, partial(_listed, expand, entry)) or ()

    def _entries(self, key: str, node: Node, words: Callable[[str], list[str]]) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for name, entry in node.entries().items():
            names = self._made_or_noted((key, name), entry, partial(words, name))
            found |= dict.fromkeys(names or [name], entry)
        return found

    def _made_or_noted(self, loc: Loc, entry: Node, make: Callable[[], list[T]]) -> list[T] | None:
        try:
            return make()
        except WordError as error:
            self.findings.append(Finding(entry.where, show(loc), error.message, error.hint))
            return None


def _listed(expand: Callable[[Node], Iterator[Node]], entry: Node) -> list[Node]:
    return list(expand(entry))


def hosts_of(word: str) -> list[str]:
    """The hosts that a word stands for: itself, or those of a range."""
    match = re.fullmatch(_RANGE, word.strip()) if ".." in word else None
    if match is None:
        return [word]
    first, last = (int(match[one] or match[other]) for one, other in (("a", "c"), ("b", "d")))
    if last < first or last - first >= MOST:
        hint = f"write the smaller number first, and at most {MOST} hosts: {match['stem']}1..8"
        raise WordError(f"`{shown(word)}` is not a range of hosts", hint)
    return [f"{match['stem']}{number}" for number in range(first, last + 1)]


def arrows_of(word: str) -> list[str]:
    """The directions that `A -> B` stands for."""
    ends = _ARROW.split(word)
    if len(ends) != 2:
        return [word]
    sides = [hosts_of(end) for end in ends]
    if all(len(side) == 1 for side in sides):
        return [word]
    return [f"{source} -> {target}" for source, target in _paired(word, *sides)]


def _paired(word: str, left: list[str], right: list[str]) -> Iterator[tuple[str, str]]:
    if len(left) != len(right) and 1 not in (len(left), len(right)):
        hint = "give both the same number of hosts, or one of them a single host"
        raise WordError(f"`{shown(word)}` pairs {len(left)} hosts with {len(right)}", hint)
    many = max(len(left), len(right))
    return zip(left * (many // len(left)), right * (many // len(right)), strict=True)


def _traffic(entry: Node) -> Iterator[Node]:
    """One entry for each direction that the entry stands for, with a number in its name if it has one."""
    kind = next((key for key, child in entry.entries().items() if "->" in str(child.value)), None)
    arrows = arrows_of(str(entry.entries()[kind].value)) if kind is not None else []
    if kind is None or len(arrows) < 2:
        yield entry
        return
    for number, arrow in enumerate(arrows, 1):
        own = dict(entry.entries())
        own[kind] = replace(own[kind], value=arrow, text=arrow)
        if "name" in own:
            name = f"{own['name'].value}.{number}"
            own["name"] = replace(own["name"], value=name, text=name)
        yield replace(entry, value=own)


def _links(entry: Node) -> Iterator[Node]:
    """The links that an entry stands for."""
    shape = next((name for name in SHAPES if name in entry.entries()), None)
    if shape is not None:
        yield from _shaped(entry, shape)
        return
    if "wifi" in entry.entries() or "lan" in entry.entries():
        yield _many(entry, "lan")
        return
    ends = entry.entries().get("ends")
    if ends is None or len(ends.items()) != 2:
        yield entry
        return
    sides = [hosts_of(str(end.value)) for end in ends.items()]
    if all(len(side) == 1 for side in sides):
        yield entry
        return
    own = {key: child for key, child in entry.entries().items() if key != "ends"}
    for pair in _paired(" – ".join(str(end.value) for end in ends.items()), *sides):
        yield _link(entry, pair, own)


def _many(node: Node, whole: str = "") -> Node:
    """A segment or a cell, with the hosts of the ranges in its lists and in the keys of its mappings; at the key
    `whole` one range may stand for a list.
    """
    if isinstance(node.value, list):
        return replace(node, value=[host for each in node.items() for host in _each(each)])
    if not isinstance(node.value, dict):
        return node
    found: dict[str, Node] = {}
    for key, child in node.entries().items():
        is_range = key == whole and isinstance(child.value, str)
        made = replace(child, value=list(_each(child)), text="") if is_range else _many(child, _WHOLE.get(key, ""))
        found |= dict.fromkeys(hosts_of(key), made)
    return replace(node, value=found)


_WHOLE = {"wifi": "stations"}
"""Keys with a mapping one of whose keys has a list of hosts."""


def _each(node: Node) -> Iterator[Node]:
    """The hosts of an element of a list; other elements as they are."""
    if not isinstance(node.value, str):
        yield _many(node)
        return
    for host in hosts_of(node.value):
        yield replace(node, value=host, text=host) if host != node.value else node


def _shaped(entry: Node, shape: str) -> Iterator[Node]:
    keys = dict(entry.entries())
    number, access = keys.pop(shape), keys.pop("access", None)
    if isinstance(number.value, bool) or not isinstance(number.value, int) or not 1 <= number.value <= MOST:
        what = f"`{shape}: {shown(number.text)}` is not a number of {SHAPES[shape].counts}"
        raise WordError(what, f"write 1 to {MOST}: {shape}: 4")
    if access is not None and not SHAPES[shape].has_access:
        raise WordError(f"a `{shape}` has one kind of link", f"write the keys of `access` beside `{shape}`")
    if access is not None and not isinstance(access.value, dict):
        raise WordError("`access` is not a mapping", "write keys of links: access: {rate: 1gbit, delay: 1ms}")
    for ends, is_access in SHAPES[shape].ends(number.value):
        own = dict(access.entries()) if is_access and access is not None else {} if is_access else keys
        yield _link(entry, ends, own)


def _link(entry: Node, ends: tuple[str, str], keys: Mapping[str, Node]) -> Node:
    named = [Node(end, entry.where, end) for end in ends]
    return replace(entry, value={"ends": Node(named, entry.where), **keys}, text="")


Ends = Iterator[tuple[tuple[str, str], bool]]
"""The ends of each link, and whether it is that of a host."""


def _dumbbell(pairs: int) -> Ends:
    yield from (((f"sender{number}", "left"), True) for number in range(1, pairs + 1))
    yield ("left", "right"), False
    yield from ((("right", f"receiver{number}"), True) for number in range(1, pairs + 1))


def _parking_lot(hops: int) -> Ends:
    yield ("sender", "router1"), True
    for hop in range(1, hops + 1):
        yield (f"cross{hop}", f"router{hop}"), True
        yield (f"router{hop}", f"router{hop + 1}"), False
        yield (f"router{hop + 1}", f"sink{hop}"), True
    yield (f"router{hops + 1}", "receiver"), True


def _star(hosts: int) -> Ends:
    yield from (((f"host{number}", "hub"), False) for number in range(1, hosts + 1))


class Shape(Struct, frozen=True):
    """A short form of `links`."""

    ends: Callable[[int], Ends]
    counts: str
    """What its number counts."""
    text: str
    """What it becomes."""
    has_access: bool = True
    """Whether the links of the hosts have keys of their own."""


SHAPES: Mapping[str, Shape] = {
    "dumbbell": Shape(
        _dumbbell, "pairs of hosts",
        "Pairs of hosts on both sides of one link: sender1 … at left, receiver1 … at right.",
    ),
    "parking_lot": Shape(
        _parking_lot, "bottlenecks",
        "Links in a row, router1 … : sender and receiver at the ends; cross1 … and sink1 … at the ends of each link.",
    ),
    "star": Shape(_star, "hosts", "Hosts with a link each to the host hub: host1 … .", has_access=False),
}  # fmt: skip

_LISTS: Mapping[str, Callable[[Node], Iterator[Node]]] = {"links": _links, "traffic": _traffic}
_MAPPINGS: Mapping[str, Callable[[str], list[str]]] = {"hosts": hosts_of, "qdiscs": arrows_of}

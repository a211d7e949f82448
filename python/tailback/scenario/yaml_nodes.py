"""The nodes of a YAML document: events of PyYAML's parser, that of libyaml first, with the tags of YAML 1.2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import yaml

Node: TypeAlias = Any
"""A node of PyYAML, with the attributes `id`, `tag`, `value` and `start_mark`; a scalar has an `end_mark`, too."""

Loader: TypeAlias = Any
"""A parser of PyYAML: that of libyaml, or that in Python."""

#: What `id` of a node is.
SCALAR, SEQUENCE, MAPPING = "scalar", "sequence", "mapping"

TAG = "tag:yaml.org,2002:"


LONGEST_READ_AGAIN = 100_000
"""Characters of a text that the parser in Python reads after libyaml refused it; it takes a second for them."""


class TooLarge(Exception):
    """The document has too many nodes, or is nested too deeply."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def compose(text: str, most_nodes: int, deepest: int) -> Node | None:
    """The root of the only document in a text; None if it is empty. Raises `TooLarge`, or `YAMLError`."""
    if not yaml.__with_libyaml__:
        return _Composer(most_nodes, deepest).document(text, yaml.Loader)
    try:
        return _Composer(most_nodes, deepest).document(text, yaml.CLoader)
    except yaml.YAMLError:
        if len(text) > LONGEST_READ_AGAIN:
            raise
        # It also reads characters that JSON escapes in two halves, and says more of what it refuses.
        return _Composer(most_nodes, deepest).document(text, yaml.Loader)


class _Composer:
    """Builds nodes from events without recursion; libyaml's own composer overflows the stack on deep input."""

    def __init__(self, most_nodes: int, deepest: int) -> None:
        self._most, self._deepest = most_nodes, deepest
        self._nodes = 0
        self._anchors: dict[str, Node] = {}
        self._open: list[Node] = []
        self._keys: list[Node | None] = []
        """For each open mapping, the key that still needs its value."""
        self._root: Node | None = None

    def document(self, text: str, loader: Callable[[str], Loader]) -> Node | None:
        for event in _events(loader(text)):
            if isinstance(event, yaml.NodeEvent):
                self._node(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._open.pop()
                self._keys.pop()
            elif isinstance(event, yaml.DocumentStartEvent) and self._root is not None:
                raise yaml.MarkedYAMLError(None, None, "but found another document", event.start_mark)
        return self._root

    def _node(self, event: yaml.NodeEvent) -> None:
        self._nodes += 1
        if self._nodes > self._most or len(self._open) > self._deepest:
            raise TooLarge(event.start_mark.line + 1)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise yaml.MarkedYAMLError(None, None, f"found undefined alias {event.anchor!r}", event.start_mark)
            self._place(self._anchors[event.anchor])
            return
        node = _node_of_event(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._place(node)
        if not isinstance(node, yaml.ScalarNode):
            self._open.append(node)
            self._keys.append(None)

    def _place(self, node: Node) -> None:
        if not self._open:
            self._root = node
            return
        around = self._open[-1]
        if isinstance(around, yaml.SequenceNode):
            around.value.append(node)
        elif (key := self._keys[-1]) is None:
            self._keys[-1] = node
        else:
            around.value.append((key, node))
            self._keys[-1] = None


def _events(parser: Loader) -> Iterator[Any]:
    try:
        while parser.check_event():
            yield parser.get_event()
    finally:
        parser.dispose()


def _node_of_event(event: Any) -> Node:
    tag = None if event.tag == "!" else event.tag
    if isinstance(event, yaml.ScalarEvent):
        plain = event.implicit[0] or event.tag == "!"
        known = tag or (_tag_of(event.value) if plain else f"{TAG}str")
        return yaml.ScalarNode(known, event.value, event.start_mark, event.end_mark)
    if isinstance(event, yaml.SequenceStartEvent):
        return yaml.SequenceNode(tag or f"{TAG}seq", [], event.start_mark)
    return yaml.MappingNode(tag or f"{TAG}map", [], event.start_mark, flow_style=event.flow_style)


_TYPED = re.compile(
    r"(?P<null>~|null|Null|NULL|)"
    r"|(?P<bool>true|True|TRUE|false|False|FALSE)"
    r"|(?P<merge><<)"
    r"|(?P<int>[-+][0-9_]+|[0-9][0-9_]*|[-+]?0b[01_]+|[-+]?0o[0-7_]+|[-+]?0x[0-9a-fA-F_]+)"
    r"|(?P<float>[-+]?[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
    r"|[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
"""Plain scalars that are not text [yaml-1.2 §10.3.2], and `_` in numbers, `0b1`, `<<`."""


def _tag_of(text: str) -> str:
    """The tag of a plain scalar."""
    found = _TYPED.fullmatch(text)
    return f"{TAG}{found.lastgroup if found else 'str'}"

"""The nodes of a YAML document.

Two parsers are used. libyaml, through PyYAML, is twenty times as fast as ruamel.yaml, so it comes first; its events
become nodes with the tags of YAML 1.2. If it fails, ruamel.yaml reads the text again, because it supports more of YAML
1.2 and has better error messages; long texts are not read again, because that would take minutes. Without libyaml,
ruamel.yaml reads everything. It is imported only then.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml

Node: TypeAlias = Any
"""A node of either parser; both have the attributes `id`, `tag`, `value` and `start_mark`."""

#: What `id` of a node is.
SCALAR, SEQUENCE, MAPPING = "scalar", "sequence", "mapping"

TAG = "tag:yaml.org,2002:"
LONGEST_READ_TWICE = 100_000
"""Maximum number of characters for the second parser, which takes about a second for them."""


class TooLarge(Exception):
    """The document has too many nodes, or is nested too deeply."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def compose(text: str, most_nodes: int, deepest: int) -> Node | None:
    """The root of the only document in a text; None if it is empty.

    Raises `TooLarge`, or `YAMLError` of PyYAML. On malformed input ruamel.yaml may raise any exception.
    """
    if yaml.__with_libyaml__:
        try:
            return _Composer(most_nodes, deepest).document(text)
        except (yaml.YAMLError, UnicodeError):
            if len(text) > LONGEST_READ_TWICE:
                raise
    return composed_thoroughly(text)


def composed_thoroughly(text: str) -> Node | None:
    """The tree of a text, read by ruamel.yaml, whose errors become those of PyYAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            composed: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        raise yaml.MarkedYAMLError(error.context, error.context_mark, error.problem, error.problem_mark) from error
    except YAMLError as error:
        raise yaml.YAMLError(str(error)) from error
    return composed


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

    def document(self, text: str) -> Node | None:
        for event in _events(text):
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
                raise yaml.MarkedYAMLError(None, None, "found undefined alias", event.start_mark)
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


def _events(text: str) -> Iterator[Any]:
    parser = yaml.cyaml.CParser(text)
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
        return yaml.ScalarNode(known, event.value, event.start_mark)
    if isinstance(event, yaml.SequenceStartEvent):
        return yaml.SequenceNode(tag or f"{TAG}seq", [], event.start_mark)
    return yaml.MappingNode(tag or f"{TAG}map", [], event.start_mark)


_TYPED = re.compile(
    r"(?P<null>~|null|Null|NULL|)"
    r"|(?P<bool>true|True|TRUE|false|False|FALSE)"
    r"|(?P<merge><<)"
    r"|(?P<int>[-+][0-9_]+|[0-9][0-9_]*|[-+]?0b[01_]+|[-+]?0o[0-7_]+|[-+]?0x[0-9a-fA-F_]+)"
    r"|(?P<float>[-+]?[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
    r"|[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
"""Plain scalars that are not text [yaml-1.2 §10.3.2], with ruamel.yaml's additions: `_` in numbers, `0b1`, `<<`."""


def _tag_of(text: str) -> str:
    """The tag of a plain scalar."""
    found = _TYPED.fullmatch(text)
    return f"{TAG}{found.lastgroup if found else 'str'}"

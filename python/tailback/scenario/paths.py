"""Paths of keys: `cc`, `links[0].delay`, `qdiscs.client -> router`, `hosts.client.sysctl.net.ipv4.tcp_rmem`.

Steps are separated by dots; `[2]` is an element of a list, numbered from 0; `["a.b"]` is a key that contains a dot.
Everything after `sysctl` or a leading `vary` is one key, including its dots. Spaces around `->` do not matter.
"""

from __future__ import annotations

import re

from tailback.plain import shortened
from tailback.tc.errors import WordError

#: Steps from the top of the file to a key.
Loc = tuple[str | int, ...]

_ARROW = re.compile(r"\s*->\s*")
_STEP = re.compile(r"""\.?(?:(?P<name>[^.\[\]]+)|\[(?P<index>[0-9]{1,9})\]|\["(?P<quoted>[^"]+)"\])""")
_HINT = "write steps with dots and list elements in brackets: links[0].delay"


def parse(text: str) -> Loc:
    """The steps of a path."""
    loc: list[str | int] = []
    position = 0
    while position < len(text):
        if loc and (loc == ["vary"] or loc[-1] == "sysctl") and text[position] == ".":
            return (*loc, canonical(text[position + 1 :]))
        match = _STEP.match(text, position)
        # A name follows a dot, except at the beginning.
        dotted = text.startswith(".", position)
        if match is None or dotted == (position == 0 or match["name"] is None):
            raise WordError(f"`{text}` is not the path of a key", _HINT)
        loc.append(_step(match))
        position = match.end()
    if not loc:
        raise WordError("the path of a key is empty", _HINT)
    return tuple(loc)


def canonical(key: str) -> str:
    """A key with `a->b` written as `a -> b`."""
    return _ARROW.sub(" -> ", key.strip())


def show(loc: Loc) -> str:
    """A path as messages show it."""
    text = ""
    for step in loc:
        word = step if isinstance(step, int) else shortened(step)
        text += f"[{word}]" if isinstance(step, int) else f".{word}" if text else str(word)
    return text


def _step(match: re.Match[str]) -> str | int:
    if match["index"] is not None:
        return int(match["index"])
    return canonical(match["quoted"] or match["name"])

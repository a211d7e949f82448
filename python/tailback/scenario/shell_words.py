"""What a shell would read in the words of a program, which no shell reads."""

from __future__ import annotations

import re

from msgspec import Struct

_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
"""What shlex takes together: quoted text, and a character behind a backslash."""

_READ = re.compile(
    r"(?P<redirection>(?:(?<!\S)[0-9])?>>?(?:&[0-9])?|(?<!\S)<<?<?)"
    r"|(?P<pipe>\|\|?)"
    r"|(?P<list>;|&&|(?<!\S)&(?!\S))"
    r"|(?P<variable>\$(?:[A-Za-z_][A-Za-z0-9_]*|\())"
    r"|(?P<command>`)"
    r"|(?P<pattern>(?<!\S)[^\s*=]*\*[^\s*]*(?!\S))"
)
_ASSIGNED = re.compile(r"(?P<assignment>[A-Za-z_][A-Za-z0-9_]*=)\S*(?=\s)")

_HIDDEN = "\0"
"""Stands for what is quoted."""

_DOES: dict[str, str] = {
    "redirection": "redirects nothing",
    "pipe": "joins no programs",
    "list": "ends no command",
    "variable": "is no variable",
    "command": "is no command",
    "pattern": "names no files",
    "assignment": "sets no variable",
}


class Unread(Struct, frozen=True):
    """A word of a program that only a shell would read."""

    word: str
    does: str
    remedy: str


def unread(run: str) -> Unread | None:
    """The first part of a program's `run` that only a shell would read; `None` if there is none."""
    bare = _QUOTED.sub(lambda quoted: _HIDDEN * len(quoted[0]), run)
    found = _ASSIGNED.match(bare) or _READ.search(bare)
    if found is None or found.lastgroup is None:
        return None
    kind = found.lastgroup
    word = found[kind]
    if kind == "assignment":
        name = word.removesuffix("=")
        return Unread(word, _DOES[kind], f"give it to the program by `environment: {{{name}: ...}}`")
    if re.match(r"(\S*/)?(ba|da)?sh\s+-\S*c\s", run):
        return Unread(word, _DOES[kind], "put it inside of the quotes behind `-c`")
    written = "..." if "'" in run or "\n" in run.strip() or len(run) > 60 else run.strip()
    plain = kind == "pattern" or (kind == "variable" and word != "$(")
    literal = f", or quote it, as the program's own: '{word}'" if plain else ""
    return Unread(word, _DOES[kind], f"let a shell read it: run: \"sh -c '{written}'\"{literal}")

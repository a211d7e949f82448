"""What a compiler says of the user's module, as messages with the file and the line of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_LINES = 12
"""Maximum number of messages of the compiler that are shown."""

MESSAGE = re.compile(r"(?P<file>[^:\s]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<what>.*)")
IMPLICIT = re.compile(r"implicit declaration of function .(\w+).")


class ModuleRefused(Exception):
    """A module cannot be compiled or used; the message says why and where."""


@dataclass(frozen=True)
class Source:
    """A module's source, with the name of its file."""

    name: str
    text: str

    @property
    def stem(self) -> str:
        """The name of the module, as the kernel's build makes it."""
        return re.sub(r"\W", "_", Path(self.name).stem)


def refused(source: Source, headers: str, stderr: str) -> ModuleRefused:
    """What is wrong with a file that does not compile with the headers of a kernel."""
    found = [_message(source, match) for match in MESSAGE.finditer(stderr)] or [stderr.strip()[-500:]]
    lines = list(dict.fromkeys(found))[:MAX_LINES]
    hint = f"correct {source.name}, or compile it with the headers of the kernel that it is for: kernel: NAME"
    first = f"`{source.name}` does not compile with the headers of {headers}:"
    return ModuleRefused("\n".join([first, *lines, f"  hint: {hint}"]))


def lacking(source: Source, symbols: Sequence[str], whose: str, hint: str) -> ModuleRefused:
    """What a file needs and `whose` do not have."""
    lines = [f"  {source.name}, {line}: it needs `{symbol}`" for symbol, line in _uses(source, symbols)]
    return ModuleRefused("\n".join([f"`{source.name}` needs what {whose}:", *lines[:MAX_LINES], f"  hint: {hint}"]))


def _message(source: Source, match: re.Match[str]) -> str:
    file = Path(match["file"]).name
    name = source.name if file == f"{source.stem}.c" else file
    what = IMPLICIT.sub(r"this kernel declares no function `\1`", match["what"])
    return f"  {name}, line {match['line']}: {re.sub(r' ?.-W[^]]*]', '', what)}"


def _uses(source: Source, symbols: Sequence[str]) -> Iterator[tuple[str, str]]:
    text = source.text.splitlines()
    for symbol in symbols:
        word = re.compile(rf"\b{symbol}\b")
        line = next((number for number, line in enumerate(text, 1) if word.search(line)), None)
        yield symbol, "in a header" if line is None else f"line {line}"

"""What a compiler says of the user's module, as messages with the file and the line of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_LINES = 12
"""Maximum number of messages of the compiler that are shown."""

MESSAGE = re.compile(r"(?P<file>[^:\s]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<what>.*)")
EXPANDED = re.compile(r"note: in (?:expansion of macro|definition of macro)")
INLINED = re.compile(r"\binlined from\b")
"""How a compiler says by which lines it came to a place in a header."""

ASSERTED = re.compile(r"call to .__compiletime_assert_\w+. declared with attribute error: ")
"""What is before the text of a `BUILD_BUG_ON`."""

BPF_SUFFIX = ".bpf.c"
"""The end of the names of BPF programs, by convention of libbpf."""

IMPLICIT = re.compile(r"implicit declaration of function .(\w+).")


class ModuleRefused(Exception):
    """A module cannot be compiled or used; the message says why and where."""


@dataclass(frozen=True)
class Source:
    """A module's source, with the name of its file."""

    name: str
    text: str

    @property
    def is_bpf(self) -> bool:
        """Whether it is a BPF program, and not a module."""
        return self.name.endswith(BPF_SUFFIX)

    @property
    def stem(self) -> str:
        """The name of the module, as the kernel's build makes it."""
        return re.sub(r"\W", "_", Path(self.name).stem)


def refused(source: Source, headers: str, stderr: str) -> ModuleRefused:
    """What is wrong with a file that does not compile with the headers of a kernel."""
    found = [_message(source, match) for match in _errors(source, stderr)] or [stderr.strip()[-500:]]
    lines = list(dict.fromkeys(found))[:MAX_LINES]
    other = "" if source.is_bpf else ", or compile it with the headers of the kernel that it is for: kernel: NAME"
    hint = f"correct {source.name}{other}"
    first = f"`{source.name}` does not compile with the headers of {headers}:"
    return ModuleRefused("\n".join([first, *lines, f"  hint: {hint}"]))


def lacking(source: Source, symbols: Sequence[str], whose: str, hint: str) -> ModuleRefused:
    """What a file needs and `whose` do not have."""
    lines = [f"  {source.name}, {line}: it needs `{symbol}`" for symbol, line in _uses(source, symbols)]
    return ModuleRefused("\n".join([f"`{source.name}` needs what {whose}:", *lines[:MAX_LINES], f"  hint: {hint}"]))


@dataclass(frozen=True)
class _Error:
    file: str
    line: str
    what: str


def _errors(source: Source, stderr: str) -> Iterator[_Error]:
    """The errors of a compiler. One inside a macro or an inline function of a header is where the user's file uses it:
    the compiler says that in the lines around it.
    """
    own = re.compile(rf"(?:^|[\s/])(?P<file>{re.escape(source.stem)}\.c|{re.escape(source.name)}):(?P<line>\d+)")
    found = list(MESSAGE.finditer(stderr))
    for number, match in enumerate(found):
        file, line = Path(match["file"]).name, match["line"]
        if file not in (f"{source.stem}.c", source.name):
            before = stderr[found[number - 1].end() if number else 0 : match.start()]
            behind = stderr[match.end() : found[number + 1].start() if number + 1 < len(found) else len(stderr)]
            used = _last(EXPANDED, own, behind) or _last(INLINED, own, before)
            if used is not None:
                file, line = f"{source.stem}.c", used
        yield _Error(file, line, match["what"])


def _last(sign: re.Pattern[str], own: re.Pattern[str], text: str) -> str | None:
    """The line of the user's file in the last of the lines with this sign that names it."""
    lines = [found["line"] for each in text.splitlines() if sign.search(each) and (found := own.search(each))]
    return lines[-1] if lines else None


def _message(source: Source, error: _Error) -> str:
    name = source.name if error.file == f"{source.stem}.c" else error.file
    here, kernel = r"the simulator has no function `\1` for BPF programs", r"this kernel declares no function `\1`"
    what = IMPLICIT.sub(here if source.is_bpf else kernel, error.what)
    if source.is_bpf:
        what = re.sub(r"( for BPF programs); did you mean .*", r"\1", what)
    what = ASSERTED.sub("", re.sub(r" ?.-W[^]]*]", "", what))
    return f"  {name}, line {error.line}: {what}"


def _uses(source: Source, symbols: Sequence[str]) -> Iterator[tuple[str, str]]:
    text = source.text.splitlines()
    for symbol in symbols:
        word = re.compile(rf"\b{symbol}\b")
        line = next((number for number, line in enumerate(text, 1) if word.search(line)), None)
        yield symbol, "in a header" if line is None else f"line {line}"

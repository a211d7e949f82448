"""Congestion controls that the user wrote: `cc: {python: mine.py, beta: 0.7}`, `cc: {module: tcp_mine.c, beta: 717}`,
`cc: {bpf: mine.bpf.c}`.

In words: `cc: mine.py beta 0.7`.

The text of the file becomes part of the resolved scenario, so that results keep it and another text is another run.
Reading an experiment does not execute it.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from tailback.limits import FileRefused, read_regular
from tailback.plain import has_control
from tailback.resolved import ControlSource
from tailback.scenario import words
from tailback.scenario.document import Node
from tailback.scenario.words import Algorithm
from tailback.tc.errors import WordError
from tailback.tc.rows import Row
from tailback.tc.units import on_one_line, shown

#: The keys that name the file, with the suffix and the language of the file.
KEYS: Mapping[str, tuple[str, Literal["python", "c", "bpf"]]] = {
    "python": (".py", "python"),
    "bpf": (".bpf.c", "bpf"),
    "module": (".c", "c"),
}
#: Maximum size of a file in bytes. The manifest of each run contains it.
LARGEST = 200_000

FILE_HINTS = {
    "python": "name a Python file relative to the experiment, and its parameters: {python: mine.py, beta: 0.7}",
    "bpf": "name the source of a BPF program with struct_ops relative to the experiment: {bpf: mine.bpf.c}",
    "module": "name the source of a kernel module relative to the experiment, and its parameters: "
    "{module: tcp_mine.c, beta: 717}",
}


def is_own(entry: object) -> bool:
    """Whether a value of `cc` is a control that the user wrote."""
    return isinstance(entry, Mapping) and any(key in entry for key in KEYS)


def in_words(text: str) -> dict[str, int | float | bool | str] | None:
    """The mapping that `./mine.py beta 0.7` stands for; None if the first word is not the name of a file."""
    file, *rest = text.split() or [""]
    key = next((key for key, (suffix, _) in KEYS.items() if file.endswith(suffix)), None)
    if key is None:
        return None
    if len(rest) % 2:
        hint = f"write a name and a value for each: {file} beta 0.7"
        raise WordError(f"the parameter `{shown(rest[-1])}` of `{shown(file)}` has no value", hint)
    return {key: file, **{name: _value(word) for name, word in zip(rest[::2], rest[1::2], strict=True)}}


def as_mapping(node: Node) -> Node:
    """A control in words, `./mine.py beta 0.7`, as the mapping that it stands for; any other value as it is."""
    entry = in_words(node.value) if isinstance(node.value, str) else None
    if entry is None:
        return node
    return replace(node, value={key: Node(value, node.where, str(value)) for key, value in entry.items()}, text="")


_NUMBER = re.compile(r"[+-]?([0-9]{1,18}\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,2})?")


def _value(word: str) -> int | float | bool | str:
    if word in ("true", "false"):
        return word == "true"
    if _NUMBER.fullmatch(word) is None:
        return word
    return float(word) if set(word) & set(".e") else int(word)


def read(word: object, folder: Path, rows: Sequence[Row]) -> Algorithm:
    """Reads a value of `cc`: one of the controls of `rows`, or a file relative to `folder`."""
    entry = in_words(word) if isinstance(word, str) else word
    if isinstance(entry, Mapping) and is_own(entry):
        return control(entry, folder)
    return words.control(word, rows)


def control(entry: Mapping[object, object], folder: Path) -> Algorithm:
    """Reads a control whose file name is relative to `folder`."""
    given = [key for key in KEYS if key in entry]
    if len(given) > 1:
        both = [f"`{key}`" for key in given]
        raise WordError(f"a control has one source, not both {' and '.join(both)}", f"remove {' or '.join(both)}")
    source = _source(given[0], entry[given[0]], folder)
    if given[0] == "bpf" and len(entry) > 1:
        what = f"`{shown(source.name)}` is a BPF program, which has no parameters"
        raise WordError(what, "write the value into the file, or make it a kernel module with parameters")
    parameters = {str(key): _parameter(str(key), value) for key, value in entry.items() if key != given[0]}
    return Algorithm(source.name, source=source, parameters=parameters)


def _source(key: str, word: object, folder: Path) -> ControlSource:
    suffix, language = KEYS[key]
    hint = FILE_HINTS[key]
    if key == "module" and isinstance(word, str) and word.endswith(KEYS["bpf"][0]):
        raise WordError(f"`{shown(word)}` is a BPF program by its name, and not a module", "write {bpf: FILE}")
    if not isinstance(word, str) or not word.endswith(suffix) or "\0" in word:
        what = {"python": "a Python file", "module": "a C file", "bpf": "a BPF program in C (`.bpf.c`)"}[key]
        raise WordError(f"`{shown(word)}` is not the name of {what}", hint)
    path = folder / word
    if has_control(path.name):
        raise WordError(f"`{shown(path.name)}` has control characters in its name", "rename the file")
    try:
        content = read_regular(path, LARGEST)
    except (OSError, FileRefused) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it cannot be read"
        raise WordError(f"the control `{shown(word)}` cannot be read: {reason} ({on_one_line(path)})", hint) from None
    return ControlSource(
        name=path.name,
        language=language,
        sha256=hashlib.sha256(content).hexdigest(),
        text=_checked(content, path.name, language),
    )


def _checked(content: bytes, name: str, language: str) -> str:
    """The text of a file, if it is text; of a file in Python, if it is valid Python."""
    try:
        text = content.decode("utf-8-sig")
        if language == "python":
            ast.parse(text, name)
    except UnicodeDecodeError as error:
        raise WordError(f"`{name}` is not UTF-8 text (byte {error.start})", "save the file as UTF-8") from None
    except SyntaxError as error:
        raise WordError(f"`{name}`, line {error.lineno}: {error.msg}", "correct the file") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise WordError(f"`{name}` is not Python: {error}", "correct the file") from None
    return text


def _parameter(name: str, value: object) -> int | float | bool | str:
    if not name.isidentifier():
        raise WordError(f"`{shown(name)}` is not the name of a parameter", "it is a keyword argument of the class")
    if isinstance(value, int | float | bool | str):
        return value
    hint = f"write a number or a word: {name}: 1"
    raise WordError(f"`{name}` of a control cannot be {shown(value)}", hint)

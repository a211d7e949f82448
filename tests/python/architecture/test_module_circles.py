"""Circular dependencies of the modules of a crate: only those listed here are allowed, each with a reason."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from graphs import circles_of

CRATES = Path(__file__).parents[3] / "crates"

CIRCLES: dict[str, dict[frozenset[str], str]] = {
    "module": {
        frozenset({"control", "file"}): (
            "A file begins a first flow to learn what its control asks for, and a flow calls the functions of its file."
        ),
    },
}
"""By crate the circles that there are, and why each is one thing."""

_COMMENT = re.compile(r"//[^\n]*")
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))? )?mod \w+ \{.*", re.DOTALL)
_PATH = re.compile(r"\bcrate::(\{|\w+)")
_REEXPORT = re.compile(r"^(?:pub(?:\([a-z]+\))? )?use (\w+)::(\{[^;]*\}|[\w:]+);", re.MULTILINE)
_WORD = re.compile(r"\w+")


def without_tests(file: Path) -> str:
    """The code of a file without comments and tests, which may use everything."""
    return _TESTS.sub("", _COMMENT.sub("", file.read_text()))


def in_group(text: str, start: int) -> Iterator[str]:
    """The first words of the paths in the braces that open at `start`."""
    depth, first = 0, True
    for found in re.finditer(r"[{},]|\w+", text[start:]):
        token = found[0]
        depth += (token == "{") - (token == "}")
        if depth == 0:
            return
        if depth == 1 and token == ",":
            first = True
        elif depth == 1 and first and token != "{":
            yield token
            first = False


def modules(crate: str) -> dict[str, list[Path]]:
    """The files of each module at the top of a crate."""
    source = CRATES / crate / "src"
    found: dict[str, list[Path]] = {}
    for file in sorted(source.rglob("*.rs")):
        top = file.relative_to(source).parts[0].removesuffix(".rs")
        if top not in ("lib", "main") and "tests" not in file.stem:
            found.setdefault(top, []).append(file)
    return found


def owners(crate: str) -> dict[str, str]:
    """The module that each name at the root of a crate comes from."""
    text = without_tests(CRATES / crate / "src" / "lib.rs")
    return {word: module for module, names in _REEXPORT.findall(text) for word in _WORD.findall(names)}


@cache
def uses(crate: str) -> Mapping[str, frozenset[str]]:
    """The modules of a crate that each module names."""
    files, root = modules(crate), owners(crate)
    found = {}
    for module, own in files.items():
        named = set[str]()
        for text in map(without_tests, own):
            for match in _PATH.finditer(text):
                named.update(in_group(text, match.start(1)) if match[1] == "{" else [match[1]])
        others = {name if name in files else root.get(name, "") for name in named}
        found[module] = frozenset(others & set(files) - {module})
    return found


@pytest.mark.parametrize("crate", sorted(each.name for each in CRATES.iterdir() if (each / "src").is_dir()))
def test_the_circles_of_a_crate_are_those_with_a_reason(crate: str) -> None:
    assert circles_of(uses(crate)) == set(CIRCLES.get(crate, {}))


@cache
def uses_in(folder: Path) -> Mapping[str, frozenset[str]]:
    """The modules of a folder of a crate that each of its modules names, by `super::` or by `crate::`."""
    files: dict[str, list[Path]] = {}
    for file in sorted(folder.rglob("*.rs")):
        top = file.relative_to(folder).parts[0].removesuffix(".rs")
        if top != "mod" and "tests" not in file.stem:
            files.setdefault(top, []).append(file)
    own = "::".join(folder.parts[folder.parts.index("src") + 1 :])
    found = {}
    for module, texts in files.items():
        named = set[str]()
        for file in texts:
            above = "super::" * len(file.relative_to(folder).parts)
            code = without_tests(file)
            for match in re.finditer(rf"(?:\bcrate::{own}::|(?<!super::){above}(?!super))(\{{|\w+)", code):
                named.update(in_group(code, match.start(1)) if match[1] == "{" else [match[1]])
        found[module] = frozenset(named & set(files) - {module})
    return found


FOLDERS = sorted({file.parent for file in CRATES.glob("*/src/*/**/*.rs")})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(CRATES)))
def test_the_modules_of_a_folder_have_no_circles(folder: Path) -> None:
    assert circles_of(uses_in(folder)) == set()


def test_uses_in_a_folder_are_found() -> None:
    assert {"worker", "names", "system"} <= uses_in(CRATES / "agent" / "src" / "drill")["calls"]


def test_a_circle_is_found_whole() -> None:
    graph = {"a": "b", "b": "c", "c": "ad", "d": ""}
    assert circles_of({module: frozenset(others) for module, others in graph.items()}) == {frozenset("abc")}


def test_uses_are_found_by_module_and_by_names_at_the_root_of_the_crate() -> None:
    assert {"ledger", "pfifo_fast"} <= uses("qdisc")["mq"]
    assert "row" in uses("cc")["reno"]


def test_paths_in_braces_are_found_by_their_first_words() -> None:
    text = "use crate::{BuildError, app::{Kind, bulk}, radio};"
    assert list(in_group(text, text.index("{"))) == ["BuildError", "app", "radio"]

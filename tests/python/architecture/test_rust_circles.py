"""The modules of a crate depend on each other without circles; a file and the folder of its name are one module."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

CIRCLES: dict[str, list[set[str]]] = {"cc": [], "drill": [], "qdisc": [{"mq", "registry"}], "tcp": []}
"""What is one thing in several files, by crate: ARCHITECTURE.md says why."""

OWN_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod ")
PATH = re.compile(r"\bcrate::([a-z_0-9]+)\b(?!\()|\buse crate::\{([^}]*)\}")


def modules(crate: str) -> dict[str, list[Path]]:
    """The files of each module at the top of a crate."""
    source = ROOT / "crates" / crate / "src"
    files: dict[str, list[Path]] = {}
    for file in sorted(source.rglob("*.rs")):
        inside = file.relative_to(source)
        if inside.stem != "tests" and inside.as_posix() not in ("lib.rs", "main.rs"):
            files.setdefault(inside.parts[0].removesuffix(".rs"), []).append(file)
    return files


def uses(file: Path) -> set[str]:
    """The names that a file has from the top of its crate, its tests apart."""
    text = re.sub(r"//.*", "", OWN_TESTS.split(file.read_text())[0])
    found = PATH.findall(text)
    return {word for one, several in found for word in [one, *re.findall(r"\b[a-z_0-9]+\b", several)] if word}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The largest sets of modules of which each reaches each."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            fresh = graph[waiting.pop()] - seen
            seen |= fresh
            waiting += fresh
        return seen

    behind = {module: reached(module) for module in graph}
    found = {frozenset(other for other in behind[module] if module in behind[other]) for module in graph}
    return sorted((set(circle) for circle in found if circle), key=min)


@pytest.mark.parametrize("crate", CIRCLES)
def test_the_modules_of_a_crate_have_no_circles_but_the_named_ones(crate: str) -> None:
    files = modules(crate)
    graph = {
        module: {name for file in files[module] for name in uses(file)} & set(files) - {module} for module in files
    }
    assert sum(len(names) for names in graph.values()) > len(graph), "the uses of other modules are found"
    assert circles(graph) == CIRCLES[crate]


def test_a_circle_is_found_whole() -> None:
    graph: dict[str, set[str]] = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert circles(graph) == [{"a", "b", "c"}]

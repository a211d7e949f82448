"""The packages of `tailback` import downwards only (ARCHITECTURE.md)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailback

PACKAGE = Path(tailback.__file__).parent

BELOW: dict[str, set[str]] = {
    "plain": set(),
    "limits": set(),
    "on_demand": set(),
    "tc": {"plain"},
    "columns": {"_core"},
    "extras": set(),
    "algorithms": {"_core", "tc"},
    "qdiscs": {"_core", "on_demand", "tc"},
    "resolved": {"qdiscs"},
    "scenario": {"_core", "limits", "plain", "on_demand", "tc", "algorithms", "qdiscs", "resolved"},
    "kernel": {"limits"},
    "starters": set(),
    "testbed": {"scenario", "tc", "limits"},
    "backends": {"_core", "columns", "tc", "qdiscs", "kernel", "testbed", "resolved"},
    "drill": {"_core", "backends", "limits", "plain"},
    "results": {"_core", "limits", "resolved", "analysis"},
    "analysis": {"_core", "on_demand", "plain", "resolved"},
    "fitting": {"_core", "limits", "resolved", "scenario", "backends"},
    "sweep": {"limits", "resolved", "scenario", "backends", "fitting", "results", "analysis"},
    "advice": {"results", "analysis"},
    "plots": {"extras", "on_demand", "plain", "results", "analysis", "advice"},
    "report": {"limits", "scenario", "results", "analysis", "plots"},
    "formats": {
        "_core",
        "columns",
        "limits",
        "plain",
        "tc",
        "algorithms",
        "qdiscs",
        "resolved",
        "scenario",
        "testbed",
        "results",
        "analysis",
    },
    "lab": {"limits", "resolved", "scenario", "backends", "fitting", "sweep", "results", "analysis"},
    "gym": {"_core", "extras", "resolved", "scenario", "tc"},
    "duels": {"scenario", "tc", "results", "analysis", "plots"},
    "assess": {"limits", "plain", "scenario", "backends", "results", "analysis", "sweep", "plots"},
    "search": {"extras", "scenario", "backends", "results", "analysis", "sweep", "plots", "assess"},
    "papers": {"scenario", "backends", "results", "analysis", "sweep", "plots", "formats"},
    "bundle": {"limits", "plain", "kernel", "backends", "fitting", "results", "sweep"},
    "validation": {"qdiscs", "scenario", "backends", "results", "analysis", "sweep", "plots"},
    "api": {"limits", "scenario", "results", "analysis", "sweep", "advice", "plots", "report", "validation", "drill"},
    "cli": {
        "extras",
        "limits",
        "tc",
        "algorithms",
        "qdiscs",
        "plain",
        "advice",
        "resolved",
        "scenario",
        "kernel",
        "starters",
        "testbed",
        "backends",
        "results",
        "analysis",
        "fitting",
        "sweep",
        "plots",
        "report",
        "formats",
        "lab",
        "duels",
        "assess",
        "search",
        "papers",
        "validation",
        "bundle",
        "drill",
    },
    "__main__": {"cli"},
}
"""What each room may import of the package, beside itself."""


def rooms() -> list[str]:
    folders = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    return sorted([*folders, *(path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__")])


def imported(room: str) -> Iterator[tuple[Path, str]]:
    """The packages that files of `room` import."""
    files = [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").exists() else sorted((PACKAGE / room).rglob("*.py"))
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for name in _modules(node):
                parts = name.split(".")
                if parts[0] == "tailback" and len(parts) > 1:
                    yield file, parts[1]


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def test_every_package_has_its_place() -> None:
    assert rooms() == sorted(BELOW)


@pytest.mark.parametrize("room", BELOW)
def test_a_package_imports_only_from_below(room: str) -> None:
    upwards = [(file.name, other) for file, other in imported(room) if other not in {room, *BELOW[room]}]
    assert upwards == []


def test_the_arrows_have_no_cycle() -> None:
    placed: set[str] = {"_core"}
    left = dict(BELOW)
    while left:
        free = [room for room, below in left.items() if below <= placed]
        assert free, f"a cycle among {sorted(left)}"
        placed |= set(free)
        left = {room: below for room, below in left.items() if room not in free}


def test_commands_print_through_the_console_which_makes_text_of_others_visible() -> None:
    allowed = {"console.py", "interrupts.py"}
    printing = [
        file.name
        for file in sorted((PACKAGE / "cli").rglob("*.py"))
        if file.name not in allowed
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "Console")
    ]
    assert printing == []

"""The modules of the package have no circles, not even by an import inside a function."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import tailback
from graphs import circles_of
from statements import statements

PACKAGE = Path(tailback.__file__).parent


def module_name(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> Mapping[str, Path]:
    """The file of each module but the root, whose names (`import tailback`) are looked up when they are asked for."""
    return {
        module_name(file): file
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.parent != PACKAGE or file.stem != "__init__"
    }


def uses(text: str) -> set[str]:
    """The modules that `text` imports, wherever in it; those for annotations alone are not imported when it runs."""
    every = list(statements(ast.parse(text)))
    unread = {id(inner) for node in every if _is_for_annotations(node) for inner in statements(node)}
    named = {name for node in every if id(node) not in unread for name in _names(node)}
    return {name if name in modules() else name.rpartition(".")[0] for name in named} & modules().keys()


def _is_for_annotations(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []


@cache
def graph() -> Mapping[str, set[str]]:
    return {name: uses(file.read_text(encoding="utf-8")) - {name} for name, file in modules().items()}


def test_no_modules_of_the_package_depend_on_each_other() -> None:
    assert circles_of(graph()) == set()


def test_a_backend_imports_no_other_backend() -> None:
    for backend in ("sim", "uml", "netns", "ssh"):
        own = f"tailback.backends.{backend}"
        others = {f"tailback.backends.{other}" for other in ("sim", "uml", "netns", "ssh")} - {own}
        for name in (name for name in graph() if f"{name}.".startswith(f"{own}.")):
            assert not [used for used in graph()[name] for other in others if f"{used}.".startswith(f"{other}.")], name


def test_imports_are_found_inside_functions_and_as_names_of_packages() -> None:
    inside = "def f():\n    from tailback.cli import topics\n    import tailback.plain\n"
    text = inside + "if TYPE_CHECKING:\n    import tailback.api"
    assert uses(text) == {"tailback.cli.topics", "tailback.plain"}

"""The tables of written pages whose facts are in the code: commands, plots, tolerances, keys of a testbed, what a
control of your own reads and sets.

    python -m conformance.reference         # writes them anew

A test holds pages and code together (`tests/python/docs/test_reference.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer.main
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from conformance.page import DOCS, ROOT, rows, with_tables
from tailback.analysis.differences import METRICS
from tailback.analysis.tolerances import FIDELITY
from tailback.cli.app import COMMANDS, app
from tailback.plots.names import PLOTS
from tailback.testbed.schema import Access, Interface, Keys, Machine

MORE = {
    "run": "[sweeps](sweeps.md)",
    "reproduce": "[papers](reproduce.md)",
    "drill": "[packetdrill](drill.md)",
    "duel": "[duels](duels.md)",
    "assess": "[suites](assess.md), [CI](ci.md)",
    "search": "[search](search.md)",
    "check": "[warnings](warnings.md)",
    "lab": "[the lab](lab.md)",
    "shell": "[programs](programs.md#a-shell-on-a-host)",
    "plot": "[figures](figures.md)",
    "compare": "[comparison](validate.md)",
    "sensitivity": "[questions](questions.md#which-axis-matters)",
    "pareto": "[questions](questions.md#what-is-the-trade-off)",
    "recommend": "[questions](questions.md#what-should-i-choose)",
    "validate": "[comparison](validate.md)",
    "bundle": "[bundles](contracts.md#bundles)",
    "rerun": "[bundles](contracts.md#bundles)",
    "import": "[captures](captures.md), [TEACUP](testbed.md#from-teacup)",
    "kernel build": "[kernels](kernel.md#your-own-kernel)",
    "kernel headers": "[kernel modules](your-own-control.md#a-kernel-module)",
    "testbed check": "[testbeds](testbed.md)",
    "new cc": "[your own control](your-own-control.md)",
}
"""The pages that explain a command."""


def tables() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """The tables by page and name."""
    attributes = ["attribute", ""]
    return {
        "commands.md": {"commands": rows(["command", "what it does", "more"], _commands())},
        "figures.md": {"plots": rows(["plot", "shows", "`--metric`"], _plots())},
        "testbed.md": {"keys": rows(["key", "value", "default"], _keys())},
        "validate.md": {"tolerances": rows(["in `--tolerance`", "numbers", "default of `validate`"], _tolerances())},
        "your-own-control.md": {
            "module": rows(["a module", "of `struct sock`, `inet_connection_sock` and `tcp_sock`"], _members()),
            "sample": rows(attributes, _attributes("Sample")),
            "flow": rows(attributes, _attributes("Flow")),
        },
    }


def _commands() -> Iterator[Sequence[str]]:
    """The commands in the order of `--help`, those of a group instead of the group."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    for name in COMMANDS:
        command: Any = group.get_command(context, name)
        inner = getattr(command, "list_commands", None)
        within = {f"{name} {each}": command.get_command(context, each) for each in inner(context)} if inner else {}
        for words, each in (within or {name: command}).items():
            yield f"`tailback {words}`", _cell(each.get_short_help_str(200)), MORE.get(words, "")


def _plots() -> Iterator[Sequence[str]]:
    for name, row in PLOTS.items():
        yield f"`{name}`", row.summary.replace("--metric", "`--metric`"), row.takes


def _tolerances() -> Iterator[Sequence[str]]:
    """The tolerances, each with the numbers of a summary that it judges."""
    for name, default in FIDELITY.items():
        numbers = (f"`{key}`" for key, compared in METRICS.items() if compared.tolerance == name)
        yield f"`{name}`", ", ".join(numbers), f"`{default.words}`"


def _keys() -> Iterator[Sequence[str]]:
    """The keys of a testbed file, with those below `hosts` and `ssh`."""
    places: Sequence[tuple[str, type[BaseModel]]] = (
        ("", Keys), ("hosts.NAME.", Machine), ("hosts.NAME.interfaces.NEIGHBOUR.", Interface), ("ssh.", Access),
    )  # fmt: skip
    for place, model in places:
        for key, field in model.model_fields.items():
            if model is Machine and key in Access.model_fields:
                continue
            yield f"`{place}{key}`", _cell(field.description or ""), _default(field)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    match field.default:
        case str(word):
            return f"`{word}`"
        case int(seconds):
            return f"`{seconds}s`"
        case _:
            return ""


def _attributes(name: str) -> Iterator[Sequence[str]]:
    """The attributes of what a control in Python gets, in the order of the type stubs."""
    tree = ast.parse((ROOT / "python" / "tailback" / "_core.pyi").read_text("utf-8"))
    own = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    for node, following in zip(own.body, [*own.body[1:], None], strict=True):
        match node, following:
            case ast.AnnAssign(target=ast.Name(id=attribute)), ast.Expr(value=ast.Constant(value=str(text))):
                yield f"`{attribute}`", _cell(text)
            case ast.FunctionDef(name=attribute), _:
                yield f"`{attribute}`", _cell(ast.get_docstring(node) or "")


def _members() -> Iterator[Sequence[str]]:
    """The members that the glue of kernel modules lays into a socket before a call, and reads back after it."""
    glue = (ROOT / "kernel" / "module" / "glue.c").read_text("utf-8")
    for what, functions, member in (
        ("reads", ("load_progress", "load_settings", "load_window"), r"\b(?:tp|icsk|sk)->(\w+)[\w.\[\]]* = "),
        ("sets", ("store",), r"(?<!&)\b(?:tp|sk)->(\w+)"),
    ):
        bodies = (re.search(rf"^static void {name}\(.*?^}}", glue, re.MULTILINE | re.DOTALL) for name in functions)
        found = dict.fromkeys(name for body in bodies if body for name in re.findall(member, body[0]))
        yield what, ", ".join(f"`{name}`" for name in found)


def _cell(text: str) -> str:
    """A text in a table, from its first letter in lower case to its last without the full stop."""
    words = " ".join(text.split()).replace("|", "\\|").removesuffix(".")
    return re.sub(r"^[A-Z](?=[a-z ])", lambda match: match[0].lower(), words)


def main() -> None:
    """Writes the tables of all pages."""
    for page, new in tables().items():
        file = DOCS / page
        file.write_text(with_tables(file.read_text("utf-8"), new), "utf-8")


if __name__ == "__main__":
    main()

"""The rows that are there need as many files as CONTRIBUTING.md says that a new one needs."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import tailback
from tailback.algorithms import CoreRegistry
from tailback.analysis.registry import METRICS
from tailback.plots import PLOTS
from tailback.resolved.traffic import FLOWS

ROOT = Path(__file__).parents[3]
CRATES = ROOT / "crates"
PACKAGE = Path(tailback.__file__).parent


def said(what: str) -> int:
    """The number in the table of CONTRIBUTING.md."""
    found = re.search(rf"^\| {what} \| (\d+)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert found, what
    return int(found[1])


def rust_code(file: Path) -> str:
    """The code of a file without comments and tests."""
    code = file.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests")[0]
    return "\n".join(re.sub(r"//.*", "", line) for line in code.splitlines())


def python_code(file: Path) -> str:
    """The code of a file without comments and docstrings."""
    text = file.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return "\n".join(re.sub(r"(^|\s)#.*", "", line) for number, line in lines if number not in documented)


@functools.cache
def rust(crate: str) -> Mapping[str, str]:
    """The code of a crate by file, without the toys that other tests count."""
    files = (CRATES / crate / "src").rglob("*.rs")
    tests = re.compile(r"(^|_)tests\.rs$|^toy\.rs$")
    return {str(file.relative_to(CRATES)): rust_code(file) for file in files if not tests.search(file.name)}


@functools.cache
def python(package: str) -> Mapping[str, str]:
    """The code of a package by file."""
    return {str(file.relative_to(PACKAGE)): python_code(file) for file in (PACKAGE / package).rglob("*.py")}


def naming(word: str, code: Mapping[str, str]) -> set[str]:
    """The files whose code has the word."""
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    return {file for file, text in code.items() if pattern.search(text)}


def quoting(word: str, code: Mapping[str, str]) -> set[str]:
    """The files whose code has the word as a text by itself."""
    pattern = re.compile(rf"""["']{re.escape(word)}["']""")
    return {file for file, text in code.items() if pattern.search(text)}


def own(file: str, code: Mapping[str, str]) -> set[str]:
    """A file and those in the folder of its name, which count as one."""
    return {each for each in code if each == f"{file}.rs" or each.startswith(f"{file}/")}


USED_BY_OTHERS = {"reno", "scalable", "vegas", "bbr"}
"""Controls of which others are variants, or that others fall back to."""


@pytest.mark.parametrize("name", [row.name for row in CoreRegistry().congestion_controls])
def test_a_control_is_its_file_a_row_and_a_mod_line(name: str) -> None:
    code = rust("cc")
    mine = own(f"cc/src/{name}", code)
    others = naming(name, code) - mine
    assert mine
    if name not in USED_BY_OTHERS:
        assert others == {"cc/src/registry.rs", "cc/src/lib.rs"}
    assert 1 + len({"cc/src/registry.rs", "cc/src/lib.rs"} & others) == said("congestion control")


@pytest.mark.parametrize("name", [row.name for row in CoreRegistry().qdiscs])
def test_a_discipline_is_two_files_two_rows_and_a_mod_line(name: str) -> None:
    code = rust("qdisc")
    rows = naming(name, code) & {"qdisc/src/registry.rs", "qdisc/src/lib.rs"}
    listed = quoting(name, python("qdiscs")) & {f"qdiscs/{name}.py", "qdiscs/registry.py"}
    assert own(f"qdisc/src/{name}", code)
    assert 1 + len(rows) + len(listed) == said("queue discipline")


READ_ELSEWHERE = {
    "analysis/aggregation.py", "analysis/cautions.py", "analysis/coverage.py", "analysis/measured.py",
    "analysis/news.py", "analysis/parts.py", "analysis/quantities.py", "analysis/sharing.py",
    "analysis/steadiness.py", "analysis/values.py", "analysis/warmup.py", "analysis/queues.py",
    "analysis/watching.py", "analysis/identical.py", "analysis/__init__.py", "analysis/metrics.py",
}  # fmt: skip
"""Questions about certain metrics: what a warning is about, which numbers of a metric are parts of another."""


OTHER_THINGS = {"cost", "video"}
"""Also a part of the manifest, and a table."""


def metrics() -> Iterator[tuple[str, set[str]]]:
    """Each metric in summaries, with the files of what its row says."""
    for row in METRICS.values():
        if row.key is not None and row.value is not None:
            functions = (row.defined_by, row.value)
            modules = {f"{each.__module__.removeprefix('tailback.').replace('.', '/')}.py" for each in functions}
            yield row.key, modules | {"analysis/registry.py"}


@pytest.mark.parametrize(("key", "files"), list(metrics()))
def test_a_metric_is_a_function_and_a_row(key: str, files: set[str]) -> None:
    assert quoting(key, python("analysis")) - READ_ELSEWHERE - files == set()
    assert files - {"analysis/values.py"} <= files, "a value that is more than the function returns is there"
    assert len(files - {"analysis/values.py"}) in (said("metric"), said("metric") - 1)
    # No reader of results names it, either: its form is in its row.
    assert quoting(key, python("results")) == set() or key in OTHER_THINGS


def test_most_metrics_are_named_by_nothing_but_their_row() -> None:
    alone = [key for key, _ in metrics() if quoting(key, python("analysis")) == {"analysis/registry.py"}]
    assert len(alone) > len(list(metrics())) / 3


@pytest.mark.parametrize("name", list(PLOTS))
def test_a_figure_is_a_file_and_two_rows(name: str) -> None:
    rows = quoting(name, python("plots")) & {"plots/names.py", "plots/registry.py"}
    assert 1 + len(rows) == said("figure")


@pytest.mark.parametrize("kind", [flow.kind for flow in FLOWS])
def test_a_kind_of_traffic_is_six_files_for_all_backends(kind: str) -> None:
    machine = "bulk" if kind == "tcp" else kind
    in_rust = {f"traffic/src/{machine}.rs", "traffic/src/lib.rs"}
    everywhere = {
        file for crate in ("traffic", "world", "agent") for file in naming(f"{kind.title()}Traffic", rust(crate))
    }
    assert everywhere == in_rust, "no backend knows a kind"
    in_python = {
        *naming(kind.title(), python("resolved")) & {"resolved/traffic.py", "resolved/__init__.py"},
        *quoting(kind, python("scenario/traffic")) & {f"scenario/traffic/{kind}.py", "scenario/traffic/registry.py"},
    }
    assert len(in_rust | in_python) == said("kind of traffic")


def test_a_driver_is_a_row() -> None:
    for row in CoreRegistry().drivers:
        named = {file for file, text in rust("wifi").items() if f'"{row.name}"' in text}
        assert len(named) == said("Wi-Fi driver"), row.name

"""A second row of the same name is refused by every registry, instead of replacing the first."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import tailback
from tailback import backends
from tailback.algorithms import CoreRegistry
from tailback.analysis.registry import METRICS
from tailback.on_demand import NameTwice, OnDemand, by_name
from tailback.scenario.stacks import stacks
from tailback.scenario.sysctl import SYSCTLS

ROOT = Path(__file__).parents[3]
PACKAGE = Path(tailback.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


def keys_by_comprehension(file: Path) -> list[str]:
    """The keys of the tables that a module makes of rows."""
    return [
        ast.unparse(node.value.key)
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.DictComp)
    ]


def test_no_table_of_a_module_lets_a_row_replace_another() -> None:
    """A comprehension by name would keep the last of two; a literal with a key twice is refused by ruff (F601)."""
    by_words = (".name", ".kind", ".code", ".word")
    lost = [
        f"{file.relative_to(PACKAGE)}: {key}"
        for file in FILES
        for key in keys_by_comprehension(file)
        if key.endswith(by_words)
    ]
    assert lost == [], "write by_name(rows), which refuses two rows of one name"


def test_a_metric_of_a_name_that_there_is_is_refused_by_name() -> None:
    rows = list(METRICS.values())
    with pytest.raises(NameTwice, match="two rows of a registry are called `goodput`\n  hint: give the new row"):
        by_name([*rows, METRICS["goodput"]])


def test_a_name_that_is_listed_twice_for_files_of_their_own_is_refused() -> None:
    with pytest.raises(NameTwice, match="`pfifo`"):
        OnDemand("tailback.qdiscs", "pfifo", "pfifo_fast", "pfifo")


def twice(names: list[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def test_no_two_rows_of_a_registry_of_the_core_have_one_name() -> None:
    core = CoreRegistry()
    for rows in (core.congestion_controls, core.qdiscs, core.drivers, stacks(), SYSCTLS):
        assert twice([row.name for row in rows]) == []
    assert set(backends.TEXTS) == {"sim", "uml", "netns", "ssh"}


def test_no_two_metrics_write_the_same_key_of_a_summary() -> None:
    assert twice([row.key for row in METRICS.values() if row.key is not None]) == []

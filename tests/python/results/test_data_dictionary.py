"""The data dictionary has every column of every table, with the unit in the file."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import tailback
from tailback import scenario
from tailback.backends.linux import tables as of_kernels
from tailback.backends.ssh.run import RECEIVER
from tailback.results import data_dictionary
from tailback.results.memory import RunInMemory
from tailback.results.tables_page import as_markdown

ROOT = Path(__file__).parents[3]
RUNS = ROOT / "tests" / "golden" / "runs"

ENDPOINT = f"""\
links: [{{ends: [client, server], rate: 10mbit, delay: 5ms}}]
traffic: [{{endpoint: {ROOT}/examples/transports/python/aimd.py, from: client, to: server}}]
duration: 1s
"""

KERNEL_ONLY = {"completions", "losses", "radios", "tcp_info_receiver"}

FORMS: Mapping[str, of_kernels.Form] = {**of_kernels.FORMS, "tcp_info_receiver": RECEIVER}
"""The tables of the kernels' backends."""


def simulated() -> Iterator[tuple[str, str, str, str]]:
    """Table, column, kind and unit of all tables that the simulator makes."""
    packets = ["measure.packets=[0s, 20ms]"]
    runs = [
        tailback.simulate(RUNS / f"{name}.yaml", settings=packets).runs for name in ("cells", "traffic", "recovery")
    ]
    for each in [*runs, tailback.simulate(scenario.loads(ENDPOINT)).runs]:
        for run in each:
            assert isinstance(run, RunInMemory)
            for table, has in run.finished.tables.items():
                yield from ((table, column, kind, unit or "") for column, kind, unit in has.columns)


@pytest.fixture(scope="module")
def found() -> set[tuple[str, str, str, str]]:
    return set(simulated())


def test_the_page_of_the_tables_is_what_the_dictionary_says() -> None:
    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8") == as_markdown()


def test_every_column_of_the_simulator_has_its_unit_and_kind_in_the_dictionary(
    found: set[tuple[str, str, str, str]],
) -> None:
    described = {
        (table.name, column.name, column.words, column.unit)
        for table in data_dictionary.tables().values()
        if table.name not in KERNEL_ONLY
        for column in table.columns
    }
    assert {(table, column, kind == "text", unit) for table, column, kind, unit in found} == described


@pytest.mark.parametrize("table", FORMS)
def test_a_table_of_a_kernel_has_the_columns_that_it_can_observe(table: str) -> None:
    described = {
        column.name: (column.words, column.unit)
        for column in data_dictionary.tables()[table].columns
        if column.only != "simulator"
    }
    assert {name: (kind == "text", unit or "") for name, (kind, unit) in FORMS[table].items()} == described


def test_a_column_is_of_words_in_all_tables_or_in_none() -> None:
    kinds: dict[str, set[bool]] = {}
    for table in data_dictionary.tables().values():
        for column in table.columns:
            kinds.setdefault(column.name, set()).add(column.words)
    assert [name for name, found in kinds.items() if len(found) > 1] == []

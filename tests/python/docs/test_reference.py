"""The tables of written pages whose facts are in the code are those of the code."""

import pytest

from conformance import reference
from conformance.page import DOCS, with_tables
from tailback import _core
from tailback.cli.app import COMMANDS

TABLES = reference.tables()


@pytest.mark.parametrize("page", TABLES)
def test_the_tables_of_a_page_are_those_of_the_code(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    assert with_tables(text, TABLES[page]) == text, "run `python -m conformance.reference`"


def test_every_command_has_a_row_and_no_row_links_for_a_command_that_is_not_there() -> None:
    commands = [row.split("`")[1].split()[1:] for row in TABLES["commands.md"]["commands"][2:]]
    assert {words[0] for words in commands} == set(COMMANDS)
    assert set(reference.MORE) <= {" ".join(words) for words in commands}


@pytest.mark.parametrize("kind", [_core.Sample, _core.Flow])
def test_a_control_is_told_of_every_attribute_that_the_extension_has(kind: type) -> None:
    told = {row.split("`")[1] for row in TABLES["your-own-control.md"][kind.__name__.lower()][2:]}
    assert told == {name for name in vars(kind) if not name.startswith("_")}


def test_a_module_is_told_of_the_members_that_the_glue_exchanges() -> None:
    reads, sets = TABLES["your-own-control.md"]["module"][2:]
    assert all(f"`{member}`" in reads for member in ("snd_cwnd", "srtt_us", "rtt_min", "rx_opt", "icsk_ca_state"))
    assert all(f"`{member}`" in sets for member in ("snd_cwnd", "snd_ssthresh", "sk_pacing_rate", "app_limited"))
    assert "inet_conn" not in sets

"""No two sockets of a run have one name, whatever stands beside what."""

from itertools import product
from pathlib import Path

import pytest

from tailback.scenario import Experiment, ScenarioError, loads, traffic
from tailback.scenario.flows import PRESETS
from tailback.scenario.names import NotUnique, counted, unique

ENDPOINT = Path(__file__).parents[3] / "examples" / "transports" / "python" / "aimd.py"

HEAD = """\
links: [{ends: [client, server], rate: 10mbit, delay: 5ms}, {ends: [other, server], rate: 10mbit, delay: 5ms}]
duration: 2s
traffic:
"""

ENTRIES = {
    "one flow": "tcp: client -> server",
    "two flows": "tcp: client -> server, flows: 2",
    "two flows down": "tcp: server -> client, flows: 2",
    "arrivals": "tcp: client -> server, size: 10kb, arrivals: periodic 10/s",
    "flows across": "tcp: other -> server, flows: 2",
    "requests": "request: client -> server, answer: 10kb, connections: 2",
    "probes": "request: client -> server, answer: 10kb, every: 500ms",
    "page": "page: client -> server",
    "pages": "page: client -> server, every: 500ms",
    "ping": "ping: client -> server",
    "datagrams": "udp: client -> server, rate: 1mbit, flows: 2",
    "call": "call: client -> server",
    "game": "game: client -> server",
    "video": "video: client -> server",
    "endpoint": f"endpoint: {ENDPOINT}, from: client, to: server",
    **{preset: f"preset: {preset}, hosts: [client, server]" for preset in ("rrul", "responsiveness", "http-1up")},
    "named as one of two": "tcp: client -> server, name: upload.1",
    "named as a probe": "tcp: client -> server, name: probe.3",
    "named as a request": "tcp: client -> server, name: request, size: 10kb, arrivals: periodic 10/s",
    "named as a page": "udp: client -> server, rate: 1mbit, name: page.2",
    "named as a direction": "tcp: client -> server, name: call.there",
    "named as a renamed one": "tcp: client -> server, name: upload.1, flows: 2",
}


def read(*entries: str) -> Experiment:
    return loads(HEAD + "".join(f"  - {{{ENTRIES[entry]}}}\n" for entry in entries))


def names(experiment: Experiment) -> list[str]:
    return [flow.name for run in experiment.runs() for flow in run.scenario.traffic]


def test_each_kind_of_traffic_is_among_the_entries() -> None:
    kinds = {words.partition(":")[0] for words in ENTRIES.values()}
    assert {*traffic.KINDS, "preset"} <= kinds and "responsiveness" in PRESETS


@pytest.mark.parametrize("first", ENTRIES)
def test_two_entries_have_names_of_their_own_or_are_refused_with_the_lines_of_both(first: str) -> None:
    for second in ENTRIES:
        try:
            found = names(read(first, second))
        except ScenarioError as error:
            assert any("name:" in ENTRIES[each] for each in (first, second)), f"{second}: {error}"
            assert "experiment:5: traffic[1].name" in str(error) and "traffic[0] (line 4)" in str(error)
        else:
            assert len(found) == len(set(found)), second


def test_three_entries_without_names_are_numbered_apart() -> None:
    unnamed = ["two flows", "arrivals", "probes", "pages", "responsiveness"]
    for entries in product(unnamed, repeat=3):
        found = names(read(*entries))
        assert len(found) == len(set(found)), entries


def test_an_entry_with_a_name_keeps_it_and_the_others_take_the_next_numbers() -> None:
    found = names(read("two flows", "arrivals", "named as one of two"))
    assert found[:3] == ["upload.2.1", "upload.2.2", "upload.3.1"] and found[-1] == "upload.1"


def test_arrivals_and_a_flow_with_the_name_of_one_of_them_are_refused() -> None:
    with pytest.raises(ScenarioError) as refused:
        loads(HEAD + "  - {tcp: client -> server, name: x, size: 1kb, arrivals: periodic 1/s}\n"
              "  - {ping: client -> server, name: x.70}\n")  # fmt: skip
    assert str(refused.value) == (
        "experiment:5: traffic[1].name: the name `x.70` is already used by traffic[0] (line 4)\n"
        "  hint: give each entry a `name` of its own; the flows of traffic[0] are x.1, x.2, ..."
    )


@pytest.mark.parametrize(
    ("name", "base"), [("x.7", "x"), ("x.y.12", "x.y"), ("x.07", None), ("x.0", None), ("7", None)]
)
def test_only_numbers_as_flows_are_numbered_count(name: str, base: str | None) -> None:
    assert counted(name) == base


def test_a_run_with_one_name_twice_is_refused_as_a_defect() -> None:
    with pytest.raises(NotUnique, match="several flows have the name `a`"):
        unique("flows", ["a", "b", "a"])

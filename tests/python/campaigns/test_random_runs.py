"""Experiments drawn at random over all keys: a few of `make campaign-random`, and what that campaign looks at."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from pydantic import Field

from campaigns import random_runs
from conformance import random_algorithms as algorithms
from conformance import random_keys, schema_walk
from tailback import _core
from tailback.backends.sim import Sim
from tailback.resolved import to_text
from tailback.results import RunPlan
from tailback.scenario import load
from tailback.scenario.sysctl import SYSCTLS
from tailback.scenario.values import Section
from tailback.sweep.plan import plan_of

RUNS, SEED = 24, 3
DRAWN = 2200
"""Enough for the rarest key."""


def test_each_key_of_the_schema_is_drawn_or_left_out_for_a_reason() -> None:
    assert random_keys.unknown() == [], "teach conformance/random_keys.py how to draw these"
    left_out = {name for name in schema_walk.all_of_schema() if random_keys.is_left_out(name)}
    there = left_out | {name.partition(".")[0] for name in left_out}
    assert {name for name in random_keys.LEFT_OUT if name in there or f"Tcp.{name}" in there} == {
        *random_keys.LEFT_OUT
    }, "a key that there is no longer"


def test_a_key_that_nobody_knows_how_to_draw_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Longer(Section):
        made_up: str | None = Field(None, description="Nobody knows.")
        known: bool = Field(False, description="Drawn by its schema.")

    monkeypatch.setattr(random_keys, "models", lambda: [Longer])
    assert random_keys.unknown() == ["Longer.made_up"]


@pytest.fixture(scope="module")
def drawn() -> list[dict[str, Any]]:
    return [random_keys.drawn(number) for number in range(DRAWN)]


def test_all_keys_and_choices_of_the_schema_are_among_what_is_drawn(drawn: list[dict[str, Any]]) -> None:
    found = set().union(*map(schema_walk.used, drawn))
    known = schema_walk.all_of_schema()
    assert sorted(found - known) == []
    assert sorted(name for name in known - found if not random_keys.is_left_out(name)) == []


def test_the_walk_tells_keys_of_one_name_in_several_mappings() -> None:
    text = {
        "links": [{"ends": ["a", "b"], "bql": [True, "off"], "schedule": [{"at": "1s", "jitter": "1ms"}]}],
        "traffic": [{"tcp": "a -> b", "cc": {"python": "x.py"}}],
        "duration": "1s",
    }
    assert schema_walk.used(text) == {
        "Keys.links", "Link.ends", "Link.bql", "Link.bql=true", "Link.bql=off", "Link.schedule", "Change.at",
        "Change.jitter", "Keys.traffic", "Tcp.tcp", "Tcp.cc", "Tcp.cc.python",
        "Keys.duration",
    }  # fmt: skip


def test_all_rows_of_the_registries_are_among_what_is_drawn(drawn: list[dict[str, Any]]) -> None:
    words = set(re.findall(r"[\w.-]+", json.dumps(drawn)))
    rows = [*algorithms.REGISTRY.qdiscs, *algorithms.REGISTRY.congestion_controls, *algorithms.REGISTRY.drivers]
    assert sorted({row.name for row in rows} - words) == []
    assert sorted({row.name for row in SYSCTLS} - words) == []
    controls = {one.name for row in algorithms.REGISTRY.congestion_controls for one in row.parameters}
    assert sorted(controls - words) == []


def test_scripts_of_tc_with_and_without_size_tables_are_among_what_is_drawn(drawn: list[dict[str, Any]]) -> None:
    texts = [text for one in drawn for text in one.get("qdiscs", {}).values() if isinstance(text, str)]
    for word in ("tc qdisc add", "tc class add", "tc filter add", "stab", "#!/bin/sh", "qdisc cake 8001: root"):
        assert any(word in text for text in texts), word
    assert any(text.startswith("stab") for text in texts)
    assert any(isinstance(text, list) for one in drawn for text in one.get("qdiscs", {}).values())


@pytest.mark.parametrize("part", range(2))
def test_runs_drawn_at_random_are_sound(part: int, tmp_path: Path) -> None:
    tally = random_runs.campaign(RUNS // 2, 10 * SEED + part, tmp_path)
    assert tally.finds == [] and tally.runs >= RUNS // 2


EXPERIMENT = """\
links: [{ends: [a, b], rate: 1mbit, delay: 10ms}]
traffic: [{tcp: a -> b, name: up}, {ping: a -> b, interval: 20ms}]
duration: 300ms
"""


@pytest.fixture
def run(tmp_path: Path) -> RunPlan:
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    return plan_of(load(tmp_path / "x.yaml"), Sim()).runs[0]


class Another(random_runs.Checked):
    """A build that gives something else."""

    def __init__(self) -> None:
        """No process."""

    def digest(self, scenario: str) -> str:
        return f"other than {len(scenario)}"


def test_what_the_checked_build_says_otherwise_is_found(run: RunPlan) -> None:
    assert list(random_runs.judged(run, None)) == []
    assert [found.partition(":")[0] for found in random_runs.judged(run, Another())] == ["the build with assertions"]


def test_more_than_a_link_carries_and_less_than_its_delay_is_found(run: RunPlan) -> None:
    outcome = _core.run(to_text(run.scenario).decode(), None)
    tables = outcome["tables"]
    (link,) = run.scenario.links
    slow = replace(run.scenario, links=(replace(link, rate_bps=(1000, 1000)),))
    long = replace(run.scenario, links=(replace(link, delay_ns=(90_000_000, 90_000_000)),))
    assert [found.partition(" ")[0] for found in random_runs.too_much(slow, tables)] == ["up"]
    assert [found.partition(":")[0] for found in random_runs.too_soon(long, tables)] == ["up", "ping"]
    assert not [*random_runs.too_much(run.scenario, tables), *random_runs.too_soon(run.scenario, tables)]


def test_a_link_that_duplicates_gives_up_to_twice_what_its_rate_carries(run: RunPlan) -> None:
    outcome = _core.run(to_text(run.scenario).decode(), None)
    tables = outcome["tables"]
    (link,), flows = run.scenario.links, tables["flows"]
    received = float(np.frombuffer(flows.numbers("bytes")).sum())
    for share, found in ((0.75, False), (0.25, True)):
        rate = int(share * received * 8e9 / run.scenario.duration_ns)
        doubled = replace(link, rate_bps=(rate, rate), netem=({"duplicate": {"p": 0.1}}, None))
        slow = replace(run.scenario, links=(doubled,))
        assert bool([*random_runs.too_much(slow, tables)]) == found


def test_two_rows_of_a_flow_at_one_time_are_found(run: RunPlan) -> None:
    outcome = _core.run(to_text(run.scenario).decode(), None)
    flows = outcome["tables"]["flows"]
    assert not list(random_runs.named_twice(run.scenario, outcome, {"flows": flows}))
    twice = Flows(flows)
    found = list(random_runs.named_twice(run.scenario, outcome, {"flows": twice}))  # type: ignore[dict-item]
    assert [text.partition(" has")[0] for text in found] == ["flow 0"]


class Flows:
    """A table of flows in which all rows are of one time and one flow."""

    def __init__(self, table: _core.Table) -> None:
        self._rows = len(table)

    def words(self, _column: str) -> tuple[bytes, list[str]]:
        return bytes(8 * self._rows), ["up"]

    def numbers(self, _column: str) -> bytes:
        return bytes(8 * self._rows)


def test_numbers_are_found_at_any_depth() -> None:
    summary = {"a": [1, {"b": float("nan")}], "c": "text", "d": True}
    assert [place for place, _ in random_runs.numbers_in(summary, "")] == [".a", ".a.b"]


def test_models_are_sections() -> None:
    assert all(issubclass(model, Section) for model in random_keys.models())

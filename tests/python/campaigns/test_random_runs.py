"""Experiments drawn at random over all keys: a few of `make campaign-random`, and what that campaign looks at."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from pydantic import Field

from campaigns import random_runs
from conformance import random_keys
from tailback import _core
from tailback.backends.sim import Sim
from tailback.resolved import to_text
from tailback.results import RunPlan
from tailback.scenario import load
from tailback.scenario.values import Section
from tailback.sweep.plan import plan_of

RUNS, SEED = 24, 3
DRAWN = 1500
"""Enough for the rarest key."""


def test_each_key_of_the_schema_is_drawn_or_left_out_for_a_reason() -> None:
    assert random_keys.unknown() == [], "teach conformance/random_keys.py how to draw these"
    left_out = {f"{model.__name__}.{key}" for model in random_keys.models() for key in model.model_fields}
    assert set(random_keys.LEFT_OUT) <= left_out, "a key that there is no longer"


def test_a_key_that_nobody_knows_how_to_draw_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Longer(Section):
        made_up: str | None = Field(None, description="Nobody knows.")
        known: bool = Field(False, description="Drawn by its schema.")

    monkeypatch.setattr(random_keys, "models", lambda: [Longer])
    assert random_keys.unknown() == ["Longer.made_up"]


def test_all_keys_and_all_kinds_are_among_what_is_drawn() -> None:
    found: set[str] = set()
    for number in range(DRAWN):
        found.update(random_keys.keys_of(random_keys.drawn(number)))
    keys = {key for model in random_keys.models() for key in model.model_fields}
    assert keys - found == {key.partition(".")[2] for key in random_keys.LEFT_OUT}


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
    tables = {name: _core.Table(stream) for name, stream in outcome["tables"].items()}
    (link,) = run.scenario.links
    slow = replace(run.scenario, links=(replace(link, rate_bps=(1000, 1000)),))
    long = replace(run.scenario, links=(replace(link, delay_ns=(90_000_000, 90_000_000)),))
    assert [found.partition(" ")[0] for found in random_runs.too_much(slow, tables)] == ["up"]
    assert [found.partition(":")[0] for found in random_runs.too_soon(long, tables)] == ["up", "ping"]
    assert not [*random_runs.too_much(run.scenario, tables), *random_runs.too_soon(run.scenario, tables)]


def test_numbers_are_found_at_any_depth() -> None:
    summary = {"a": [1, {"b": float("nan")}], "c": "text", "d": True}
    assert [place for place, _ in random_runs.numbers_in(summary, "")] == [".a", ".a.b"]


def test_models_are_sections() -> None:
    assert all(issubclass(model, Section) for model in random_keys.models())

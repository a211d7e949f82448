"""The JSON Schema; any file is resolved or refused with a message."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tailback.scenario import Experiment, Registry, ScenarioError, json_schema, lint, load, loads, title_of
from tailback.scenario.schema import Keys, keys_at, traffic_tags

EXPERIMENTS = Path(__file__).parents[3] / "experiments"


def properties(schema: Any) -> Iterator[tuple[str, Any]]:
    for model in [schema, *schema["$defs"].values()]:
        yield from model["properties"].items()


def test_every_key_has_a_description() -> None:
    assert [name for name, key in properties(json_schema()) if not key.get("description")] == []


def test_the_schema_refuses_unknown_keys_and_asks_for_units() -> None:
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["links", "traffic", "duration"]
    assert schema["properties"]["duration"]["type"] == "string"
    assert schema["$defs"]["Link"]["properties"]["rate"]["anyOf"][0]["type"] == "string"


def test_hints_know_the_keys_of_every_place() -> None:
    assert keys_at(()) == tuple(Keys.model_fields)
    assert all(keys_at(("traffic", 0, tag)) for tag in traffic_tags())
    assert "delay" in keys_at(("links", 0))
    assert keys_at(("nowhere",)) == ()


STUDIED = {
    "coexistence": {"no-marks", "scalable-in-classic-queue"},
    "drain-time": {"slow-start-measured"},
    "duel": {"no-marks"},
    "fig8b": {"netem-limit"},
    "high-delay": {"slow-start-measured"},
    "l4s": {"no-marks", "scalable-in-classic-queue"},
    "matrix": {"ecn-not-requested", "no-marks"},
    "paths": {"adaptive-without-effect", "slow-start-measured"},
    "sysctls": {"few-pings", "large-skbs", "queue-below-bdp", "slow-start-measured"},
    "trap": {"slow-start-measured"},
    "versions-dualpi2": {"slow-start-measured"},
}
"""Warnings about what files of conformance compare with a kernel on purpose, `dctcp` over a FIFO among it; about
netem's default limit, which a paper does not change; about the start and its phases, which an assessment is about."""

BUFFERS = {"queue-below-bdp"}
"""Shallow buffers are among the paths of an assessment and of a search, and what labs are about."""


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_the_experiments_of_the_library_are_sound(path: Path) -> None:
    experiment = load(path)
    assert experiment.runs()
    assert title_of(path) == experiment.title
    found = [warning for warning in lint(experiment) if warning.severity == "warning"]
    studied = STUDIED.get(path.stem, set()) | (BUFFERS if {"assess", "labs", "search"} & set(path.parts) else set())
    assert [str(warning) for warning in found if warning.code not in studied] == []


def test_the_grid_of_access21_is_complete(registry: Registry) -> None:
    path = EXPERIMENTS / "papers" / "access21" / "fig5.yaml"
    experiment = loads(path.read_text(), registry=registry)
    assert experiment.axes == {
        "bottleneck": ["L10M", "R10M", "L100M", "R100M", "LR1000M"],
        "cc": ["cubic", "bbr"],
        "qdisc": ["pfifo_fast", "fq_codel"],
        "tsq": ["1ms", "off"],
    }
    assert len(experiment.runs()) == 5 * 2 * 2 * 2 * 5
    assert {sum(sum(link.delay_ns) for link in run.scenario.links) for run in experiment.runs()} == {1_000_000}


WORDS = st.sampled_from(
    """client router server a 1gbit 5ms -1s 0s 40 100p off cubic bbr pfifo htb ${x} ${y} client->router
    client->server true null tcp_nup [] {} x:y""".split()  # noqa: SIM905  # one word per line is no easier to read
)
VALUES = st.recursive(
    st.one_of(WORDS, st.integers(), st.booleans(), st.none(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(WORDS, st.sampled_from([*Keys.model_fields, "tcp", "ping", "ends"])), inner, max_size=3
        ),
    ),
    max_leaves=8,
)


@st.composite
def files(draw: DrawFn) -> str:
    """A valid file in which some keys have arbitrary values."""
    import json

    keys: dict[str, Any] = {
        "let": {"x": "pfifo"},
        "links": [{"ends": ["client", "router"], "rate": "1gbit"}, {"ends": ["router", "server"]}],
        "qdiscs": {"client -> router": "htb rate 1mbit | ${x}"},
        "traffic": [{"tcp": "client -> server"}, {"ping": "client -> server"}],
        "duration": "10s",
        "vary": {"cc": ["cubic", "bbr"]},
    }
    for key in draw(st.lists(st.sampled_from(list(Keys.model_fields)), max_size=3)):
        keys[key] = draw(VALUES)
    if draw(st.booleans()):
        keys["traffic"] = [draw(st.dictionaries(st.sampled_from(list(TRAFFIC_KEYS)), VALUES, max_size=5))]
    return json.dumps(keys)


TRAFFIC_KEYS = {key for model in traffic_tags().values() for key in model.model_fields}


@given(
    text=files(),
    override=st.one_of(st.text(), st.builds("{}={}".format, st.sampled_from(list(Keys.model_fields)), WORDS)),
)
def test_any_file_is_resolved_or_refused_in_words(text: str, override: str) -> None:
    for overrides in ([], [override]):
        _resolved_or_refused(text, overrides)


def _resolved_or_refused(text: str, overrides: list[str]) -> None:
    try:
        experiment: Experiment = loads(text, overrides, RegistryOfTests.rows)
    except ScenarioError as error:
        assert error.findings
        assert all(finding.message and finding.hint for finding in error.findings)
        return
    configuration = experiment.configurations[0]
    if configuration.keys.repeat.max < 10 and sum(len(run.directions) for run in experiment.runs()) < 1000:
        assert all(run.scenario.duration_ns > 0 for run in experiment.runs())
        lint(experiment)


class RegistryOfTests:
    """The registry, for property tests, which cannot use fixtures."""

    rows: Registry


@pytest.fixture(autouse=True)
def _registry(registry: Registry) -> None:
    RegistryOfTests.rows = registry

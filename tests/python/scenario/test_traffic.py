"""A kind of traffic is one file and one row: a toy added by its row is read, checked and resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field

from tailback.resolved import Udp
from tailback.scenario import ScenarioError, loads, schema, traffic
from tailback.scenario.network import Problem
from tailback.scenario.size import parts
from tailback.scenario.traffic import Flow, Kind
from tailback.scenario.traffic.kind import Resolved, Rows
from tailback.scenario.traffic.registry import ROWS
from tailback.scenario.values import Arrow, Section, Span, Time

ROOT = Path(__file__).parents[3]
SECOND = 10**9

# -- what `python/tailback/scenario/traffic/call.py` would hold


class Call(Section):
    """A call: a frame each so often, both ways."""

    call: Arrow = Field(description="Who calls whom.")
    frame: Span = Field("20ms", validate_default=True, description="From one frame to the next.")
    start: Time = Field("0s", validate_default=True, description="The first frame.")


@dataclass(frozen=True, kw_only=True)
class Frames(Flow):
    """Frames both ways."""

    kind: ClassVar[str] = "call"

    frame_ns: int


def meant(entry: Call, loc: Any, file: traffic.File) -> Frames:
    return Frames(
        loc=loc, names=("call",), direction=entry.call, start_ns=entry.start, stop_ns=file.duration, jitter_ns=0,
        dscp=0, frame_ns=entry.frame,
    )  # fmt: skip


def wrong(flow: Frames, _most: int) -> Iterator[Problem]:
    if flow.frame_ns >= SECOND:
        yield Problem((*flow.loc, "frame"), "a frame a second is no call", "call more often")


def resolved_call(flow: Frames, at: Resolved) -> Udp:
    rate = 172 * 8 * SECOND // flow.frame_ns
    return Udp(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns or 0,
        rate_bps=rate, size=172, sndbuf=None,
    )  # fmt: skip


ROW = Kind(
    "call",
    keys=Call,
    flow=meant,
    resolved=resolved_call,
    problems=wrong,
    packets="there and back",
    carries="data",
    rows=lambda flow: Rows((*flow.loc, "frame"), flow.frame_ns, "calls", flow.lasts_ns // flow.frame_ns),
)

EXPERIMENT = """
links: [{{ends: [client, server], rate: 10mbit}}]
traffic: [{{call: client -> server, frame: {frame}}}, {{tcp: client -> server}}]
duration: 10s
"""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Its row among the others."""
    with monkeypatch.context() as added:
        added.setitem(traffic.KINDS, "call", ROW)
        schema.Keys.model_rebuild(force=True)
        yield
    schema.Keys.model_rebuild(force=True)


@pytest.mark.usefixtures("call")
def test_a_kind_added_by_a_row_is_read_estimated_and_resolved() -> None:
    experiment = loads(EXPERIMENT.format(frame="20ms"))
    (run, *_) = experiment.runs()
    (entry,) = run.scenario.udp
    assert entry == Udp(
        name="call", source=0, target=1, start_ns=0, stop_ns=10 * SECOND, rate_bps=68_800, size=172, sndbuf=None
    )
    estimated = {part.loc: part.rows for part in parts(experiment.configurations[0].keys)}
    assert estimated["traffic", 0, "frame"] == {"calls": 500}
    assert run.directions == {"call": "up", "upload": "up"}


@pytest.mark.usefixtures("call")
def test_its_checks_are_made_and_its_keys_are_known() -> None:
    with pytest.raises(ScenarioError, match="a frame a second is no call"):
        loads(EXPERIMENT.format(frame="1s"))
    with pytest.raises(ScenarioError, match="frames"):
        loads(EXPERIMENT.format(frame="1s").replace("frame:", "frames:"))
    with pytest.raises(ScenarioError, match="exactly one of the keys tcp, udp, ping, call and preset"):
        loads(EXPERIMENT.format(frame="1s").replace("call:", "phone:"))


def test_without_its_row_it_is_refused_by_name() -> None:
    with pytest.raises(ScenarioError, match="exactly one of the keys tcp, udp, ping and preset"):
        loads(EXPERIMENT.format(frame="20ms"))
    with pytest.raises(traffic.NotListed, match=r"`call` has no row in .*traffic/registry.py\n  hint: write .*call.py"):
        traffic.of("call")


def test_python_and_the_simulator_have_the_same_kinds() -> None:
    """One file and one row each on both sides."""
    application = (ROOT / "crates" / "world" / "src" / "app.rs").read_text(encoding="utf-8")
    table = application.split("\nkinds! {\n")[1].split("\n}\n")[0]
    simulated = [line.strip().split("(")[0].lower() for line in table.splitlines() if line.strip()[:1].isupper()]
    assert sorted(simulated) == sorted(row.kind for row in ROWS) == sorted(traffic.KINDS)

"""A toy kind of traffic, added as CONTRIBUTING says, is read, checked, resolved, sent to the agent, refused and
measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import field
from pydantic import Field

from fake_backend import FakeBackend
from tailback import testbed
from tailback.backends.linux import suitable
from tailback.backends.linux.job import job_of
from tailback.backends.linux.sockets import FIRST_PORT
from tailback.backends.ssh import plan
from tailback.backends.ssh import suitable as on_testbed
from tailback.backends.ssh.layout import Layout
from tailback.formats.flent.names import named
from tailback.resolved import Scenario, of_json, to_json
from tailback.resolved import traffic as resolved_traffic
from tailback.resolved.fields import written
from tailback.resolved.traffic import Entry, Refusal, Transport
from tailback.scenario import ScenarioError, loads, schema, traffic
from tailback.scenario.network import Problem
from tailback.scenario.size import parts
from tailback.scenario.traffic import Flow, Kind
from tailback.scenario.traffic.kind import Resolved, Rows
from tailback.scenario.values import Arrow, Section, Span, Time
from tailback.sweep.plan import plan_of
from tailback.sweep.work import measure_of

ROOT = Path(__file__).parents[3]
SECOND = 10**9

# -- what `python/tailback/resolved/traffic.py` would hold


class ResolvedSensor(Entry, frozen=True, kw_only=True, tag="sensor"):
    """A sensor of the resolved scenario."""

    kind: ClassVar[str] = "sensor"
    transport: ClassVar[Transport] = "udp"

    name: str
    source: int = field(name="from")
    target: int = field(name="to")
    start_ns: int
    stop_ns: int
    frame_ns: int
    dscp: int = written(0)

    def refused(self) -> Iterator[Refusal]:
        """The agent sends at most one frame per millisecond."""
        if self.frame_ns < 10**6:
            yield f"the frames of `{self.name}` are too many", "measure less often"


# -- what `python/tailback/scenario/traffic/sensor.py` would hold


class Sensor(Section):
    """A sensor: frames at a regular interval."""

    sensor: Arrow = Field(description="Who measures for whom.")
    frame: Span = Field("20ms", validate_default=True, description="From one frame to the next.")
    start: Time = Field("0s", validate_default=True, description="The first frame.")


class Frames(Flow, frozen=True, kw_only=True):
    """Frames at a regular interval."""

    kind: ClassVar[str] = "sensor"

    frame_ns: int


def meant(entry: Sensor, loc: Any, file: traffic.File) -> Frames:
    return Frames(
        loc=loc, names=("sensor",), direction=entry.sensor, start_ns=entry.start, stop_ns=file.duration, jitter_ns=0,
        dscp=0, frame_ns=entry.frame,
    )  # fmt: skip


def wrong(flow: Frames, _most: int) -> Iterator[Problem]:
    if flow.frame_ns >= SECOND:
        yield Problem((*flow.loc, "frame"), "a frame a second is no measurement", "measure more often")


def resolved_sensor(flow: Frames, at: Resolved) -> Any:
    return ResolvedSensor(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns or 0,
        frame_ns=flow.frame_ns,
    )  # fmt: skip


ROW = Kind(
    "sensor",
    keys=Sensor,
    flow=meant,
    resolved=resolved_sensor,
    problems=wrong,
    packets="there and back",
    carries="data",
    rows=lambda flow: Rows((*flow.loc, "frame"), flow.frame_ns, "sensors", flow.lasts_ns // flow.frame_ns),
)

EXPERIMENT = """
links: [{{ends: [client, server], rate: 10mbit}}]
traffic: [{{sensor: client -> server, frame: {frame}}}, {{tcp: client -> server}}]
duration: 10s
"""


@pytest.fixture
def sensor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Adds its class and its row to the others."""
    with monkeypatch.context() as added:
        added.setitem(traffic.KINDS, "sensor", ROW)
        added.setattr(resolved_traffic, "FLOWS", (*resolved_traffic.FLOWS, ResolvedSensor))
        schema.Keys.model_rebuild(force=True)
        yield
    schema.Keys.model_rebuild(force=True)


@pytest.mark.usefixtures("sensor")
def test_a_kind_added_by_a_row_is_read_estimated_and_resolved() -> None:
    experiment = loads(EXPERIMENT.format(frame="20ms"))
    (run, *_) = experiment.runs()
    entry: object = run.scenario.traffic[0]
    assert entry == ResolvedSensor(
        name="sensor", source=0, target=1, start_ns=0, stop_ns=10 * SECOND, frame_ns=20_000_000
    )
    estimated = {part.loc: part.rows for part in parts(experiment.configurations[0].keys)}
    assert estimated["traffic", 0, "frame"] == {"sensors": 500}
    assert run.directions == {"sensor": "up", "upload": "up"}


@pytest.mark.usefixtures("sensor")
def test_its_checks_are_made_and_its_keys_are_known() -> None:
    with pytest.raises(ScenarioError, match="a frame a second is no measurement"):
        loads(EXPERIMENT.format(frame="1s"))
    with pytest.raises(ScenarioError, match="frames"):
        loads(EXPERIMENT.format(frame="1s").replace("frame:", "frames:"))
    with pytest.raises(
        ScenarioError,
        match="one of the keys tcp, udp, ping, call, game, request, page, video, endpoint, sensor, program and preset",
    ):
        loads(EXPERIMENT.format(frame="1s").replace("sensor:", "phone:"))


TESTBED = """
hosts:
  client: {address: 192.0.2.7, interfaces: {server: {device: eth1, address: 10.0.1.1/24}}}
  server: {address: 192.0.2.8, interfaces: {client: {device: eth1, address: 10.0.1.2/24}}}
"""


def scenario_of(frame: str) -> Scenario:
    return loads(EXPERIMENT.format(frame=frame)).runs()[0].scenario


@pytest.mark.usefixtures("sensor")
def test_the_agents_of_a_testbed_are_notified() -> None:
    layout = Layout(scenario_of("20ms"), testbed.loads(TESTBED), {})
    told = next(told for told in plan.job_of(layout, "token")["traffic"] if told["traffic"]["name"] == "sensor")
    assert told == {
        "traffic": to_json(layout.scenario)["traffic"][0], "address": "10.0.1.2", "port": FIRST_PORT, "token": "token",
    }  # fmt: skip


@pytest.mark.usefixtures("sensor")
def test_a_kernel_is_told_of_it_what_the_scenario_says() -> None:
    scenario = scenario_of("20ms")
    assert list(suitable.findings(scenario)) == []
    assert [told["traffic"] for told in job_of(scenario)["traffic"]] == to_json(scenario)["traffic"]
    assert list(on_testbed.written(scenario, testbed.loads(TESTBED))) == []


@pytest.mark.usefixtures("sensor")
def test_what_a_testbed_cannot_run_of_it_is_refused() -> None:
    (found,) = on_testbed.written(scenario_of("0.5ms"), testbed.loads(TESTBED))
    assert (found.verdict, found.says) == (
        "fail",
        "Tailback does not ask a kernel for this yet: the frames of `sensor` are too many",
    )


@pytest.mark.usefixtures("sensor")
def test_it_is_measured_as_data_and_flent_has_it_as_a_flow() -> None:
    (run,) = plan_of(loads(EXPERIMENT.format(frame="20ms")), FakeBackend()).runs
    measure = measure_of(run)
    assert (measure.tcp_flows, measure.other_flows) == (("upload",), ("sensor",))
    assert named(run.scenario.traffic[:1], run.directions, None).test == "udp_flood"


@pytest.mark.usefixtures("sensor")
def test_it_is_in_the_json_of_a_scenario_and_read_from_it() -> None:
    scenario = scenario_of("20ms")
    document = to_json(scenario)
    assert document["traffic"][0] == {
        "kind": "sensor", "name": "sensor", "from": 0, "to": 1, "start_ns": 0, "stop_ns": 10 * SECOND,
        "frame_ns": 20_000_000, "dscp": 0,
    }  # fmt: skip
    assert of_json(document) == scenario


def test_without_its_row_it_is_refused_by_name() -> None:
    with pytest.raises(
        ScenarioError,
        match="exactly one of the keys tcp, udp, ping, call, game, request, page, video, endpoint, program and preset",
    ):
        loads(EXPERIMENT.format(frame="20ms"))
    with pytest.raises(traffic.NotListed, match=r"`sensor` is not in .*traffic/registry.py\n  hint: write .*sensor.py"):
        traffic.of("sensor")


def test_python_and_the_crate_have_the_same_kinds() -> None:
    """One file and one row each on both sides; a kind whose flows are of another kind has only those of Python."""
    rows_of_crate = (ROOT / "crates" / "traffic" / "src" / "lib.rs").read_text(encoding="utf-8")
    table = rows_of_crate.split("\nkinds! {\n")[1].split("\n}\n")[0].split("#[cfg(any(")[0]
    known = [line.strip().split("(")[0].lower() for line in table.splitlines() if line.strip()[:1].isupper()]
    rows = traffic.KINDS.values()
    assert sorted(known) == sorted(row.kind for row in rows if row.opens_as is None)
    assert [row.kind for row in rows] == list(traffic.KINDS)
    assert {row.opens_as for row in rows} <= {None, *known}

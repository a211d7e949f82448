"""Links that deliver at the times of a trace: on a kernel with our discipline, and refused on others."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from backends.conftest import SECOND, flow, link
from backends.uml.test_captures import captured, streams
from tailback.backends import Unsuitable
from tailback.backends.linux import suitable
from tailback.backends.linux.job import job_of
from tailback.backends.sim import Sim
from tailback.backends.uml import Uml
from tailback.backends.uml import suitable as of_uml
from tailback.resolved import of_json

Make = Callable[..., dict[str, Any]]
DOWN_MS = [3, 4, 4, 7, 11, 11, 11, 16, 17, 23]
UP_MS = [2, 5, 9]


def cellular(make: Make) -> dict[str, Any]:
    """A download over a trace of ten opportunities in 23 ms, 5.2 Mbit/s; a ping.

    Packets come between the times of the traces: the clock of a guest advances a little with each reading, so that one
    that comes at the time of an opportunity may be late for it.
    """
    far = link(1, 2, delay_ns=[300_000, 300_000])
    given = make(links=[link(0, 1, delay_ns=[5_000_000, 5_000_000], trace=[0, 1]), far])
    given["traces"] = [{"sha256": "0" * 64, "stamps_ms": stamps} for stamps in (UP_MS, DOWN_MS)]
    given["qdiscs"] = [{"host": 1, "link": 0, "root": {"kind": "fq_codel", "options": {}, "child": None}}]
    given["traffic"] = [flow(1, stop_ns=3 * SECOND) | {"from": 2, "to": 0}, given["traffic"][-1]]
    given["duration_ns"] = 3 * SECOND
    given["record"]["pcap"] = [0]
    return given


@pytest.fixture
def with_traces(uml: Uml) -> Uml:
    if not uml.kernel.has("NET_SCH_OPPORTUNITIES"):
        pytest.skip("this kernel is older than the patch: tailback kernel build")
    return uml


def test_packets_leave_at_the_same_opportunities_as_in_the_simulator(
    with_traces: Uml, scenario: Make, tmp_path: Path
) -> None:
    given = cellular(scenario)
    ours, kernels = (streams(captured(each, given, tmp_path)["client"]) for each in (Sim(), with_traces))
    # Echo replies before the download, and its first segments, before the first drops.
    for protocol, count in (("1", 6), ("6", 100)):
        stream = ("client -> router", "0x00000001", protocol)
        pairs = zip(kernels[stream][:count], ours[stream][:count], strict=True)
        for (at, *packet), (when, *expected) in pairs:
            assert packet == expected
            assert float(at) == pytest.approx(float(when), abs=20e-6)


def test_the_rate_is_that_of_the_trace_and_the_discipline_under_test_holds_the_queue(
    with_traces: Uml, scenario: Make
) -> None:
    given = of_json(cellular(scenario))
    result = with_traces.run(given, with_traces.new_progress())
    queue = result.tables["qdisc"].to_arrow().to_pandas()
    mine = queue[queue["device"] == "router -> client"]
    assert set(mine["kind"]) == {"fq_codel"}
    assert set(mine["depth"]) == {0}
    assert mine["backlog_packets"].max() > 5
    flows = result.tables["flows"].to_arrow().to_pandas()
    bits_per_s = flows[flows["t"] > 2]["bytes"].sum() * 8
    # Ten times 1448 bytes of data in 23 ms, less what echo replies take.
    assert bits_per_s == pytest.approx(10 * 1448 * 8 / 0.023, rel=0.05)


def test_a_kernel_without_the_discipline_refuses_a_trace_and_says_who_does_not(scenario: Make) -> None:
    given = of_json(cellular(scenario))
    ((what, remedy),) = suitable.traces(given)
    assert "client - router has a trace" in what
    assert "--backend uml" in remedy
    manifest = SimpleNamespace(name="old", version="6.12.1")
    old: Any = SimpleNamespace(manifest=manifest, has=lambda symbol: "OPPORTUNITIES" not in symbol)
    with pytest.raises(Unsuitable, match="has a trace"):
        of_uml.check(given, old)


def test_the_times_are_handed_to_the_agent_and_the_discipline_is_the_root(scenario: Make) -> None:
    job = job_of(of_json(cellular(scenario)))
    assert job["traces"] == [
        {"host": 0, "device": "l0", "stamps_ms": UP_MS},
        {"host": 1, "device": "l0", "stamps_ms": DOWN_MS},
    ]
    commands = [" ".join(step["argv"][1:]) for step in job["setup"] if step["kind"] == "run" and step["host"] == 1]
    assert "qdisc add dev l0 root handle 1: opportunities" in commands
    assert any(command.startswith("qdisc add dev l0 parent 1:1 handle 2: fq_codel") for command in commands)
    plain = of_json(cellular(scenario))
    assert "traces" not in job_of(
        replace(plain, links=tuple(replace(each, trace=(None, None)) for each in plain.links))
    )

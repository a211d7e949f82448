"""TCP over IPv6 on a kernel that has it, beside the simulator."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailback.backends.sim import Sim
from tailback.backends.uml import Uml
from tailback.kernel import Recipe, build, build_agent, package
from tailback.resolved import of_json

IPV6 = "ipv6"
DATA = 1428
"""Bytes of data in a full segment: a packet of 1500 without 40 of IPv6, 20 of TCP and 12 of timestamps."""

pytestmark = pytest.mark.campaign


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def six() -> Uml:
    """The kernel, which is built if it is not in the cache."""
    build(Recipe(package("6.12"), IPV6, (IPV6,)), print)
    build_agent()
    return Uml.named(IPV6)


def given(scenario: Callable[..., dict[str, Any]], *ips: int) -> dict[str, Any]:
    """A flow over each of these versions of IP, and a ping."""
    found = scenario()
    flow, _, ping = found["traffic"]
    found["traffic"] = [*(flow | {"name": f"v{ip}", "ip": ip} for ip in ips), ping]
    return found


def test_a_flow_over_ipv6_is_as_in_the_simulator(six: Uml, scenario: Callable[..., dict[str, Any]]) -> None:
    wanted = of_json(given(scenario, 6))
    found = []
    for backend in (six, Sim()):
        table = backend.run(wanted, backend.new_progress()).tables["tcp_info"].to_arrow().to_pandas()
        late = table[(table["t"] > 1.2) & (table["t"] < 2.9)]
        found.append((late["rtt"].median(), late["bytes_acked"].iloc[-1] - late["bytes_acked"].iloc[0]))
        # In whole segments, until the last.
        assert (late["bytes_acked"] - 1).mod(DATA).eq(0).all()
    assert found[0] == pytest.approx(found[1], rel=0.03)


def test_flows_over_both_versions_share_a_bottleneck(six: Uml, scenario: Callable[..., dict[str, Any]]) -> None:
    wanted = of_json(given(scenario, 6, 4))
    received = []
    for backend in (six, Sim()):
        table = backend.run(wanted, backend.new_progress()).tables["flows"].to_arrow().to_pandas()
        received.append(table.groupby("flow", observed=True)["bytes"].sum().to_dict())
    assert set(received[0]) == {"v4", "v6"}
    assert received[0] == pytest.approx(received[1], rel=0.1)

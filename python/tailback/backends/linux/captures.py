"""Captures (`measure.pcap`): which devices the agent captures (`crates/agent/src/capture.rs`), and the files it leaves.

A packet that arrives has passed the emulated link, so it is captured when it leaves the ifb behind the device; on a
link without effects there is none. A radio's packets are captured where mac80211 takes them from the host, and hands
them to it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tailback.backends.linux.links import Hop, device_name, is_emulated
from tailback.backends.linux.steps import Json
from tailback.resolved import Scenario


def job_of(scenario: Scenario, hops: Sequence[Hop]) -> Json:
    """The entry of the agent's job; empty if no host is to be captured."""
    wanted = [
        {"host": host, "interfaces": [*_wired(scenario, hops, host), *_radios(scenario, host)]}
        for host in scenario.record.pcap
    ]
    return {"captures": wanted} if wanted else {}


def read(scenario: Scenario, folder: Path) -> dict[str, bytes]:
    """The captures of a run, by the name of their host."""
    return {
        scenario.hosts[host].name: (folder / f"capture-{host}.pcapng").read_bytes() for host in scenario.record.pcap
    }


def radios(scenario: Scenario) -> Iterator[Json]:
    """The devices with a radio: host, device, and name in tables and captures."""
    for number, cell in enumerate(scenario.cells):
        for host in (cell.access_point, *(station.host for station in cell.stations)):
            yield {"host": host, "interface": f"w{number}", "name": f"{scenario.hosts[host].name} -> {cell.name}"}


def _radios(scenario: Scenario, host: int) -> list[Json]:
    mine = (radio for radio in radios(scenario) if radio["host"] == host)
    return [{"name": each["name"], "device": each["interface"], "arrivals": each["interface"]} for each in mine]


def _wired(scenario: Scenario, hops: Sequence[Hop], host: int) -> list[Json]:
    return [_interface(scenario, hop) for hop in hops if hop.host == host]


def _interface(scenario: Scenario, hop: Hop) -> Json:
    towards = Hop(hop.link, 1 - hop.end, hop.neighbour, hop.host)
    emulated = is_emulated(towards, scenario.links[hop.link])
    return {
        "name": device_name(scenario, hop),
        "device": hop.device,
        "arrivals": towards.behind if emulated else hop.device,
    }

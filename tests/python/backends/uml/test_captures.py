"""Captures of the kernel: tshark reads them, and they begin as those of the simulator do."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.conftest import SECOND, flow, link
from tailback.backends.sim import Sim
from tailback.backends.uml import Uml
from tailback.formats.pcap import packets
from tailback.resolved import of_json
from waiting import GENEROUS_S

Make = Callable[..., dict[str, Any]]
TSHARK = shutil.which("tshark")
FIELDS = (
    "_ws.col.Time", "frame.interface_name", "frame.packet_flags_direction", "ip.proto", "frame.len", "ip.dsfield.dscp",
    "tcp.flags", "tcp.seq", "tcp.ack", "tcp.window_size_value", "tcp.len", "tcp.option_kind", "tcp.options.mss_val",
    "tcp.options.wscale.shift", "icmp.type", "udp.length",
)  # fmt: skip


def shown(file: Path, *words: str) -> list[str]:
    assert TSHARK, "tshark is missing: scripts/test-packages.sh installs it"
    command = [TSHARK, "-r", str(file), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GENEROUS_S, check=True)
    return done.stdout.splitlines()


def streams(file: Path) -> dict[tuple[str, ...], list[list[str]]]:
    """The packets by interface, direction and protocol, with what does not depend on addresses and initial numbers.

    Packets of different protocols that pass at one instant have no order.
    """
    words = [word for name in FIELDS for word in ("-e", name)]
    found: dict[tuple[str, ...], list[list[str]]] = {}
    for line in shown(file, "-t", "e", "-T", "fields", *words):
        time, interface, direction, protocol, *rest = line.split("\t")
        found.setdefault((interface, direction, protocol), []).append([time, *rest])
    return found


def captured(backend: Sim | Uml, given: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The files of a run."""
    result = backend.run(of_json(given), backend.new_progress())
    for host, content in result.captures.items():
        (folder / f"{backend.name}-{host}.pcapng").write_bytes(content)
    return {host: folder / f"{backend.name}-{host}.pcapng" for host in result.captures}


def three(make: Make) -> dict[str, Any]:
    """An upload of a second over 10 Mbit/s and a delay, a ping and datagrams, captured at each host."""
    datagrams = {
        "kind": "udp", "name": "datagrams", "from": 2, "to": 0, "start_ns": SECOND, "stop_ns": 2 * SECOND,
        "rate_bps": 100_000, "size": 500, "sndbuf": None, "dscp": 46,
    }  # fmt: skip
    given = make(links=[link(0, 1), link(1, 2, delay_ns=[3_000_000, 2_000_000])])
    ping = given["traffic"][-1]
    given["traffic"] = [flow(1, stop_ns=2 * SECOND), ping, datagrams]
    given["duration_ns"] = 3 * SECOND
    given["record"]["pcap"] = [0, 1, 2]
    return given


def test_a_capture_begins_with_the_same_packets_as_that_of_the_simulator(
    uml: Uml, scenario: Make, tmp_path: Path
) -> None:
    given = three(scenario)
    simulated, real = captured(Sim(), given, tmp_path), captured(uml, given, tmp_path)
    assert list(simulated) == list(real) == ["client", "router", "server"]
    for host in real:
        ours, kernels = streams(simulated[host]), streams(real[host])
        assert set(kernels) == set(ours)
        for stream, packets_of in kernels.items():
            for (at, *packet), (when, *expected) in zip(packets_of[:100], ours[stream], strict=False):
                assert packet == expected, stream
                # The kernel's clock advances a little with each reading.
                assert float(at) == pytest.approx(float(when), abs=20e-6), stream
            assert len(packets_of) == pytest.approx(len(ours[stream]), rel=0.02)


def test_tshark_finds_no_malformed_packet_and_all_of_them_count(uml: Uml, scenario: Make, tmp_path: Path) -> None:
    files = captured(uml, three(scenario), tmp_path)
    for file in files.values():
        assert shown(file, "-Y", "_ws.malformed || _ws.expert.severity == error") == []
        assert sum(map(len, streams(file).values())) == len(packets(file).table)
    assert {interface for interface, _, _ in streams(files["router"])} == {"router -> client", "router -> server"}


def test_a_capture_has_the_same_bytes_each_time_and_moves_round_trips_by_microseconds(uml: Uml, scenario: Make) -> None:
    given = three(scenario)
    first, second = (uml.run(of_json(given), uml.new_progress()) for _ in range(2))
    assert first.captures == second.captures
    given["record"]["pcap"] = []
    without = uml.run(of_json(given), uml.new_progress())
    assert without.captures == {}
    assert without.tables["flows"].to_arrow().equals(first.tables["flows"].to_arrow())
    pairs = zip(*(run.tables["ping"].to_arrow()["rtt_ms"].to_pylist() for run in (first, without)), strict=True)
    # Each time stamp of a packet moves the clock of the guest a little.
    assert max(abs(with_it - rtt_ms) for with_it, rtt_ms in pairs) < 0.01

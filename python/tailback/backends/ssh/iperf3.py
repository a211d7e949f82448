"""`engine: iperf3`: runs the flows with iperf3 instead of our agent.

The agent still sends pings, samples the disciplines, and starts each client at its time. iperf3's reports are converted
to the same tables: bytes received (`flows`); cwnd, RTT and retransmissions of the sender (`tcp_info`).
[iperf3 3.12 --json]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tailback.backends.linux import tables
from tailback.backends.linux.sockets import FIRST_PORT
from tailback.backends.ssh.connection import HostFailed
from tailback.backends.ssh.layout import Layout
from tailback.backends.ssh.programs import Order
from tailback.resolved import Scenario, SocketOptions, Tcp

NAME = "iperf3"
MIN_INTERVAL_NS = 100_000_000
SECOND_NS = 1_000_000_000


def findings(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Features that iperf3 does not support."""
    if scenario.record.interval_ns < MIN_INTERVAL_NS:
        yield "iperf3 reports at most once per 100ms", "measure: {interval: 100ms}, or `engine: agent`"
    for flow in scenario.tcp:
        if flow.writes is not None and flow.writes.on_ns is not None:
            yield f"iperf3 does not pause, and `{flow.name}` has `on` and `off`", "remove them, or `engine: agent`"
        for option in ("sndbuf", "rcvbuf", "rcvlowat", "notsent_lowat"):
            if getattr(flow.socket, option) != getattr(SocketOptions(), option):
                yield f"iperf3 cannot set `{option}` of `{flow.name}` alone", "remove it, or `engine: agent`"


def servers(layout: Layout) -> list[Order]:
    """A server for each flow, at the address of the test network; it ends with its client."""
    return [
        Order(
            layout.name(flow.target),
            f"the iperf3 server of {flow.name}",
            [NAME, "-s", "-1", "-J", "-p", str(port), "-B", _address(layout, flow), "-i", _interval(layout)],
        )
        for port, flow in enumerate(layout.scenario.tcp, FIRST_PORT)
    ]


def clients(layout: Layout, zero_ns: Mapping[str, int]) -> list[Order]:
    """A client for each flow, started with it; `zero_ns` is the start of the run by the clock of each machine."""
    return [
        Order(
            layout.name(flow.source),
            f"the iperf3 client of {flow.name}",
            [
                NAME,
                "-c",
                _address(layout, flow),
                "-p",
                str(port),
                "-J",
                "-i",
                _interval(layout),
                *_options(layout, flow),
            ],
            zero_ns[layout.name(flow.source)] + flow.start_ns,
        )
        for port, flow in enumerate(layout.scenario.tcp, FIRST_PORT)
    ]


def texts(layout: Layout, served: Sequence[bytes], sent: Sequence[bytes]) -> dict[str, str]:
    """The tables in the format of the agent."""
    received: list[tuple[int, str]] = []
    info: list[tuple[int, str]] = []
    # The same columns as in the tables of the agents, which contain the heading.
    columns = ["t_ns" if name == "t" else name for name in tables.COLUMNS["tcp_info"]]
    for flow, server, client in zip(layout.scenario.tcp, served, sent, strict=True):
        name = json.dumps(flow.name)
        for t_ns, each in _intervals(layout.name(flow.target), flow, server):
            received.append((t_ns, f"{t_ns},{name},{each['bytes']}"))
        retransmits, mss = 0, _mss(client)
        for t_ns, each in _intervals(layout.name(flow.source), flow, client):
            retransmits += each.get("retransmits", 0)
            known = {
                "t_ns": t_ns, "flow": name, "rtt": each.get("rtt"), "rttvar": each.get("rttvar"),
                "snd_cwnd": None if mss is None or "snd_cwnd" not in each else each["snd_cwnd"] // mss,
                "snd_wnd": each.get("snd_wnd"), "total_retrans": retransmits,
            }  # fmt: skip
            info.append((t_ns, ",".join("" if known.get(key) is None else str(known[key]) for key in columns)))
    return {
        "flows": _text(["t_ns", "flow", "bytes"], received),
        "tcp_info": _text(columns, info),
    }


def _text(columns: Sequence[str], rows: Sequence[tuple[int, str]]) -> str:
    return "".join(f"{line}\n" for line in [",".join(columns), *(row for _, row in sorted(rows))])


def _address(layout: Layout, flow: Tcp) -> str:
    return str(layout.target(flow.source, flow.target))


def _interval(layout: Layout) -> str:
    return f"{layout.scenario.record.interval_ns / SECOND_NS:g}"


def _options(layout: Layout, flow: Tcp) -> Iterator[str]:
    end_ns = min(flow.stop_ns or layout.scenario.duration_ns, layout.scenario.duration_ns)
    yield from ("-C", flow.cc.name)
    if flow.bytes is not None:
        yield from ("-n", str(flow.bytes))
    else:
        # iperf3 exchanges results after this time, which may take longer over a full queue.
        yield from ("-t", str(max(round((end_ns - flow.start_ns) / SECOND_NS), 1)))
    if flow.writes is not None and flow.writes.rate_bps is not None:
        yield from ("-b", str(flow.writes.rate_bps), "-l", str(flow.writes.message))
    if flow.socket.mss is not None:
        yield from ("-M", str(flow.socket.mss))
    if flow.socket.max_pacing_rate_bps is not None:
        yield from ("--fq-rate", str(flow.socket.max_pacing_rate_bps))
    if flow.dscp:
        yield from ("--dscp", str(flow.dscp))


def _intervals(host: str, flow: Tcp, content: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for each in _document(host, flow, content).get("intervals", ()):
        stream = each["streams"][0]
        yield flow.start_ns + round(stream["end"] * SECOND_NS), stream


def _document(host: str, flow: Tcp, content: bytes) -> Mapping[str, Any]:
    step = f"iperf3 of {flow.name}"
    try:
        found: Mapping[str, Any] = json.loads(content)
    except ValueError:
        raise HostFailed(host, step, "it printed no result", "is iperf3 installed? apt-get install iperf3") from None
    if "error" in found:
        raise HostFailed(host, step, str(found["error"]))
    return found


def _mss(content: bytes) -> int | None:
    try:
        found = json.loads(content).get("start", {}).get("tcp_mss_default")
    except ValueError:
        return None
    return int(found) or None if isinstance(found, int) else None

"""One run of the kernel campaign as an experiment, and its twin: the same experiment as a resolved scenario.

Topology `c0–rc` R `rs–s0` over veth: hosts 0 = C, 1 = R, 2 = S, link 0 = C–R, link 1 = R–S, no rate, no delay. The
base RTT was netem on the egress of S, so the whole of it is the delay of link 1 from S to R. HTB sits on the egress
of C and of R, the slower one at the bottleneck; the egress of S and the way back are unshaped (`noqueue`).
Flows start at `LEAD_S`, because the kernel's ping began 5 s before them; tables are shifted back by the reader.

Source: the campaign's notes (`tests/data/wired/README.md`), checked against its `tc -s -d qdisc class` output.

Known deviation: the small-queue setting `no` is shift 0 in the kernel's check and `off` here, which is the same without
the cap of 1e9 bytes.

`gso`: the kernel's devices had TSO and GSO off and `gso_max_segs` at its default, so TCP built skbs of several segments
and they were cut below the client's HTB: its `tc` counts 6019 packets lent where TCP sent 251,263 segments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

LEAD_S = 5
NANOSECONDS = 1_000_000_000
WAKE_UP_NS = 51_000
"""Sleeping processes wake up this late: by the default timer slack of 50 µs. In the captures the first SYN is 50.5 to
51.2 µs past a tick of TCP's clock, and `ping` is as late."""
CLIENT, ROUTER, SERVER = 0, 1, 2
NEAR, FAR = 0, 1

Json: TypeAlias = dict[str, Any]
Scenario: TypeAlias = Json

FAST_BPS = 1_000_000_000
FAST_BURST = 3120
"""Bucket of HTB at 1 Gbit/s, in bytes: 390 ticks of 64 ns. `tc` prints it as 3000, since it counts in whole µs."""
SHAPED_BPS = {
    "L10M": (10_000_000, FAST_BPS),
    "L100M": (100_000_000, FAST_BPS),
    "R10M": (FAST_BPS, 10_000_000),
    "R100M": (FAST_BPS, 100_000_000),
    "LR1000M": (FAST_BPS, FAST_BPS),
}


@dataclass(frozen=True)
class Experiment:
    """The settings of one run, from its name."""

    family: str
    name: str
    seed: int
    cc: str
    bottleneck: str
    child: str
    small_queue: str
    flows: int
    duration_s: int
    base_rtt_us: int
    stagger_ms: int
    extras: tuple[str, ...]

    @property
    def key(self) -> str:
        """Family and name, unique in the campaign."""
        return f"{self.family}/{self.name}"

    @property
    def group(self) -> str:
        """The control."""
        return self.cc


def twin(experiment: Experiment) -> Scenario:
    """The resolved scenario of docs/contracts.md that repeats the experiment."""
    end_ns = (LEAD_S + experiment.duration_s) * NANOSECONDS
    return {
        "title": f"twin of the kernel run {experiment.key}",
        "seed": experiment.seed,
        "duration_ns": end_ns + LEAD_S * NANOSECONDS,
        "hosts": hosts(experiment),
        "links": [link(CLIENT, ROUTER, 0), link(ROUTER, SERVER, experiment.base_rtt_us * 1000)],
        "qdiscs": shapers(experiment),
        "traffic": [*(upload(experiment, index, end_ns) for index in range(experiment.flows)), ping(end_ns)],
        "record": {"interval_ns": NANOSECONDS // 10, "tcp_info": "interval", "events": False},
    }


def hosts(experiment: Experiment) -> list[Json]:
    sysctl = {"net.ipv4.tcp_limit_output_bytes": limit_output_bytes(experiment)}
    offloads = "gso" if "gso" in experiment.extras else "off"
    return [
        {"name": "C", "stack": "linux-6.12", "sysctl": sysctl, "offloads": offloads},
        {"name": "R", "stack": "linux-6.12", "sysctl": {}, "offloads": offloads},
        {"name": "S", "stack": "linux-6.12", "sysctl": {}, "offloads": offloads},
    ]


def limit_output_bytes(experiment: Experiment) -> int:
    """1 MiB is the kernel's default, 4 MiB the setting of the family, 1e9 that of every changed small queue."""
    if experiment.small_queue != "std":
        return 1_000_000_000
    return 4 << 20 if experiment.family == "wired_hzburst" else 1 << 20


def link(near: int, far: int, delay_back_ns: int) -> Json:
    return {
        "ends": [near, far],
        "rate_bps": None,
        "delay_ns": [0, delay_back_ns],
        "mtu": 1500,
        "ring": 256,
        "bql": False,
    }


def shapers(experiment: Experiment) -> list[Json]:
    """HTB on both egresses; the child under test is at the lowest rate."""
    near, far = SHAPED_BPS[experiment.bottleneck]
    children = dict.fromkeys((near, far), "pfifo") | {min(near, far): experiment.child}
    return [
        {"host": CLIENT, "link": NEAR, "root": shaper(experiment.family, near, children[near])},
        {"host": ROUTER, "link": FAR, "root": shaper(experiment.family, far, children[far])},
    ]


def shaper(family: str, rate_bps: int, kind: str) -> Json:
    burst = htb_burst(family, rate_bps)
    options = {"rate": rate_bps, "burst": burst, "cburst": burst, "quantum": 1514}
    return {"kind": "htb", "options": options, "child": child(kind)}


def htb_burst(family: str, rate_bps: int) -> int:
    """Bytes; `wired_hzburst` adds what the rate carries in 1 ms."""
    if rate_bps == FAST_BPS:
        return FAST_BURST
    return 1600 + (rate_bps // 8000 if family == "wired_hzburst" else 0)


def child(kind: str) -> Json:
    options = {"limit": 1000} if kind == "pfifo" else {}
    return {"kind": kind, "options": options, "child": None}


def upload(experiment: Experiment, index: int, end_ns: int) -> Json:
    return {
        "kind": "tcp",
        "name": flow_name(index),
        "from": CLIENT,
        "to": SERVER,
        "start_ns": LEAD_S * NANOSECONDS + index * experiment.stagger_ms * 1_000_000 + WAKE_UP_NS,
        "stop_ns": end_ns,
        "bytes": None,
        "cc": {"name": experiment.cc, "options": {}},
        "tsq": small_queue(experiment.small_queue),
        "socket": socket_options(experiment.extras),
    }


def flow_name(index: int) -> str:
    return f"upload.{index + 1}"


def small_queue(setting: str) -> Json:
    """`std` = 1 ms (shift 10), `xN` = N ms in the check, `no` = off, `nosock` = a socket's shift of 0."""
    if setting == "no":
        return {"kind": "off"}
    if setting == "nosock":
        return {"kind": "time", "shift": 0}
    if setting == "std":
        return {"kind": "time", "shift": 10}
    return {"kind": "check", "shift": 10 - round(math.log2(int(setting.removeprefix("x"))))}


def socket_options(extras: Sequence[str]) -> Json:
    """`pace` = a rate that never limits and turns pacing on, `lowat` = a receiver that waits for 32 KiB."""
    return {
        "max_pacing_rate_bps": 100_000_000_000 if "pace" in extras else None,
        "sndbuf": None,
        "rcvbuf": None,
        "rcvlowat": 32 << 10 if "lowat" in extras else 1,
        "notsent_lowat": None,
        "mss": None,
    }


def ping(end_ns: int) -> Json:
    return {
        "kind": "ping",
        "name": "ping",
        "from": CLIENT,
        "to": SERVER,
        "start_ns": WAKE_UP_NS,
        "stop_ns": end_ns + LEAD_S * NANOSECONDS,
        "interval_ns": NANOSECONDS // 5,
        "size": 64,
    }

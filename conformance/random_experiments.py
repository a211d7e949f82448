"""Draws experiments at random, to be compared with a kernel where nobody has looked.

    python -m conformance.random_experiments SEED [NUMBER] > random.yaml
    tailback validate random.yaml --most 6

Each case draws a bottleneck, at the router or the client, with a discipline and options; a rate for each direction,
since over links without any rate the order of what happens at one instant decides; a delay, now and then with losses,
duplicates, reordering or jitter; flows with their control, socket options and starts, perhaps beside others or
requests; sysctls; offloads and TCP Small Queues. The same seed draws the same file.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from conformance.controls import IN_LINUX

RATES_KBIT = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
DELAYS = ("100us", "1ms", "5ms", "10ms", "20ms", "40ms", "80ms", "150ms")
DISCIPLINES: Sequence[tuple[str, Sequence[str]]] = (
    ("pfifo", ("limit 5", "limit 20", "limit 100", "limit 1000")),
    ("bfifo", ("limit 7500b", "limit 30kb", "limit 150kb")),
    ("pfifo_fast", ("",)),
    ("pfifo_head_drop", ("limit 20", "limit 100")),
    ("codel", ("", "ecn", "target 1ms interval 20ms", "limit 50")),
    (
        "fq_codel",
        ("", "quantum 300", "limit 100", "flows 2", "target 20ms", "noecn", "memory_limit 100kb", "ce_threshold 3ms"),
    ),
    ("pie", ("", "ecn", "target 5ms", "limit 50")),
    ("fq_pie", ("", "ecn")),
    ("cake", ("", "rtt 20ms", "ack-filter", "besteffort", "flowblind", "memlimit 60kb", "diffserv4")),
    ("sfq", ("", "limit 40", "perturb 2", "depth 20")),
    ("red", ("limit 300kb min 10kb max 40kb avpkt 1000b burst 20 bandwidth ${rate}",)),
    ("choke", ("limit 300 min 10 max 40 burst 20 bandwidth ${rate}",)),
    ("hhf", ("", "limit 60")),
    ("fq", ("", "flow_limit 30", "quantum 1514", "limit 200", "nopacing")),
    ("prio", ("",)),
)
"""Kinds, with options of which one is drawn."""
NOT_DRAWN: Mapping[str, str] = {
    "htb": "it is the shaper of each case",
    "tbf": "a shaper, as htb",
    "netem": "impairments are keys of a link",
    "drr": "it needs classes and filters",
    "mq": "a veth has one transmit queue",
    "dualpi2": "newer than Linux 6.12",
}
"""The other kinds, and why."""
SYSCTLS: Sequence[Mapping[str, int]] = (
    {"tcp_sack": 0}, {"tcp_timestamps": 0}, {"tcp_dsack": 0}, {"tcp_recovery": 5}, {"tcp_early_retrans": 0},
    {"tcp_frto": 0}, {"tcp_rto_min_us": 20_000}, {"tcp_window_scaling": 0}, {"tcp_slow_start_after_idle": 0},
    {"tcp_mtu_probing": 2}, {"tcp_autocorking": 0}, {"tcp_comp_sack_nr": 0}, {"tcp_ecn": 1},
)  # fmt: skip
IMPAIRMENTS: Sequence[Mapping[str, str]] = (
    {"loss": "0.1%"}, {"loss": "0.5%"}, {"loss": "0.3% 20%"}, {"duplicate": "0.5%"}, {"jitter": "2ms"},
    {"reorder": "1%"},
)  # fmt: skip
SOCKETS: Sequence[Mapping[str, Any]] = (
    {"rcvbuf": "20kb"}, {"rcvbuf": "60kb"}, {"rcvbuf": "200kb"}, {"sndbuf": "60kb"}, {"sndbuf": "200kb"}, {"mss": 536},
    {"mss": 1000}, {"max_pacing_rate": "1mbit"}, {"max_pacing_rate": "4mbit"}, {"notsent_lowat": "16kb"},
)  # fmt: skip
BESIDE: Sequence[Mapping[str, Any]] = (
    {"tcp": "client -> server", "name": "short", "flows": 10, "bytes": "100kb", "start": "2s", "jitter": "5s"},
    {"tcp": "server -> client", "name": "download", "flows": 2, "start": "1s", "stop": "9s", "jitter": "500ms"},
    {"udp": "client -> server", "name": "voice", "rate": "100kbit", "size": "200b", "start": "1s", "stop": "9s"},
    {"request": "client -> server", "answer": "30kb", "think": "100ms", "start": "1s", "stop": "9s"},
)


@dataclass(frozen=True)
class Draw:
    """Random numbers of one case."""

    source: random.Random

    def one(self, values: Sequence[Any]) -> Any:
        """One of these."""
        return self.source.choice(values)

    def happens(self, share: float) -> bool:
        """True in this share of cases."""
        return self.source.random() < share

    def discipline(self, rate: str, kinds: Sequence[tuple[str, Sequence[str]]]) -> str:
        """One of these kinds with options, for this rate."""
        kind, options = self.one(kinds)
        return f"{kind} {self.one(options)}".strip().replace("${rate}", rate)


def case(draw: Draw) -> dict[str, Any]:
    """The keys of one experiment."""
    kbit = draw.one(RATES_KBIT)
    rate, back = f"{kbit}kbit", f"{max(kbit // draw.one((1, 1, 4, 10)), 100)}kbit"
    at_router = draw.happens(0.6)
    there, here = ("router -> server", "server -> router") if at_router else ("client -> router", "router -> client")
    shaped = f"htb rate {rate} | {draw.discipline(rate, DISCIPLINES)}"
    if draw.happens(0.2):
        shaped = f"tbf rate {rate} burst 10kb latency {draw.one(('20ms', '50ms', '200ms'))}"
    control = draw.one(IN_LINUX)
    found: dict[str, Any] = {
        "links": [{"ends": ["client", "router"]}, link(draw)],
        "qdiscs": {there: shaped, here: f"htb rate {back} | {draw.discipline(back, DISCIPLINES)}"},
        "traffic": traffic(draw, control),
        "cc": control,
        "offloads": draw.one(("off", "off", "on", "gso")),
        "tsq": draw.one(("1ms", "1ms", "8ms", "off")),
    }
    sysctls = draw.one(SYSCTLS) if draw.happens(0.4) else {}
    values = {f"net.ipv4.{name}": value for name, value in sysctls.items()}
    found["hosts"] = {"client": {"sysctl": values}, "router": None, "server": {"sysctl": dict(values)}}
    return found


def link(draw: Draw) -> dict[str, Any]:
    """The link with the delay: of ACKs alone, or of both directions where packets are reordered."""
    impairment = draw.one(IMPAIRMENTS) if draw.happens(0.2) else {}
    delay = draw.one(DELAYS[2:] if impairment else DELAYS)
    both = {"reorder", "jitter"} & set(impairment)
    return {"ends": ["router", "server"], "delay": delay if both else ["0us", delay], **impairment}


def traffic(draw: Draw, control: str) -> list[dict[str, Any]]:
    """Uploads, now and then with something beside them."""
    socket = draw.one(SOCKETS) if draw.happens(0.35) else {}
    upload = {
        "tcp": "client -> server", "name": "upload", "flows": draw.one((1, 1, 2, 4, 8)), "start": "1s", "stop": "9s",
        "jitter": draw.one(("10ms", "500ms")),
    }  # fmt: skip
    found: list[dict[str, Any]] = [{**upload, **socket}]
    if draw.happens(0.4):
        other = dict(draw.one(BESIDE))
        found.append(other if "udp" in other else {**other, "cc": draw.one((control, *IN_LINUX))})
    if draw.happens(0.5):
        found.append({"ping": "client -> server", "interval": "50ms"})
    return found


def experiment(seed: int, number: int) -> dict[str, Any]:
    """A file with `number` cases."""
    draw = Draw(random.Random(seed))
    cases = {f"{seed}.{which}": case(draw) for which in range(number)}
    first = next(iter(cases.values()))
    return {
        "title": f"random experiments {seed}", **first, "duration": "10s", "measure": {"warmup": "1s"}, "repeat": 6,
        "vary": {"case": cases},
    }  # fmt: skip


def print_drawn(draw: Callable[[int, int], dict[str, Any]]) -> None:
    """Prints the file that `draw` draws for the seed and the number of cases on the command line."""
    seed, number = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 24
    print(yaml.safe_dump(draw(seed, number), sort_keys=False, width=120), end="")


if __name__ == "__main__":
    print_drawn(experiment)

"""Draws pairs of socket options and pairs of sysctls at random, to be compared with a kernel: what each of two does
alone is known, what they do together is not.

    python -m conformance.random_pairs SEED [NUMBER] > pairs.yaml
    tailback validate pairs.yaml --most 6

A case has two options of one kind, whose keys differ, on a path where buffers, losses and delayed ACKs matter; half of
the cases have socket options, half sysctls. The same seed draws the same file.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.random_experiments import Draw, print_drawn

SOCKETS: Mapping[str, Sequence[Any]] = {
    "sndbuf": ("20kb", "60kb", "200kb"),
    "rcvbuf": ("20kb", "60kb", "200kb"),
    "rcvlowat": ("4kb", "40kb", "200kb", "1mb"),
    "notsent_lowat": ("4kb", "16kb", "100kb"),
    "mss": (536, 1000, 1300),
    "max_pacing_rate": ("2mbit", "8mbit", "15mbit"),
}
"""Options of a flow, with values."""

SYSCTLS: Mapping[str, Sequence[Any]] = {
    "tcp_pacing_ca_ratio": (90, 200),
    "tcp_pacing_ss_ratio": (100, 400),
    "tcp_limit_output_bytes": (4_000, 40_000),
    "tcp_rmem": ("4096 20000 60000", "4096 65536 300000", "4096 1000000 6291456"),
    "tcp_wmem": ("4096 16384 60000", "4096 300000 1000000"),
    "tcp_ecn": (0, 1),
    "tcp_slow_start_after_idle": (0,),
    "tcp_sack": (0,),
    "tcp_dsack": (0,),
    "tcp_timestamps": (0,),
    "tcp_window_scaling": (0,),
    "tcp_recovery": (3, 5, 7),
    "tcp_early_retrans": (0,),
    "tcp_frto": (0,),
    "tcp_reordering": (1, 10),
    "tcp_max_reordering": (3,),
    "tcp_rto_min_us": (5_000, 50_000),
    "tcp_min_rtt_wlen": (1,),
    "tcp_thin_linear_timeouts": (1,),
    "tcp_comp_sack_nr": (0, 4),
    "tcp_comp_sack_delay_ns": (0, 5_000_000),
    "tcp_moderate_rcvbuf": (0,),
    "tcp_shrink_window": (1,),
    "tcp_notsent_lowat": (8_192, 131_072),
    "tcp_autocorking": (0,),
    "tcp_tso_win_divisor": (0, 1, 10),
    "tcp_min_tso_segs": (1, 8),
    "tcp_tso_rtt_log": (0, 12),
    "tcp_mtu_probing": (1, 2),
    "tcp_base_mss": (512,),
    "tcp_invalid_ratelimit": (0,),
}
"""Sysctls of `net.ipv4` that may differ in a run, with values that are not the default."""

PATHS: Sequence[Mapping[str, Any]] = (
    {"rate": "20mbit", "delay": ["0us", "10ms"], "limit": 60},
    {"rate": "20mbit", "delay": ["0us", "80ms"], "limit": 100},
    {"rate": "50mbit", "delay": ["0us", "20ms"], "limit": 200, "loss": "0.5%"},
    {"rate": "20mbit", "delay": "10ms", "limit": 60, "reorder": "1%"},
    {"rate": "5mbit", "delay": ["0us", "20ms"], "limit": 20},
)


def case(draw: Draw, socket: Mapping[str, Any], sysctls: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of one experiment with these options."""
    path = dict(draw.one(PATHS))
    shaped = f"htb rate {path.pop('rate')} | pfifo limit {path.pop('limit')}"
    values = {f"net.ipv4.{name}": value for name, value in sysctls.items()}
    return {
        "links": [{"ends": ["client", "router"]}, {"ends": ["router", "server"], **path}],
        "qdiscs": {"router -> server": shaped},
        "traffic": traffic(draw, socket),
        "cc": draw.one(("reno", "cubic", "cubic", "bbr", "dctcp")),
        "offloads": draw.one(("off", "on")),
        "hosts": {"client": {"sysctl": values}, "router": None, "server": {"sysctl": dict(values)}},
    }


def pair(draw: Draw, options: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Two of the options, each with a value."""
    return {name: draw.one(options[name]) for name in draw.source.sample(sorted(options), 2)}


def traffic(draw: Draw, socket: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An upload or two with these options, and requests whose connections begin anew, pause and end."""
    upload = {"tcp": "client -> server", "name": "upload", "flows": draw.one((1, 2)), "jitter": "50ms", **socket}
    pages = {"tcp": "server -> client", "name": "page", "size": "30kb", "arrivals": "poisson 4/s", **socket}
    lasting: dict[str, Any] = {"start": "500ms", "stop": "8s"}
    chosen = [upload, pages] if draw.happens(0.5) else [upload]
    return [*({**each, **lasting} for each in chosen), {"ping": "client -> server", "interval": "50ms"}]


def alternately(draw: Draw, which: int) -> dict[str, Any]:
    """A case with socket options, then one with sysctls."""
    return case(draw, {}, pair(draw, SYSCTLS)) if which % 2 else case(draw, pair(draw, SOCKETS), {})


def experiment(seed: int, number: int) -> dict[str, Any]:
    """A file with `number` cases, of socket options and of sysctls in turn."""
    draw = Draw(random.Random(seed))
    cases = {f"{seed}.{which}": alternately(draw, which) for which in range(number)}
    return {
        "title": f"random pairs {seed}", **next(iter(cases.values())), "duration": "8s", "measure": {"warmup": "1s"},
        "repeat": 4, "vary": {"case": cases},
    }  # fmt: skip


if __name__ == "__main__":
    print_drawn(experiment)

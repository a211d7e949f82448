"""One run of the Wi-Fi campaign as an experiment, and its twin: the same experiment as a resolved scenario.

Topology: stations C1 … Cn ~ air ~ access point R `rs`–`s0` S. Hosts 0 = R, then the stations, then S; link 0 = R–S, a
veth. The base RTT is netem on the egress of R, with a rate of 1 Gbit/s; the egress of S is HTB of 1 Gbit/s above a
FIFO of 1000 packets. Flow i runs from or to station i modulo their number, ping from C1 to S.

The kernel's cell has no radio: its driver emulates one, with the parameters of `Experiment.cell` (parameters of the
module, empty = default). Flows start at `LEAD_S`, because the kernel's ping started before them.

Source: the campaign's notes (`tests/data/wifi/README.md`), its `meta.json` and its `tc -s -d qdisc` output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

LEAD_S = 5
PING_LEAD_S = 3
LONG_S = 20
"""Runs of at least this duration have a longer warm-up."""
DRAIN_S = 2
NANOSECONDS = 1_000_000_000
WAKE_UP_NS = 51_000
"""Delay of the wake-up of sleeping processes: the default timer slack of 50 µs, plus 1 µs."""
ACCESS_POINT = 0
WHOLE = 2**32 - 1
"""netem's representation of 100 %."""
SATURATING_BPS = 900_000_000
"""More than any radio of the campaign takes."""
SEND_BUFFER = 1_500_000
"""Send buffer of a saturating sender: about a thousand datagrams, which always fill an aggregate."""
STACK = "linux-6.12"
FAST_BPS = 1_000_000_000

Json: TypeAlias = dict[str, Any]
Scenario: TypeAlias = Json

DRIVERS = {"0": "ath9k", "1": "ath9k_htc", "2": "ath10k"}
WITHOUT_QUEUES = "1"
"""The profile with a qdisc above it."""
MODES = {
    (1080, 1): {"format": "ht", "width": 40, "streams": 2, "mcs": 7, "guard_ns": 400},
    (864, 0): {"format": "ht", "width": 40, "streams": 2, "mcs": 5, "guard_ns": 800},
    (540, 1): {"format": "ht", "width": 40, "streams": 1, "mcs": 7, "guard_ns": 400},
    (260, 0): {"format": "ht", "width": 20, "streams": 1, "mcs": 7, "guard_ns": 800},
    (3120, 1): {"format": "vht", "width": 80, "streams": 2, "mcs": 9, "guard_ns": 400},
}
"""By bits per symbol and short guard interval."""
OPEN_NETWORK_OVERHEAD = 38
SLOTS = 2
"""Default number of aggregates in the hardware queue."""


@dataclass(frozen=True)
class Experiment:
    """The settings of one run: the variables of its script (`environment`), and of its driver (`cell`)."""

    family: str
    name: str
    environment: Mapping[str, str]
    cell: Mapping[str, str]

    @property
    def key(self) -> str:
        """Family and name, unique in the campaign."""
        return f"{self.family}/{self.name}"

    @property
    def seed(self) -> int:
        return self._number("seed", self.cell, 1)

    @property
    def duration_s(self) -> int:
        return self._number("DUR", self.environment, 30)

    @property
    def warmup_s(self) -> int:
        """Warm-up before the measurement window, s."""
        return 5 if self.duration_s >= LONG_S else 1

    @property
    def stations(self) -> int:
        return self._number("NSTA", self.environment, 1)

    @property
    def uploads(self) -> int:
        return self._number("NUP", self.environment, 0)

    @property
    def downloads(self) -> int:
        return self._number("NDN", self.environment, 0)

    @property
    def udp(self) -> str:
        """The direction of UDP: `up`, `bidi`, or empty."""
        return self.environment.get("UDP", "")

    @property
    def profile(self) -> str:
        return DRIVERS[self.cell.get("profile", "0")]

    @property
    def server(self) -> int:
        return 1 + self.stations

    @property
    def group(self) -> str:
        """The group of the experiment in summaries."""
        return group(self)

    def _number(self, name: str, words: Mapping[str, str], default: int) -> int:
        return int(words.get(name, default))


def group(run: Experiment) -> str:
    """The group of a run: the first property that it has."""
    words, cell = run.environment, run.cell
    special = {
        "UDP": bool(run.udp),
        "stretch ACKs": "LOWATX" not in words or "WRATE" in words,
        "stations": run.stations > 1,
        "errors": "per_ppm" in cell,
        "downloads and both ways": run.downloads > 0,
        "GSO": "GSO" in words,
        "early loss": "KICK" in words,
        "base RTT": words.get("RDELAY", "0.2ms") != "0.2ms",
        "pacing ratio": "PCA" in words,
    }
    named = next((name for name, holds in special.items() if holds), "uploads")
    return f"{run.profile} {named}"


def twin(run: Experiment) -> Scenario:
    """The resolved scenario of docs/contracts.md that repeats the experiment."""
    end_ns = (LEAD_S + run.duration_s) * NANOSECONDS
    stations = [f"C{index + 1}" for index in range(run.stations)]
    return {
        "title": f"twin of the kernel run {run.key}",
        "seed": run.seed,
        "duration_ns": end_ns + DRAIN_S * NANOSECONDS,
        "hosts": [host(run, name) for name in ("R", *stations, "S")],
        "links": [wired(run)],
        "cells": [cell(run)],
        "qdiscs": [netem(run), shaper(run), *above_the_radio(run)],
        "traffic": [*traffic(run, end_ns), *pings(run, end_ns)],
        "record": {"interval_ns": NANOSECONDS // 10, "tcp_info": "interval", "events": False},
    }


def host(run: Experiment, name: str) -> Json:
    words = run.environment
    return {"name": name, "stack": STACK, "sysctl": sysctl(words), "offloads": "gso" if "GSO" in words else "off"}


SYSCTLS = {
    "PCA": "net.ipv4.tcp_pacing_ca_ratio",
    "PSS": "net.ipv4.tcp_pacing_ss_ratio",
    "LOB": "net.ipv4.tcp_limit_output_bytes",
    "TSOLOG": "net.ipv4.tcp_tso_rtt_log",
}


def sysctl(words: Mapping[str, str]) -> dict[str, int]:
    return {name: int(words[word]) for word, name in SYSCTLS.items() if word in words}


def wired(run: Experiment) -> Json:
    return {
        "ends": [ACCESS_POINT, run.server],
        "rate_bps": None,
        "delay_ns": [0, 0],
        "mtu": 1500,
        "ring": 256,
        "bql": False,
        **({"schedule": early_loss(run)} if "KICK" in run.environment else {}),
    }


def early_loss(run: Experiment) -> list[Json]:
    """The loss of R's packets for 10 ms, one second after the start of the flows."""
    share = float(run.environment["KICK"].removesuffix("%")) / 100
    start_ns = (LEAD_S + 1) * NANOSECONDS
    return [
        {"at_ns": start_ns, "end": 0, "netem": {"loss": round(share * WHOLE)}},
        {"at_ns": start_ns + 10_000_000, "end": 0, "netem": {}},
    ]


def netem(run: Experiment) -> Json:
    """The base RTT; its rate spreads the packets of an aggregate."""
    words = run.environment
    options = {"limit": 1_000_000, "delay": nanoseconds(words.get("RDELAY", "0.2ms"))}
    if "WRATE" not in words and "LOWATX" in words:
        options["rate"] = FAST_BPS
    return {"host": ACCESS_POINT, "link": 0, "root": {"kind": "netem", "options": options, "child": None}}


def nanoseconds(span: str) -> int:
    """`0.2ms` as netem reads it."""
    return round(float(span.removesuffix("ms")) * 1_000_000)


def shaper(run: Experiment) -> Json:
    options = {"rate": FAST_BPS, "burst": 3000, "cburst": 3000, "quantum": 1514}
    child = {"kind": "pfifo", "options": {"limit": 1000}, "child": None}
    return {"host": run.server, "link": 0, "root": {"kind": "htb", "options": options, "child": child}}


def above_the_radio(run: Experiment) -> list[Json]:
    """The qdisc of each station whose driver has no queues."""
    if run.cell.get("profile") != WITHOUT_QUEUES:
        return []
    kind, *rest = run.environment["CHILD"].split()
    options = {"limit": int(rest[1])} if rest else {}
    root = {"kind": kind, "options": options, "child": None}
    return [{"host": 1 + index, "link": 1 + index, "root": root} for index in range(run.stations)]


def cell(run: Experiment) -> Json:
    own = run.cell.get("profile", "0")
    mode = MODES[int(run.cell.get("ndbps", 1080)), int(run.cell.get("sgi", 1))]
    loss_ppm = int(run.cell.get("per_ppm", 0))
    radio = {"mode": mode, "loss_ppm": loss_ppm, "driver": driver(run, own)}
    return {
        "access_point": ACCESS_POINT,
        "stations": [{"host": 1 + index, **radio} for index in range(run.stations)],
        "band": "5GHz",
        "rts": False,
        "mpdu_overhead": OPEN_NETWORK_OVERHEAD,
        "driver": driver(run, run.cell.get("approfile", own)),
    }


OPTIONS = {
    "maxsub": "subframes",
    "minmpdu": "shortest_mpdu",
    "maxbytes": "bytes",
}


def driver(run: Experiment, profile: str) -> Json:
    """The driver with the parameters of the module, which apply to all radios of the cell."""
    options = {option: int(run.cell[word]) for word, option in OPTIONS.items() if word in run.cell}
    if "maxus" in run.cell:
        options["duration"] = int(run.cell["maxus"]) * 1000
    options["slots"] = int(run.cell.get("slots", SLOTS))
    if profile != WITHOUT_QUEUES:
        # The kernel's cell has no airtime fairness: stations with packets take turns.
        options["airtime_flags"] = 0
    if DRIVERS[profile] == "ath10k":
        # The kernel's cell counts the expected airtime of a packet in µs; mac80211 rounds it down to 4 µs.
        options["airtime_step"] = 1_000
    if "fq_mem" in run.cell and profile != WITHOUT_QUEUES:
        options["memory_limit"] = int(run.cell["fq_mem"])
    return {"name": DRIVERS[profile], "options": options}


def traffic(run: Experiment, end_ns: int) -> list[Json]:
    uploads = [tcp(run, upload_name(index), (station(run, index), run.server), end_ns) for index in range(run.uploads)]
    downloads = [
        tcp(run, download_name(index), (run.server, station(run, index)), end_ns) for index in range(run.downloads)
    ]
    return uploads + downloads + (floods(run, end_ns) if run.udp else [])


def upload_name(index: int) -> str:
    return f"up.{index}"


def download_name(index: int) -> str:
    return f"down.{index}"


def station(run: Experiment, index: int) -> int:
    return 1 + index % run.stations


def tcp(run: Experiment, name: str, ends: tuple[int, int], end_ns: int) -> Json:
    return {
        "kind": "tcp",
        "name": name,
        "from": ends[0],
        "to": ends[1],
        "start_ns": LEAD_S * NANOSECONDS + WAKE_UP_NS,
        "stop_ns": end_ns,
        "bytes": None,
        "cc": {"name": run.environment["CC"], "options": {}},
        "tsq": small_queue(run, ends[0]),
        "socket": {
            "max_pacing_rate_bps": None,
            "sndbuf": None,
            "rcvbuf": None,
            "rcvlowat": 32 << 10 if "LOWATX" in run.environment else 1,
            "notsent_lowat": None,
            "mss": None,
        },
    }


def floods(run: Experiment, end_ns: int) -> list[Json]:
    """UDP flows from and to each station; without a rate they saturate the radio."""
    ways = [(upload_name(index), (station(run, index), run.server)) for index in range(run.stations)]
    if run.udp == "bidi":
        ways += [(download_name(index), (run.server, station(run, index))) for index in range(run.stations)]
    megabits = run.environment.get("UDPRATE")
    return [
        udp(name, ends, end_ns, SATURATING_BPS if megabits is None else int(megabits) * 10**6) for name, ends in ways
    ]


def udp(name: str, ends: tuple[int, int], end_ns: int, rate_bps: int) -> Json:
    return {
        "kind": "udp",
        "name": name,
        "from": ends[0],
        "to": ends[1],
        "start_ns": LEAD_S * NANOSECONDS + WAKE_UP_NS,
        "stop_ns": end_ns,
        "rate_bps": rate_bps,
        "size": 1472,
        "sndbuf": SEND_BUFFER,
    }


def small_queue(run: Experiment, sender: int) -> Json:
    """`TSQSHIFT` changes the check of every socket, `pshift` the pacing shift of those whose first hop is the radio."""
    if "TSQSHIFT" in run.environment:
        return {"kind": "check", "shift": int(run.environment["TSQSHIFT"])}
    return {"kind": "time", "shift": 10 if sender == run.server else int(run.cell.get("pshift", 10))}


def pings(run: Experiment, end_ns: int) -> list[Json]:
    if run.udp:
        return []
    return [
        {
            "kind": "ping",
            "name": "ping",
            "from": 1,
            "to": run.server,
            "start_ns": (LEAD_S - PING_LEAD_S) * NANOSECONDS + WAKE_UP_NS,
            "stop_ns": end_ns,
            "interval_ns": NANOSECONDS // 10,
            "size": 64,
        }
    ]

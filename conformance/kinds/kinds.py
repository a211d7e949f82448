"""The kinds of experiments, and the cases that each of them has.

A case is a configuration of a file in experiments/conformance, with its own seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from tailback import scenario
from tailback.scenario import Experiment

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "conformance"

FILES: Mapping[str, int] = {
    "keys": 10,
    "paths": 10,
    "chance": 6,
    "many": 5,
    "applications": 10,
    "ipv6": 10,
    "sysctls": 10,
    "wired": 5,
    "matrix": 5,
}
"""The files, with the number of repetitions of each case."""

KERNELS: Mapping[str, str] = {"ipv6": "uml:ipv6"}
"""The backend of files that need another kernel than `stock`."""

MORE: Mapping[str, int] = {
    "loss of 1 %": 40, "impairments": 40, "short flows": 100, "schedule": 60,
    "reno, tail drops, 10 Mbit/s": 40, "reordering, bbr": 40, "reordering on a link with a rate, bbr": 40,
    "codel ce_threshold, cubic": 20, "corruption of 1 %": 40, "requests and arrivals over pfifo": 40,
    "requests and arrivals over fq_codel": 40, "requests and arrivals of reno over a short pfifo": 40,
    "probes": 40, "bbr, 100 Mbit/s": 40, "no SACK, loss": 40, "no timestamps, loss": 40,
    "new flows over a loaded fq": 40, "pauses over red": 40, "paced flows whose SYNs are lost": 40,
    "no SACK, reordering": 40, "no DSACK, reordering": 40, "RACK with a static window, reordering": 40,
    "degree of reordering": 40,
    "short flows without loss probes": 60, "thin flows": 24,
    "cubic-L10M-pfifo-std-n4": 15, "R10M, cake, 10ms, reno, 1ms": 20, "R100M, fq_codel, 100ms, reno, off": 15,
    "R100M, pfifo_fast, 10ms, cdg, 1ms": 20, "R100M, pfifo_fast, 1ms, bbr, 1ms": 40,
}  # fmt: skip
"""Cases whose figures vary so much that they need more repetitions."""

KINDS: Mapping[str, Sequence[str]] = {
    "RRUL, three uploads": ("rrul", "three flows"),
    "UDP beside TCP, DSCP, filters": ("flood", "datagrams", "filters"),
    "ECN, `ce_threshold`": (
        "marks", "codel ce_threshold, cubic", "fq ce_threshold, cubic", "fq_codel ce_threshold, dctcp",
        "ECN through pie", "ECN through fq_pie",
    ),
    "token buckets": ("a tbf of a few packets", "a tbf over prio"),
    "loss, corruption, duplicates": ("impairments", "corruption of 1 %", "loss of 1 %"),
    "reordering": (
        "reordering", "reordering, bbr", "reordering, cubic", "reordering on a link with a rate, bbr",
    ),
    "jitter": ("jitter",),
    "changes during the run": ("schedule", "schedule of jitter", "down for 2 s"),
    "LANs, routes, chains": ("lan", "routes", "chain"),
    "MTU 576 and 9000": ("short packets", "long packets", "segments of 524 bytes"),
    "skbs of several segments": (
        "whole skbs", "cut skbs", "skbs that cake splits", "skbs longer than the bucket",
    ),
    "RED": ("red adaptive", "red adaptive, one flow", "pauses over red"),
    "short flows": (
        "short flows", "new flows over a loaded fq", "new flows over a local fq", "paced flows whose SYNs are lost",
    ),
    "small buffers, paced flows": ("sockets",),
    "requests and flows that arrive": (
        "requests and arrivals over pfifo", "requests and arrivals over fq_codel",
        "requests and arrivals of reno over a short pfifo", "answers that fill buffers",
    ),
    "pages, probes, calls, games": ("pages", "probes", "calls and games"),
    "responsiveness": ("responsiveness over pfifo", "responsiveness over fq_codel"),
    "a trace of delivery opportunities": ("trace",),
    "1 Gbit/s": ("one gigabit",),
    "300 flows": (
        "many over fq_codel", "many over fq_codel with hashes that stay", "many over fq_pie", "many over cake",
        "many over sfq", "many over pfifo_fast", "many of bbr over fq_codel",
    ),
    "four flows within a millisecond": (
        "reno, small queue, 10 Mbit/s", "cubic, small queue, 10 Mbit/s", "bic, small queue, 10 Mbit/s",
        "reno, tail drops, 10 Mbit/s", "hybla, tail drops, 100 Mbit/s", "bbr, 100 Mbit/s",
    ),
}  # fmt: skip
"""The cases of each kind."""

SAMPLES: Mapping[str, str] = {
    "ipv6": "TCP over IPv6",
    "sysctls": "sysctls of TCP",
    "wired": "wired links, a random sample",
    "matrix": "the matrix, a random sample",
}
"""The files whose cases are all of one kind."""


@dataclass(frozen=True)
class Case:
    """A configuration of one of the files."""

    file: str
    name: str
    """The label of its `case`."""

    @property
    def kind(self) -> str:
        """The kind of experiment of the case."""
        return SAMPLES.get(self.file) or next(kind for kind, cases in KINDS.items() if self.name in cases)


def repetitions(case: Case) -> int:
    """How often a kernel runs it."""
    return MORE.get(case.name, FILES[case.file])


def experiment(file: str, seeds: Mapping[str, int] | None = None) -> Experiment:
    """A file. `seeds` has its cases, each with its number of repetitions; by default all, as for a measurement."""
    whole = _whole(file)
    found = {each.labels["case"]: each for each in whole.configurations}
    counts = {name: repetitions(Case(file, name)) for name in found} if seeds is None else seeds
    return replace(whole, configurations=tuple(found[name].repeated(count) for name, count in counts.items()))


@cache
def _whole(file: str) -> Experiment:
    return scenario.load(FOLDER / f"{file}.yaml")


def cases() -> list[Case]:
    """All cases."""
    return [Case(file, each.labels["case"]) for file in FILES for each in experiment(file).configurations]

"""Lays the simulator beside a real kernel on TEACUP's topology: three staggered flows through a router's AQM.

    python -m conformance.wired.teacup                                  # the golden table, every run
    python -m conformance.wired.teacup 'cubic-10ms-*' --spread          # a part of it, with what chance does
    python -m conformance.wired.teacup --extract CAMPAIGN/teacup        # make the golden table from a campaign

Topology: H1..H3 - bridge - delay - R - bridge - H4..H6. Emulated one-way delay before the bottleneck and on the way
back; R's egress HTB 10 Mbit/s (burst 1600) with the child under test; the senders' egress HTB 1 Gbit/s with `pfifo
limit 1000`. Flow i starts at 20 (i - 1) s and sends for 60 s. Figures over 5 to 100 s, drops over the whole run.

Judged: goodput within 3 %, median and 90th percentile of the TCP RTT within 10 % or 1 ms, drops within 25 % where
either side has more than 50. Exit status: 0 when every judged cell is within tolerance, 1 when one is not.

Known deviations of the twin: bridges are hosts that forward; `SO_RCVBUF` is a fixed `tcp_rmem` of twice its value.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from conformance.wired.campaign import INFINITE_SSTHRESH, TCP_INFO_COLUMNS, final_drops
from conformance.wired.experiment import LEAD_S, NANOSECONDS, Json, Scenario, flow_name, socket_options
from conformance.wired.golden import FOLDER
from conformance.wired.measures import Measures, Tables, measure
from conformance.wired.simulate import scenario_tables

GOLDEN = FOLDER / "teacup.csv"
FLOWS, STAGGER_S, SENDS_S = 3, 20, 60
END_S = STAGGER_S * (FLOWS - 1) + SENDS_S
FIGURES = ("goodput_mbps", "rtt_p50", "rtt_p90", "drops", "jain", "ping_p50", "ping_p90", "retransmits")
UNITS = ("Mbit/s", "ms", "ms", "packets", "1", "ms", "ms", "segments")

#: Hosts of the twin after the six end hosts.
NEAR_BRIDGE, ROUTER, FAR_BRIDGE = 6, 7, 8


@dataclass(frozen=True)
class Run:
    """One run: its settings, and the kernel's figures in the order of `FIGURES`."""

    name: str
    cc: str
    seed: int
    owd_ms: int
    qdisc: str
    limit: int
    rcvbuf: int
    kernel: tuple[float, ...]


def twin(run: Run) -> Scenario:
    """The resolved scenario of docs/contracts.md that repeats a run."""
    end_ns = (LEAD_S + END_S) * NANOSECONDS
    return {
        "title": f"twin of the kernel run teacup/{run.name}",
        "seed": run.seed,
        "duration_ns": end_ns + LEAD_S * NANOSECONDS,
        "hosts": [host(name, run.rcvbuf) for name in ("H1", "H2", "H3", "H4", "H5", "H6", "B1", "R", "B2")],
        "links": links(run.owd_ms * 1_000_000),
        "qdiscs": [
            *({"host": sender, "link": sender, "root": shaper(10**9, 3000, "pfifo", 1000)} for sender in range(FLOWS)),
            {"host": ROUTER, "link": 7, "root": shaper(10**7, 1600, run.qdisc, run.limit)},
        ],
        "traffic": [*(upload(run, index) for index in range(FLOWS)), ping(end_ns)],
        "record": {"interval_ns": NANOSECONDS // 10, "tcp_info": "interval", "events": False},
    }


def host(name: str, rcvbuf: int) -> Json:
    sysctl = {"net.ipv4.tcp_rmem": [4096, 2 * rcvbuf, 2 * rcvbuf]} if rcvbuf and name[0] == "H" else {}
    return {"name": name, "stack": "linux-6.12", "sysctl": sysctl, "offloads": "off"}


def links(delay_ns: int) -> list[Json]:
    """Links 0 to 5 lead to the end hosts, 6 is the delay towards the router, 7 the bottleneck and the delay back."""
    near = [link(sender, NEAR_BRIDGE, 0, 0) for sender in range(FLOWS)]
    far = [link(FAR_BRIDGE, FLOWS + receiver, 0, 0) for receiver in range(FLOWS)]
    return [*near, *far, link(NEAR_BRIDGE, ROUTER, delay_ns, 0), link(ROUTER, FAR_BRIDGE, 0, delay_ns)]


def link(one: int, other: int, there_ns: int, back_ns: int) -> Json:
    delays = [there_ns, back_ns]
    return {"ends": [one, other], "rate_bps": None, "delay_ns": delays, "mtu": 1500, "ring": 256, "bql": False}


def shaper(rate_bps: int, burst: int, kind: str, limit: int) -> Json:
    options = {"rate": rate_bps, "burst": burst, "cburst": burst, "quantum": 1514}
    return {"kind": "htb", "options": options, "child": {"kind": kind, "options": {"limit": limit}, "child": None}}


def upload(run: Run, index: int) -> Json:
    start_s = LEAD_S + index * STAGGER_S
    return {
        "kind": "tcp",
        "name": flow_name(index),
        "from": index,
        "to": FLOWS + index,
        "start_ns": start_s * NANOSECONDS,
        "stop_ns": (start_s + SENDS_S) * NANOSECONDS,
        "bytes": None,
        "cc": {"name": run.cc, "options": {}},
        "tsq": {"kind": "time", "shift": 10},
        "socket": socket_options(()),
    }


def ping(end_ns: int) -> Json:
    return {
        "kind": "ping",
        "name": "ping",
        "from": 0,
        "to": FLOWS,
        "start_ns": 0,
        "stop_ns": end_ns,
        "interval_ns": NANOSECONDS // 5,
        "size": 64,
    }


def figures(found: Measures) -> tuple[float, ...]:
    """The figures compared, in the order of `FIGURES`."""
    return tuple(float(getattr(found, figure)) for figure in FIGURES)


def simulated(run: Run, phase_us: int = 0) -> tuple[float, ...]:
    """The simulator's figures, flow i beginning i phases later: where in a millisecond it begins is chance."""
    scenario = twin(run)
    for index, flow in enumerate(scenario["traffic"][:FLOWS]):
        flow["start_ns"] += (index + 1) * phase_us * 1000
    tables, _ = scenario_tables(json.dumps(scenario), FLOWS)
    sampled = replace(tables, tcp_info=tables.tcp_info.dropna(subset=["rtt"]))
    return figures(measure(sampled, FLOWS, END_S))


def ranges(run: Run) -> list[tuple[float, float]]:
    """Least and largest of each figure over ten phases and ten seeds."""
    drawn = [simulated(replace(run, seed=100 + draw), 97 * draw) for draw in range(10)]
    return [(min(values), max(values)) for values in zip(*drawn, strict=True)]


def by_chance(run: Run) -> list[str]:
    """The judged figures of the kernel that lie in the simulator's range, widened by the tolerance."""
    found = []
    for figure, kernel, (least, most) in zip(FIGURES, run.kernel, ranges(run), strict=True):
        allowed = tolerance(figure, kernel, most)
        if allowed is not None and least - allowed <= kernel <= most + allowed:
            found.append(figure)
    return found


def tolerance(figure: str, kernel: float, simulator: float) -> float | None:
    """What the two may differ by; None for a figure that is only shown."""
    if figure == "goodput_mbps":
        return 0.03 * kernel
    if figure in ("rtt_p50", "rtt_p90"):
        return max(0.1 * kernel, 1.0)
    if figure == "drops" and max(kernel, simulator) > 50:
        return 0.25 * max(kernel, 50)
    return None


def off(run: Run, ours: Sequence[float]) -> list[str]:
    """The judged figures out of tolerance."""
    compared = zip(FIGURES, run.kernel, ours, strict=True)
    allowed = ((figure, kernel, our, tolerance(figure, kernel, our)) for figure, kernel, our in compared)
    return [figure for figure, kernel, our, most in allowed if most is not None and not abs(our - kernel) <= most]


def read_golden() -> list[Run]:
    """The runs of the golden table."""
    with GOLDEN.open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if not row["name"].startswith("#")]
    return [
        Run(
            row["name"], row["cc"], int(row["seed"]), int(row["owd_ms"]), row["qdisc"], int(row["limit"]),
            int(row["rcvbuf"]), tuple(float(row[figure]) for figure in FIGURES),
        )
        for row in rows
    ]  # fmt: skip


def extract(campaign: Path) -> Iterator[Run]:
    """The runs of a campaign folder, measured."""
    for meta_file in sorted(campaign.glob("*/meta.json")):
        meta = json.loads(meta_file.read_text())
        axes = meta["axes"]
        limits = (axes["owd_ms"], axes["qdisc"], axes["limit"], axes["rcvbuf"])
        found = figures(measure(campaign_tables(meta_file.parent), FLOWS, END_S))
        yield Run(meta["name"], axes["cc"], meta["seed"], *limits, found)


def campaign_tables(folder: Path) -> Tables:
    info = pd.read_csv(folder / "tcpinfo.csv.gz").rename(columns=TCP_INFO_COLUMNS)
    info["snd_ssthresh"] = info["snd_ssthresh"].replace(INFINITE_SSTHRESH, float("nan"))
    ping = pd.read_csv(folder / "ping.csv.gz")
    ping = ping[ping["pair"] == 0] if "pair" in ping else ping
    report = re.sub(r"(?m)^(qdisc netem .*) root (.*)$", r"\1 wire \2", (folder / "qdisc.txt").read_text())
    return Tables(pd.read_csv(folder / "flows.csv.gz"), info, ping, final_drops(report))


def write_golden(runs: Sequence[Run]) -> None:
    settings = ("name", "cc", "seed", "owd_ms", "qdisc", "limit", "rcvbuf")
    with GOLDEN.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*settings, *FIGURES])
        writer.writerow(["# unit", "", "", "ms", "", "packets", "B", *UNITS])
        for run in runs:
            writer.writerow([*(getattr(run, name) for name in settings), *(f"{value:.6g}" for value in run.kernel)])


def main() -> int:
    parser = argparse.ArgumentParser(description="Lay the simulator beside a real kernel on TEACUP's topology.")
    parser.add_argument("patterns", nargs="*", default=["*"], metavar="PATTERN")
    parser.add_argument("--extract", type=Path, metavar="FOLDER", help="write the golden table from a campaign")
    parser.add_argument("--spread", action="store_true", help="also ten seeds and phases: what chance alone does")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if arguments.extract:
        write_golden(list(extract(arguments.extract)))
        return 0
    runs = [run for run in read_golden() if any(fnmatchcase(run.name, pattern) for pattern in arguments.patterns)]
    with ProcessPoolExecutor(arguments.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        ours = list(pool.map(simulated, runs))
        chance = list(pool.map(by_chance, runs)) if arguments.spread else [[] for _ in runs]
    return show(runs, ours, chance)


def show(runs: Sequence[Run], ours: Sequence[tuple[float, ...]], chance: Sequence[Sequence[str]]) -> int:
    """Prints a line per run, kernel and simulator side by side; 1 if a judged cell is out of tolerance."""
    judged = missed = explained = 0
    for run, found, likely in zip(runs, ours, chance, strict=True):
        wrong = off(run, found)
        explained += sum(figure in likely for figure in wrong)
        wrong = [f"({figure})" if figure in likely else figure for figure in wrong]
        missed += len(wrong)
        pairs = list(zip(FIGURES, run.kernel, found, strict=True))
        judged += sum(tolerance(*pair) is not None for pair in pairs)
        cells = "  ".join(f"{figure} {kernel:.4g}/{our:.4g}" for figure, kernel, our in pairs)
        print(f"{run.name:40} {'ok ' if not wrong else 'off'} {cells}  {' '.join(wrong)}")
    print(f"{judged - missed} of {judged} cells within tolerance; {explained} of the others within the spread, in ()")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

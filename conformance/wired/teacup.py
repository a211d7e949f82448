"""Compares the simulator with a real kernel on TEACUP's topology: three staggered flows through a router's AQM.

    python -m conformance teacup                                 # all runs of the golden table
    python -m conformance teacup 'cubic-10ms-*' --chance         # some of them, with ranges by chance
    python -m conformance.wired.teacup CAMPAIGN/teacup           # make the golden table from a campaign

Topology: H1..H3 - bridge - delay - R - bridge - H4..H6. Emulated one-way delay before the bottleneck and on the way
back; R's egress HTB 10 Mbit/s (burst 1600) with the child under test; the senders' egress HTB 1 Gbit/s with `pfifo
limit 1000`. Flow i starts at 20 (i - 1) s and sends for 60 s. Figures over 5 to 100 s, drops over the whole run.

Judged: goodput within 3 %, median and 90th percentile of the TCP RTT within 10 % or 1 ms, drops within 25 % where
either side has more than 50. The rest is shown.

Known deviations of the twin: bridges are hosts that forward; `SO_RCVBUF` is a fixed `tcp_rmem` of twice its value.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pandas as pd

from conformance.judge import Campaign, Figures, Repetition, Run, each
from conformance.wired.campaign import INFINITE_SSTHRESH, TCP_INFO_COLUMNS, final_drops
from conformance.wired.experiment import FAST_BURST, LEAD_S, NANOSECONDS, Json, Scenario, flow_name, socket_options
from conformance.wired.golden import FOLDER
from conformance.wired.measures import Tables, measure
from conformance.wired.simulate import scenario_tables
from tailback.analysis.tolerances import FIDELITY, Tolerance

GOLDEN = FOLDER / "teacup.csv"
FLOWS, STAGGER_S, SENDS_S = 3, 20, 60
END_S = STAGGER_S * (FLOWS - 1) + SENDS_S
UNITS = {
    "goodput_mbps": "Mbit/s", "rtt_p50": "ms", "rtt_p90": "ms", "drops": "packets", "jain": "1", "ping_p50": "ms",
    "ping_p90": "ms", "retransmits": "segments",
}  # fmt: skip
"""Units of the figures."""
RTT = Tolerance(share=0.1, absolute=1.0)
TOLERANCES = {"goodput_mbps": FIDELITY["goodput"], "rtt_p50": RTT, "rtt_p90": RTT, "drops": FIDELITY["drops"]}

PING = "ping"
"""A ping of each pair of end hosts; the figures are those of the first."""

#: Hosts of the twin after the six end hosts.
NEAR_BRIDGE, ROUTER, FAR_BRIDGE = 6, 7, 8


@dataclass(frozen=True)
class Experiment:
    """The settings of one run."""

    name: str
    cc: str
    seed: int
    owd_ms: int
    qdisc: str
    limit: int
    rcvbuf: int

    @property
    def key(self) -> str:
        """Family and name."""
        return f"teacup/{self.name}"

    @property
    def group(self) -> str:
        """The discipline under test."""
        return self.qdisc


def twin(run: Experiment) -> Scenario:
    """The resolved scenario of docs/contracts.md that repeats a run."""
    end_ns = (LEAD_S + END_S) * NANOSECONDS
    return {
        "title": f"twin of the kernel run {run.key}",
        "seed": run.seed,
        "duration_ns": end_ns + LEAD_S * NANOSECONDS,
        "hosts": [host(name, run.rcvbuf) for name in ("H1", "H2", "H3", "H4", "H5", "H6", "B1", "R", "B2")],
        "links": links(run.owd_ms * 1_000_000),
        "qdiscs": [
            *(
                {"host": sender, "link": sender, "root": shaper(10**9, FAST_BURST, "pfifo", 1000)}
                for sender in range(FLOWS)
            ),
            {"host": ROUTER, "link": 7, "root": shaper(10**7, 1600, run.qdisc, run.limit)},
        ],
        "traffic": [*(upload(run, index) for index in range(FLOWS)), *(ping(pair, end_ns) for pair in range(FLOWS))],
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


def upload(run: Experiment, index: int) -> Json:
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


def ping(pair: int, end_ns: int) -> Json:
    return {
        "kind": "ping",
        "name": f"{PING}.{pair + 1}",
        "from": pair,
        "to": FLOWS + pair,
        "start_ns": 0,
        "stop_ns": end_ns,
        "interval_ns": NANOSECONDS // 5,
        "size": 64,
    }


def simulate(run: Experiment, phase_us: int = 0) -> tuple[Figures, float]:
    """The simulator's figures; flow i starts i phases later, because its phase within a millisecond is random."""
    scenario = twin(run)
    for index, flow in enumerate(scenario["traffic"][:FLOWS]):
        flow["start_ns"] += (index + 1) * phase_us * 1000
    tables, cost = scenario_tables(json.dumps(scenario), FLOWS)
    first = tables.ping[tables.ping["ping"].astype(str) == f"{PING}.1"]
    sampled = replace(tables, tcp_info=tables.tcp_info.dropna(subset=["rtt"]), ping=first)
    return figures(sampled), cost["cpu_s"]


def figures(tables: Tables) -> Figures:
    """The figures of a run."""
    found = asdict(measure(tables, FLOWS, END_S))
    return {name: float(found[name]) for name in UNITS}


def repetitions(run: Experiment) -> list[Repetition]:
    """The run with ten phases and seeds."""
    return [Repetition("draws", functools.partial(_drawn, run, draw)) for draw in range(10)]


def _drawn(run: Experiment, draw: int) -> Figures:
    return simulate(replace(run, seed=100 + draw), 97 * draw)[0]


def read_golden() -> list[Run[Experiment]]:
    """The runs of the golden table."""
    with GOLDEN.open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if not row["name"].startswith("#")]
    return [
        Run(
            Experiment(
                row["name"], row["cc"], int(row["seed"]), int(row["owd_ms"]), row["qdisc"], int(row["limit"]),
                int(row["rcvbuf"]),
            ),
            {name: float(row[name]) for name in UNITS},
        )
        for row in rows
    ]  # fmt: skip


def extract(campaign: Path) -> Iterator[Run[Experiment]]:
    """The runs of a campaign folder, measured."""
    for meta_file in sorted(campaign.glob("*/meta.json")):
        meta = json.loads(meta_file.read_text())
        axes = meta["axes"]
        limits = (axes["owd_ms"], axes["qdisc"], axes["limit"], axes["rcvbuf"])
        found = figures(campaign_tables(meta_file.parent))
        yield Run(Experiment(meta["name"], axes["cc"], meta["seed"], *limits), found)


def campaign_tables(folder: Path) -> Tables:
    info = pd.read_csv(folder / "tcpinfo.csv.gz").rename(columns=TCP_INFO_COLUMNS)
    info["snd_ssthresh"] = info["snd_ssthresh"].replace(INFINITE_SSTHRESH, float("nan"))
    ping = pd.read_csv(folder / "ping.csv.gz")
    ping = ping[ping["pair"] == 0] if "pair" in ping else ping
    report = re.sub(r"(?m)^(qdisc netem .*) root (.*)$", r"\1 wire \2", (folder / "qdisc.txt").read_text())
    return Tables(pd.read_csv(folder / "flows.csv.gz"), info, ping, final_drops(report))


def write_golden(runs: Sequence[Run[Experiment]]) -> None:
    settings = ("name", "cc", "seed", "owd_ms", "qdisc", "limit", "rcvbuf")
    with GOLDEN.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*settings, *UNITS])
        writer.writerow(["# unit", "", "", "ms", "", "packets", "B", *UNITS.values()])
        for run in runs:
            figures = (f"{run.kernel[name]:.6g}" for name in UNITS)
            writer.writerow([*(getattr(run.experiment, name) for name in settings), *figures])


CAMPAIGN = Campaign(
    title="TEACUP's topology",
    tolerances=TOLERANCES,
    shown=[name for name in UNITS if name not in TOLERANCES],
    runs=read_golden,
    simulate=functools.partial(each, simulate),
    repetitions=repetitions,
    left_out=lambda _experiment: None,
    reason=lambda _experiment, _figure: None,
    measured=lambda folder: list(extract(folder)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the golden table of TEACUP's topology from a campaign.")
    parser.add_argument("campaign", type=Path)
    write_golden(list(extract(parser.parse_args().campaign)))


if __name__ == "__main__":
    main()

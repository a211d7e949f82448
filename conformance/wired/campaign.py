"""Reads a run folder of the kernel campaign: `meta.json`, `flows.csv.gz`, `tcpinfo.csv.gz`, `ping.csv.gz`, `qdisc.txt`.

The campaign is not part of the repository; `extract` reads it once and writes `tests/data/wired`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from conformance.wired.experiment import CLIENT, ROUTER, Experiment, Scenario
from conformance.wired.measures import Tables

TCP_INFO_COLUMNS = {
    "cwnd": "snd_cwnd",
    "ssthresh": "snd_ssthresh",
    "srtt_us": "rtt",
    "rttvar_us": "rttvar",
    "min_rtt_us": "min_rtt",
    "pacing_Bps": "pacing_rate",
    "delivery_Bps": "delivery_rate",
    "notsent": "notsent_bytes",
    "bbr_bw_Bps": "bbr_bw",
}
INFINITE_SSTHRESH = -1
DEVICES = {CLIENT: "C c0", ROUTER: "R rs"}
TC_CHILD = {
    "pfifo": "limit 1000p",
    "fq_codel": "limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64",
}
MICROSECONDS = {"us": 1, "ms": 1000, "s": 1_000_000}


def run_folders(root: Path, families: tuple[str, ...]) -> Iterator[Path]:
    """Folders of the wired families, in order."""
    for family in families:
        yield from sorted(path.parent for path in (root / family).glob("*/meta.json"))


def read_experiment(folder: Path) -> Experiment:
    meta = json.loads((folder / "meta.json").read_text())
    axes, environment = meta["axes"], meta["env"]
    return Experiment(
        family=meta["family"],
        name=meta["name"],
        seed=meta["seed"],
        cc=axes["cc"],
        bottleneck=axes["scen"],
        child=axes["qdisc"],
        small_queue=axes["tsq"],
        flows=environment["NF"],
        duration_s=environment["DUR"],
        base_rtt_us=microseconds(environment.get("RDELAY", "0us")),
        stagger_ms=round(1000 * environment.get("STAG", 0)),
        extras=extras(meta["name"]),
    )


def microseconds(span: str) -> int:
    """`0.2ms` as netem reads it."""
    match = re.fullmatch(r"([0-9.]+)(us|ms|s)", span)
    if match is None:
        raise ValueError(f"`{span}` is not a time; write a number and us, ms or s")
    return round(float(match[1]) * MICROSECONDS[match[2]])


def extras(name: str) -> tuple[str, ...]:
    """Settings outside the grid, from the name of the run (`-pace1`); not all of them are in its environment."""
    return tuple(word for word in ("pace", "gso", "lowat") if f"-{word}1" in name)


def read_tables(folder: Path) -> Tables:
    info = pd.read_csv(folder / "tcpinfo.csv.gz").rename(columns=TCP_INFO_COLUMNS)
    info["snd_ssthresh"] = info["snd_ssthresh"].replace(INFINITE_SSTHRESH, float("nan"))
    return Tables(
        flows=pd.read_csv(folder / "flows.csv.gz"),
        tcp_info=info,
        ping=pd.read_csv(folder / "ping.csv.gz"),
        drops=final_drops((folder / "qdisc.txt").read_text()),
    )


def final_drops(report: str) -> int:
    """Packets dropped by the root disciplines at the end, including those of their children."""
    final = report[report.index("## t=end") :]
    dropped = re.findall(r"^qdisc \S+ \S+ root .*\n.*\(dropped (\d+),", final, re.MULTILINE)
    return sum(int(packets) for packets in dropped)


def shaper_differences(folder: Path, scenario: Scenario) -> list[str]:
    """Lines that the output of `tc` in the middle of the run lacks, although the twin implies them."""
    report = (folder / "qdisc.txt").read_text().split("## t=end")[0]
    sections = dict(section.split("\n", 1) for section in report.split("## ")[1:])
    seen = {title.split(" ", 1)[1]: body for title, body in sections.items()}
    expected = {DEVICES[qdisc["host"]]: tc_lines(qdisc["root"]) for qdisc in scenario["qdiscs"]}
    return [f"{device}: {line}" for device, lines in expected.items() for line in lines if line not in seen[device]]


def tc_lines(root: dict[str, Any]) -> tuple[str, str]:
    """A shaper and its child in the form of `tc -d`."""
    options, child = root["options"], root["child"]
    printed = tc_burst(options["burst"], options["rate"])
    rate, burst = tc_rate(options["rate"]), f"burst {printed}b cburst {printed}b"
    shaped = f"class htb 1:10 root leaf 110: prio 0 rate {rate} ceil {rate} {burst}"
    return shaped, f"qdisc {child['kind']} 110: parent 1:10 {TC_CHILD[child['kind']]}"


def tc_burst(burst: int, rate_bps: int) -> int:
    """What `tc` prints of a bucket: what the rate carries in its time in whole µs."""
    us = burst * 8_000_000 // rate_bps
    return us * rate_bps // 8_000_000


def tc_rate(rate_bps: int) -> str:
    return f"{rate_bps // 10**9}Gbit" if rate_bps >= 10**9 else f"{rate_bps // 10**6}Mbit"

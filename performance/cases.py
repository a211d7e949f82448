"""The experiments whose cost is counted: each an experiment file in short."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import scenario
from tailback.algorithms import CoreRegistry
from tailback.resolved import to_json


@dataclass(frozen=True)
class Case:
    """One run."""

    name: str
    text: str
    """An experiment file of one configuration."""

    def resolved(self) -> Mapping[str, Any]:
        """The resolved scenario of the case."""
        (run,) = scenario.loads(f"title: {self.name}\nrepeat: 1\n{self.text}").runs()
        return to_json(run.scenario)


def router(flows: int, rate: str, seconds: int, hosts: str = "", cc: str = "cubic") -> str:
    """Uploads through three hosts; the router shapes towards the server."""
    return f"""
links:
  - {{ends: [client, router], rate: 10gbit, delay: 1ms}}
  - {{ends: [router, server], rate: 10gbit, delay: 1ms}}
qdiscs: {{router -> server: htb rate {rate} | fq_codel}}
traffic: [{{tcp: client -> server, flows: {flows}}}]
cc: {cc}
duration: {seconds}s
measure: {{warmup: 0s, interval: 1s}}
{hosts}"""


def link(flows: int, rate: str, seconds: int, qdisc: str = "pfifo_fast") -> str:
    """CUBIC uploads through three hosts; the second link has the rate, and `qdisc` above it."""
    return f"""
links:
  - {{ends: [client, router], rate: 10gbit, delay: 1ms}}
  - {{ends: [router, server], rate: {rate}, delay: 1ms}}
qdiscs: {{router -> server: {qdisc}}}
traffic: [{{tcp: client -> server, flows: {flows}}}]
cc: cubic
duration: {seconds}s
measure: {{warmup: 0s, interval: 1s}}
"""


def windows_of_ten(flows: int, seconds: float) -> str:
    """Uploads without losses: the receive window of each is ten segments, its RTT 40 ms, so that it sends 3 Mbit/s; its
    share of the rate is 4 Mbit/s, however many there are.
    """
    return f"""
links:
  - {{ends: [client, router], rate: 400gbit, delay: 10ms}}
  - {{ends: [router, server], rate: 400gbit, delay: 10ms}}
qdiscs: {{router -> server: htb rate {4 * flows}mbit | fq_codel limit 1000000 flows 65535}}
traffic: [{{tcp: client -> server, flows: {flows}, rcvbuf: 14480b, jitter: 40ms}}]
cc: cubic
duration: {seconds}s
measure: {{warmup: 0s, interval: 1s}}
"""


def cell(uploads: int, downloads: int, rate: str | None, seconds: int, idle: int = 0) -> str:
    """CUBIC over an 802.11n cell, a station for each flow; `rate` limits each by pacing, at any rate with a timer per
    segment. `idle` more stations send nothing.
    """
    busy = uploads + downloads
    stations = [f"s{number}" for number in range(1, busy + idle + 1)]
    paced = "" if rate is None else f", max_pacing_rate: {rate}"
    up = [f"  - {{tcp: {name} -> server{paced}}}" for name in stations[:uploads]]
    down = [f"  - {{tcp: server -> {name}{paced}}}" for name in stations[uploads:busy]]
    traffic = "\n".join([*up, *down])
    return f"""
links:
  - wifi: {{ap: router, stations: [{", ".join(stations)}]}}
    standard: 802.11n
    width: 40MHz
    mcs: 15
    guard: 400ns
    driver: ath9k
  - {{ends: [router, server], rate: 10gbit, delay: 1ms}}
traffic:
{traffic}
cc: cubic
duration: {seconds}s
measure: {{warmup: 0s, interval: 1s}}
"""


CASES = (
    Case("4 flows, htb | fq_codel, 100 Mbit/s", router(4, "100mbit", 4)),
    Case("4 flows, pfifo_fast over a link, 100 Mbit/s", link(4, "100mbit", 4)),
    Case("4 flows, trains, 1 Gbit/s", router(4, "1gbit", 2, "offloads: on\n")),
    Case("1 flow, 1 Gbit/s", router(1, "1gbit", 1)),
    Case("4 flows, 1 Gbit/s", router(4, "1gbit", 1)),
    Case("10 flows, 1 Gbit/s", router(10, "1gbit", 1)),
    Case("100 flows, 1 Gbit/s", router(100, "1gbit", 1)),
    Case("1000 flows, 1 Gbit/s", router(1_000, "1gbit", 2)),
    Case("10000 flows, 1 Gbit/s", router(10_000, "1gbit", 6)),
    Case("Wi-Fi, 1 upload", cell(1, 0, "10gbit", 3)),
    Case("Wi-Fi, 1 upload, not paced", cell(1, 0, None, 3)),
    Case("Wi-Fi, 1 upload beside 50 idle stations", cell(1, 0, "10gbit", 3, idle=50)),
    Case("Wi-Fi, 4 up and 4 down", cell(4, 4, "10gbit", 3)),
    Case("Wi-Fi, 4 up and 4 down, not paced", cell(4, 4, None, 3)),
    Case("Wi-Fi, 20 uploads of 10 Mbit/s", cell(20, 0, "10mbit", 3)),
    # What many flows cost apart from what losses cost. Ten flows with as much rate each as a thousand have of 1 Gbit/s
    # lose as many segments as these (11 %); with as much as ten thousand have, 40 instead of 32 %. Flows with windows
    # of ten segments lose none.
    Case("10 flows, 10 Mbit/s", router(10, "10mbit", 200)),
    Case("10 flows, 1 Mbit/s", router(10, "1mbit", 600)),
    Case("10 flows, no losses", windows_of_ten(10, 20)),
    Case("1000 flows, no losses", windows_of_ten(1_000, 1)),
    Case("10000 flows, no losses", windows_of_ten(10_000, 0.4)),
)

OPTIONS = {
    "cake": "bandwidth 100mbit",
    "htb": "rate 100mbit",
    "netem": "delay 5ms",
    "red": "limit 400kb min 30kb max 90kb avpkt 1kb burst 55 bandwidth 100mbit",
    "choke": "limit 1000 min 83 max 250 burst 100 bandwidth 100mbit",
    "tbf": "rate 100mbit burst 32kb latency 50ms",
}
"""The options of the disciplines that need some."""


def disciplines() -> list[Case]:
    """A case for each queue discipline, above a link of 100 Mbit/s; without `drr`, which has no class by itself."""
    names = (row.name for row in CoreRegistry().qdiscs if row.name != "drr")
    return [Case(kind, link(4, "100mbit", 2, f"{kind} {OPTIONS.get(kind, '')}")) for kind in names]


def controls() -> list[Case]:
    """A case for each congestion control, through `htb | fq_codel`."""
    names = (row.name for row in CoreRegistry().congestion_controls)
    return [Case(name, router(4, "100mbit", 2, cc=name)) for name in names]


EXPERIMENTS = Path(__file__).parents[1] / "experiments"


def experiments() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The experiments that users meet first: the name of each file, and the resolved scenario of its first run."""
    for path in sorted(EXPERIMENTS.glob("*.yaml")):
        yield path.name, to_json(scenario.load(path).runs()[0].scenario)


GUARDED = tuple(case for case in CASES if case.name in ("Wi-Fi, 1 upload", CASES[0].name, CASES[1].name))
"""Counted by each `make test`."""

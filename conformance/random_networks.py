"""Draws networks with applications at random, to be compared with a kernel where nobody has looked.

    python -m conformance.random_networks SEED [NUMBER] > random.yaml
    tailback validate random.yaml --most 6

Each case has up to three clients and three servers at the two ends of a bottleneck, each client at its own distance.
The bottleneck has a discipline in each direction, now and then impairments, or a delay, losses or a pause that come
during the run; clients may have disciplines of their own. Between them go bulk data, arriving connections, requests,
pages, videos, calls, games, datagrams or pings. The same seed draws the same file.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.controls import IN_LINUX
from conformance.random_experiments import DISCIPLINES, Draw, print_drawn

RATES_KBIT = (2_000, 5_000, 10_000, 20_000, 50_000)
IMPAIRMENTS: Sequence[Mapping[str, str]] = (
    {"loss": "0.2%"}, {"loss": "0.5%"}, {"loss": "gemodel 0.2% 20%"}, {"corrupt": "0.2%"}, {"duplicate": "0.3%"},
    {"jitter": "3ms"},
)  # fmt: skip
SCHEDULES: Sequence[Sequence[Mapping[str, str]]] = (
    ({"at": "6s", "delay": "30ms"},),
    ({"at": "6s", "delay": "5ms"},),
    ({"at": "6s", "state": "down"}, {"at": "6500ms", "state": "up"}),
    ({"at": "5s", "loss": "1%"}, {"at": "9s", "loss": "0%"}),
)
SIZES = ("exponential 50kb", "lognormal 50kb sigma 1", "20kb", "pareto 60kb shape 1.5")
ARRIVALS = ("poisson 5/s", "poisson 15/s", "onoff 10/s on 1s off 1s")
LASTING = {"start": "1s", "stop": "14s", "jitter": "500ms"}
"""When what lasts begins and ends."""
MANY = (1, 2, 3)
"""The numbers of the clients, and of the servers."""


def application(draw: Draw, client: str, server: str) -> dict[str, Any]:
    """An entry of `traffic` without its name."""
    up, either = f"{client} -> {server}", draw.one((f"{client} -> {server}", f"{server} -> {client}"))
    control = {"cc": draw.one(IN_LINUX)}
    marked = {"dscp": draw.one(("EF", "CS1", "AF41"))} if draw.happens(0.2) else {}
    bulk = {"tcp": either, "flows": draw.one((1, 1, 2, 4)), **LASTING, "start": draw.one(("1s", "1s", "4s"))}
    kinds: Sequence[dict[str, Any]] = (
        {**bulk, **control, **marked},
        {**bulk, **control, **marked},
        {
            "tcp": either, "size": draw.one(SIZES), "arrivals": draw.one(ARRIVALS), "start": "1s", "stop": "13s",
            **control, **marked,
        },
        {
            "request": up, "connections": draw.one((1, 4)), "answer": draw.one(("10kb", *SIZES[1:2], "200kb")),
            "think": draw.one(("100ms", "exponential 300ms")), **LASTING, **control, **marked,
        },
        {
            "page": up, "shape": draw.one(("desktop", "mobile", "inner")), "http": draw.one((1, 2)), "every": "4s",
            **LASTING, **control,
        },
        {"video": up, "rule": draw.one(("rate", "bola", "hybrid")), "segment": "2s", **LASTING, **control},
        {
            "udp": either, "rate": draw.one(("500kbit", "2mbit")), "size": draw.one(("200b", "1200b")), **LASTING,
            **marked,
        },
        {"call": up, **LASTING, **marked},
        {"game": up, **LASTING},
        {"ping": up, "interval": "50ms", **marked},
    )  # fmt: skip
    return dict(draw.one(kinds))


def links(draw: Draw) -> list[dict[str, Any]]:
    """The clients' links, that between the routers, the servers' links."""
    distances = ("0us", "1ms", "10ms", "30ms")
    clients = [{"ends": [f"client{each}", "left"], "delay": ["0us", draw.one(distances)]} for each in MANY]
    impairment = draw.one(IMPAIRMENTS) if draw.happens(0.25) else {}
    schedule = {"schedule": [dict(change) for change in draw.one(SCHEDULES)]} if draw.happens(0.25) else {}
    delay = draw.one(("5ms", "20ms", "50ms")) if "jitter" in impairment else draw.one(("1ms", "5ms", "20ms", "50ms"))
    middle = {"ends": ["left", "right"], "delay": delay, **impairment, **schedule}
    return [*clients, middle, *({"ends": ["right", f"server{each}"]} for each in MANY)]


def disciplines(draw: Draw) -> dict[str, str]:
    """The disciplines of the bottleneck, and of some clients."""
    kbit = draw.one(RATES_KBIT)
    back = max(kbit // draw.one((1, 2, 5)), 1_000)
    found = {
        "left -> right": shaped(draw, f"{kbit}kbit"),
        "right -> left": shaped(draw, f"{back}kbit"),
    }
    if draw.happens(0.3):
        found["client1 -> left"] = shaped(draw, f"{kbit // 2}kbit")
    if draw.happens(0.3):
        found["client2 -> left"] = draw.one(("fq", "fq_codel", "pfifo limit 50"))
    return found


def shaped(draw: Draw, rate: str) -> str:
    """A discipline below a shaper."""
    return f"htb rate {rate} | {draw.discipline(rate, DISCIPLINES)}"


def traffic(draw: Draw) -> list[dict[str, Any]]:
    """Two to four entries, at least one of them over TCP."""
    clients = draw.one((1, 2, 2, 3))
    found = []
    for which in range(draw.one((2, 2, 3, 4))):
        client, server = which % clients + 1, which // clients % clients + 1
        entry = application(draw, f"client{client}", f"server{server}")
        found.append({**entry, "name": f"{next(iter(entry))}{which}"})
    if not any({"tcp", "request", "page", "video"} & set(entry) for entry in found):
        found.append({"tcp": "client1 -> server1", "name": "tcp", **LASTING})
    return found


def case(draw: Draw) -> dict[str, Any]:
    """The keys of one experiment."""
    hosts = [*(f"client{each}" for each in MANY), "left", "right", *(f"server{each}" for each in MANY)]
    return {
        "hosts": dict.fromkeys(hosts),
        "links": links(draw),
        "qdiscs": disciplines(draw),
        "traffic": traffic(draw),
        "offloads": draw.one(("off", "off", "on", "gso")),
    }


def experiment(seed: int, number: int) -> dict[str, Any]:
    """A file with `number` cases."""
    draw = Draw(random.Random(seed))
    cases = {f"{seed}.{which}": case(draw) for which in range(number)}
    return {
        "title": f"random networks {seed}", **next(iter(cases.values())), "duration": "15s", "cc": "cubic",
        "measure": {"warmup": "1s"}, "repeat": 6, "vary": {"case": cases},
    }  # fmt: skip


if __name__ == "__main__":
    print_drawn(experiment)

"""Draws Wi-Fi cells at random, to be compared with mac80211 of a kernel where nobody has looked.

    python -m conformance.random_cells SEED [NUMBER] > random.yaml
    tailback validate random.yaml --against uml:wifi --most 3

Each case has a cell of one to three stations with their modes, the standard and the width of the cell, a driver for
the access point and the stations, now and then losses, RTS, EDCA of hostapd or CCMP; a wire behind the access point,
now and then slower than the air; flows up and down with their controls and small queues, perhaps datagrams, requests or
games beside them, and a ping to each station. The same seed draws the same file.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.controls import IN_LINUX
from conformance.random_experiments import Draw, print_drawn

STANDARDS: Sequence[tuple[str, Mapping[str, Any], Sequence[int]]] = (
    ("802.11n", {"width": "40MHz", "guard": "400ns"}, (0, 3, 7, 12, 15)),
    ("802.11n", {"width": "20MHz"}, (1, 7, 11, 15)),
    ("802.11ac", {"width": "80MHz", "streams": 2}, (0, 4, 7, 9)),
    ("802.11ax", {"width": "80MHz", "streams": 2}, (0, 5, 9, 11)),
)
"""Standards with the other keys of a cell and the modes of which stations have one."""
DRIVERS: Mapping[str, Sequence[str]] = {
    "802.11n": ("ath9k", "ath9k", "generic", "ath9k_htc_txq"),
    "802.11ac": ("ath10k", "mt76", "iwlwifi", "generic"),
    "802.11ax": ("mt76", "iwlwifi", "generic"),
}
NOT_DRAWN: Mapping[str, str] = {"ath9k_htc": "it has a qdisc, which no driver of Linux 6.12 has"}
"""The other drivers, and why."""
LASTING = {"start": "500ms", "stop": "6s", "jitter": "200ms"}
"""When what lasts begins and ends."""


def case(draw: Draw) -> dict[str, Any]:
    """The keys of one experiment."""
    stations = [f"station{each + 1}" for each in range(draw.one((1, 1, 2, 3)))]
    delay = draw.one(("100us", "1ms", "10ms", "40ms"))
    wire = {"ends": ["router", "server"], "rate": draw.one(("1gbit", "1gbit", "50mbit")), "delay": delay}
    return {
        "links": [cell(draw, stations), wire],
        "traffic": [entry for each in stations for entry in traffic(draw, each)],
        "cc": draw.one(IN_LINUX),
        "tsq": draw.one(("1ms", "4ms", "8ms", "off")),
    }


def cell(draw: Draw, stations: Sequence[str]) -> dict[str, Any]:
    """A cell with an access point and these stations."""
    standard, keys, modes = draw.one(STANDARDS)
    found: dict[str, Any] = {"wifi": {"ap": "router", "stations": list(stations)}, "standard": standard, **keys}
    found["mcs"] = {each: draw.one(modes) for each in stations}
    found["driver"] = {each: draw.one(DRIVERS[standard]) for each in ("ap", *stations)}
    if draw.happens(0.3):
        found["loss"] = {draw.one(stations): draw.one(("1%", "5%", "15%"))}
    if draw.happens(0.2):
        found["rts"] = True
    if draw.happens(0.2):
        found["edca"] = {"ap": "hostapd"}
    if draw.happens(0.2):
        found["encryption"] = "ccmp"
    return found


def traffic(draw: Draw, station: str) -> list[dict[str, Any]]:
    """One or two entries of a station, and a ping."""
    up, down = f"{station} -> server", f"server -> {station}"
    kinds: Sequence[Mapping[str, Any]] = (
        {"tcp": up, "flows": draw.one((1, 1, 4))},
        {"tcp": down, "flows": draw.one((1, 1, 4))},
        {"tcp": down, "cc": draw.one(IN_LINUX)},
        {"udp": draw.one((up, down)), "rate": draw.one(("5mbit", "40mbit")), "dscp": draw.one(("CS0", "AF41", "EF"))},
        {"request": up, "answer": "100kb", "think": "50ms"},
        {"game": up},
    )
    chosen = [dict(kinds[draw.one((0, 1))])]
    if draw.happens(0.5):
        chosen.append(dict(draw.one(kinds)))
    entries = [{**one, **LASTING, "name": f"{station}-{number}"} for number, one in enumerate(chosen)]
    return [*entries, {"ping": up, "name": f"{station}-ping", "interval": "20ms"}]


def experiment(seed: int, number: int) -> dict[str, Any]:
    """A file with `number` cases."""
    draw = Draw(random.Random(seed))
    cases = {f"{seed}.{which}": case(draw) for which in range(number)}
    return {
        "title": f"random cells {seed}", **next(iter(cases.values())), "duration": "6s", "measure": {"warmup": "2s"},
        "repeat": 4, "vary": {"case": cases},
    }  # fmt: skip


if __name__ == "__main__":
    print_drawn(experiment)

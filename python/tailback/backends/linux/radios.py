"""The radios of a scenario on Linux: cells of our driver (`kernel/driver`), their association and their addresses."""

from __future__ import annotations

from collections.abc import Iterator

from tailback.backends.linux import captures
from tailback.backends.linux.driver_traits import traits
from tailback.backends.linux.hops import families_of, radio_hops
from tailback.backends.linux.links import Hop, most_segments
from tailback.backends.linux.steps import IP, Json, run, write
from tailback.resolved import Scenario
from tailback.resolved.wifi import Mode

RADIOS = "/sys/module/tailback_wifi/parameters/"
"""The files of our driver (`kernel/driver`)."""

FREQUENCY_MHZ = 5180
"""Channel 36. The air does not depend on it."""

SHORT_GUARD_NS = 400

FORMATS = (("ht", 800), ("ht", 400), ("vht", 800), ("vht", 400), ("he", 800), ("he", 1600), ("he", 3200))
"""Formats and guard intervals in ns, as our driver numbers them (`kernel/driver/air.h`)."""

CODED_BITS = ((1, 6), (2, 6), (2, 9), (4, 6), (4, 9), (6, 8), (6, 9), (6, 10), (8, 9), (8, 10), (10, 9), (10, 10))
"""Coded bits on a carrier, and twelfths of them that are data, by MCS."""

DEFAULT_SHIFT = 10
"""`sk_pacing_shift` of sockets whose small queue is not limited by a time. [linux-6.12 sock.c sock_init_data_uid]"""


def cells(scenario: Scenario) -> Iterator[Json]:
    """The radios, their association, and their addresses."""
    for number, cell in enumerate(scenario.cells):
        hosts = [cell.access_point, *(station.host for station in cell.stations)]
        device = f"w{number}"
        ends = [
            {"host": host, "device": device, "address": _radio_address(number, place)}
            for place, host in enumerate(hosts)
        ]
        for place, host in enumerate(hosts):
            yield write(host, f"{RADIOS}radio", " ".join(map(str, radio_words(scenario, number, place))))
            yield run(host, IP, "link", "set", "wlan0", "name", device)
        channel = {"frequency": FREQUENCY_MHZ, "width": max(station.mode.width for station in cell.stations)}
        # Those of 802.11ax associate as radios of 802.11ac.
        standard = "802.11n" if cell.stations[0].mode.format == "ht" else "802.11ac"
        members = {"access_point": ends[0], "stations": ends[1:], "standard": standard, **channel}
        yield {"kind": "associate", "cell": members}
        for host in hosts if scenario.hosts[cell.access_point].offloads == "off" else ():
            yield run(host, IP, "link", "set", device, *most_segments(scenario, host))
    for hop in radio_hops(scenario):
        for family in families_of(scenario):
            address = f"{family.address(hop.link, hop.end)}/{family.prefix}"
            yield run(hop.host, IP, *family.words, "address", "add", address, "dev", hop.device)
    for hop in radio_hops(scenario):
        for family in families_of(scenario):
            there = [family.address(hop.link, 1 - hop.end), "lladdr", _radio_of(scenario, hop.neighbour, hop)]
            neighbour = ["neighbour", "replace", *there, "nud", "permanent", "dev", hop.device]
            yield run(hop.host, IP, *family.words, *neighbour)


def _radio_address(cell: int, place: int) -> str:
    return f"02:00:01:{cell:02x}:{place >> 8:02x}:{place & 255:02x}"


def _radio_of(scenario: Scenario, host: int, hop: Hop) -> str:
    """The address of a host's radio in the cell of a hop."""
    number = hop.cell or 0
    cell = scenario.cells[number]
    hosts = [cell.access_point, *(station.host for station in cell.stations)]
    return _radio_address(number, hosts.index(host))


def radio_words(scenario: Scenario, number: int, place: int) -> list[object]:
    """What the driver is told about a radio: address, pacing shift of its sockets, HT mode (MCS, width, short guard
    interval), expected throughput in kbit/s, airtime fairness, airtime queue limits, streams, whether its modes vary,
    whether mac80211 chooses those of what it sends, format with guard interval, and whether it is one of 802.11ac. An
    access point has what any of its stations has."""
    cell = scenario.cells[number]
    stations = cell.stations if place == 0 else cell.stations[place - 1 : place]
    host = cell.access_point if place == 0 else stations[0].host
    driver = cell.driver if place == 0 else stations[0].driver
    shifts = [flow.tsq.shift for flow in scenario.tcp if flow.source == host and flow.tsq.kind == "time"]
    mode = stations[0].mode
    index = 8 * (mode.streams - 1) + mode.mcs if mode.format == "ht" else mode.mcs
    width = max(station.mode.width for station in stations)
    short = int(any(station.mode.guard_ns == SHORT_GUARD_NS for station in stations))
    known = traits()[driver.name]
    fairness = int(driver.options.get("airtime_flags", known.fairness) > 0)
    shift = shifts[0] if shifts else DEFAULT_SHIFT
    expected = 0 if known.chooses else kbps(mode)
    streams = max(station.mode.streams for station in stations)
    varies = any(station.rate != "fixed" for station in stations)
    before = [_radio_address(number, place), shift, index, width, short, expected, fairness, int(known.limits)]
    kind = FORMATS.index((mode.format, mode.guard_ns))
    vht = known.vht or mode.format != "ht"
    return [*before, streams, int(varies), int(varies and not known.chooses), kind, int(vht)]


def kbps(mode: Mode) -> int:
    """The bit rate of a mode. [ieee80211-2016 §19.5, §21.5] [ieee80211ax §27.5]"""
    of_width = {"ht": (52, 108), "vht": (52, 108, 234, 468), "he": (234, 468, 980, 1960)}[mode.format]
    carriers = of_width[(20, 40, 80, 160).index(mode.width)]
    bits, of_twelfths = CODED_BITS[mode.mcs]
    symbol_us = (12.8 if mode.format == "he" else 3.2) + mode.guard_ns / 1000
    return round(carriers * bits * of_twelfths / 12 * mode.streams / symbol_us * 1000)


def sampled(scenario: Scenario) -> Json:
    """What connects the radios to their air, and their devices, whose queues are sampled."""
    found = list(captures.radios(scenario))
    return {"air": f"{RADIOS}zero", "radios": found} if found else {}

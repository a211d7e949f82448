"""RRUL and UDP over a cell: the effect of code points on the air, and overload by datagrams."""

import functools

import pandas as pd

from tailback.analysis.udp import udp_delays, udp_loss
from tailback.analysis.window import Window
from tailback.backends.sim import Sim
from tailback.scenario import loads

CELL = """\
links:
  - wifi: {ap: router, stations: [client]}
    standard: 802.11n
    width: 40MHz
    mcs: 15
    guard: 400ns
    driver: ath9k
  - {ends: [router, server], rate: 1gbit, delay: 1ms}
traffic:
%s
duration: 6s
"""
WINDOW = Window(2 * 10**9, 6 * 10**9)
BIN_NS = 10**8


@functools.cache
def tables(*entries: str, stack: str = "linux-6.12") -> dict[str, pd.DataFrame]:
    sim = Sim()
    text = f"hosts: {{router: {{stack: {stack}}}}}\n" + CELL % "\n".join(f"  - {entry}" for entry in entries)
    scenario = loads(text).runs()[0].scenario
    return {name: table.to_arrow().to_pandas() for name, table in sim.run(scenario, sim.new_progress()).tables.items()}


def test_in_rrul_pings_marked_as_voice_are_answered_more_often_than_unmarked_ones() -> None:
    found = tables("{preset: rrul, hosts: [client, server]}")
    ping = found["ping"][found["ping"]["t"] > 2]
    share = ping["rtt_ms"].notna().groupby(ping["ping"].astype(str)).mean()
    # Saturated voice and video of both radios leave best effort and background next to nothing.
    assert share["udp-ping.EF"] > 0.9
    assert share["udp-ping.BK"] <= share["udp-ping.BE"] < share["udp-ping.EF"]


def test_a_flood_fills_aggregates_and_what_is_too_much_is_lost() -> None:
    found = tables("{udp: client -> server, rate: 300mbit, sndbuf: 100mb}")
    loss = udp_loss(found["udp"], WINDOW, BIN_NS)["udp"]
    # 248 of 300 Mbit/s get through (32 frames per aggregate), the rest is dropped above the radio.
    assert 0.15 < loss < 0.2
    assert found["wifi"][found["wifi"]["t"] > 2]["mpdus"].median() == 32


def test_a_voice_call_waits_for_the_access_point_and_loses_nothing() -> None:
    found = tables("{udp: server -> client, rate: 1mbit, size: 160b, name: call, dscp: EF}")
    assert udp_loss(found["udp"], WINDOW, BIN_NS)["call"] < 0.01
    delays = udp_delays(found, WINDOW)["call"]
    assert 1.0 < delays.mean < 1.3


def test_a_voice_call_beside_video_waits_longer_on_a_kernel_to_which_ef_is_video() -> None:
    flood = "{udp: server -> client, rate: 300mbit, name: film, dscp: CS5}"
    call = "{udp: server -> client, rate: 1mbit, size: 160b, name: call, dscp: EF}"
    new, old = (tables(flood, call, stack=stack) for stack in ("linux-6.12", "linux-5.10"))
    waits = [udp_delays(found, WINDOW)["call"].mean for found in (new, old)]
    assert waits[1] > 1.3 * waits[0]

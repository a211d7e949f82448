"""Signatures of TCP over one 802.11n cell at 300 Mbit/s: published numbers, and the behaviour of a real kernel's TCP
over such a cell. crates/wifi/tests/signatures/README.md lists all of them, including those without a test.
"""

import functools

import pandas as pd
import pytest

from tailback.analysis import Window
from tailback.analysis.wifi import airtime_share
from tailback.backends.sim import Sim
from tailback.scenario import loads

CELL = """\
links:
  - wifi: {{ap: router, stations: [{stations}]}}
    standard: 802.11n
    width: 40MHz
    mcs: {mcs}
    guard: 400ns
    driver: {driver}
  - {{ends: [router, server], rate: 1gbit, delay: 100us}}
hosts:
  client: {{sysctl: {{net.ipv4.tcp_pacing_ca_ratio: {ca}, net.ipv4.tcp_pacing_ss_ratio: {ss}}}}}
{hosts}
traffic:
{traffic}
  - {{ping: client -> server, interval: 20ms}}
duration: 6s
measure: {{warmup: 2s}}
"""
FROM_S, TO_S = 2.0, 6.0
UPLOAD = "{tcp: client -> server, name: upload}"


class Run:
    """Measurements of one run, over its second part."""

    def __init__(self, tables: dict[str, pd.DataFrame]) -> None:
        self.tables = {name: table[(table["t"] >= FROM_S) & (table["t"] < TO_S)] for name, table in tables.items()}

    @property
    def goodput(self) -> float:
        return float(self.tables["flows"]["bytes"].sum()) * 8e-6 / (TO_S - FROM_S)

    @property
    def mpdus(self) -> float:
        """Per PPDU with data."""
        air = self.tables["wifi"]
        return float(air[air["ip_bytes"] / air["mpdus"] > 500]["mpdus"].mean())

    @property
    def ping(self) -> "pd.Series[float]":
        return self.tables["ping"]["rtt_ms"]

    @property
    def tcp_rtt(self) -> float:
        return float(self.tables["tcp_info"]["rtt"].median()) / 1e3


@functools.cache
def run(traffic: str = UPLOAD, driver: str = "ath9k", mcs: int = 15, cc: str = "cubic", **settings: str) -> Run:
    pacing = int(settings.pop("pacing", "1"))
    stations = settings.pop("stations", "client")
    hosts = "\n".join(f"  {host}:" for host in [*stations.split(", ")[1:], "router", "server"])
    text = CELL.format(
        stations=stations,
        hosts=hosts,
        mcs=mcs,
        driver=driver,
        traffic=f"  - {traffic}",
        ca=120 * pacing,
        ss=200 * pacing,
    )
    words = [f"cc={cc}", *(f"{key}={value}" for key, value in settings.items())]
    scenario = loads(text, words).runs()[0].scenario
    sim = Sim()
    return Run(
        {name: table.to_arrow().to_pandas() for name, table in sim.run(scenario, sim.new_progress()).tables.items()}
    )


def test_a_download_carries_what_the_air_leaves_beside_its_acks() -> None:
    download = run("{tcp: server -> client, name: download}")
    assert 185 < download.goodput < 215
    assert download.mpdus > 25


def test_acks_contend_only_part_of_the_time() -> None:
    air = run("{tcp: server -> client, name: download}").tables["wifi"]
    # Two saturated senders would collide in 11 % of their transmissions.
    assert 0.03 < (air["colliders"] > 0).mean() < 0.115


def test_acks_take_a_seventh_of_the_air_or_less() -> None:
    air = run("{tcp: server -> client, name: download}").tables["wifi"]
    acks = air[air["from"] == "client"]
    # Per TXOP: 110.5 µs access, 16 + 32 µs response. With 16 ACKs in each it would be 14 %; more wait for a TXOP here.
    spent = acks["duration_us"].sum() + 158.5 * len(acks)
    assert spent / 1e6 / (TO_S - FROM_S) == pytest.approx(0.12, abs=0.03)


def test_the_small_queue_of_mac80211_makes_full_aggregates() -> None:
    for tsq in ("4ms", "8ms"):
        assert run(tsq=tsq).goodput > 180
        assert run(tsq=tsq).mpdus > 27


def test_bbr_sends_frames_one_by_one_at_1_ms() -> None:
    assert run(tsq="1ms", cc="bbr").mpdus < 5
    assert run(tsq="1ms", cc="bbr").goodput < 60
    assert run(tsq="1ms", cc="bbr").ping.median() < 3


@pytest.mark.parametrize("cc", ["cubic", "nv"])
def test_twice_the_pacing_ratio_is_twice_the_small_queue(cc: str) -> None:
    twice = run(tsq="1ms", cc=cc, pacing="2")
    assert twice.mpdus == pytest.approx(run(tsq="2ms", cc=cc).mpdus, rel=0.15)


def test_four_uploads_have_more_to_aggregate_than_one() -> None:
    four = run("{tcp: client -> server, name: upload, flows: 4}", tsq="1ms", cc="bbr")
    one = run(tsq="1ms", cc="bbr")
    assert four.mpdus > 1.5 * one.mpdus
    assert four.goodput > 1.5 * one.goodput


def test_fq_codel_in_the_radio_keeps_the_ping_from_the_queue_of_tcp() -> None:
    ath9k = run(tsq="16ms")
    assert ath9k.ping.median() < 0.6 * ath9k.tcp_rtt
    htc = run(tsq="16ms", driver="ath9k_htc", mcs=7)
    assert htc.ping.median() == pytest.approx(htc.tcp_rtt, rel=0.25)


def test_a_ping_under_load_waits_for_the_air_and_one_aggregate_at_least() -> None:
    # The rest of the aggregate on the air, the queued one, and its own: at least 1.5 cycles of 1.5 ms.
    assert 2.0 < run(tsq="16ms").ping.quantile(0.1) < 8


def test_246_frames_of_usb_firmware_are_a_queue_of_25_to_35_ms() -> None:
    htc = run(tsq="off", driver="ath9k_htc", mcs=7, qdiscs="{client -> router: fq_codel}")
    assert 20 < htc.ping.median() < 36
    assert htc.goodput > 95


def test_two_stations_share_air_and_goodput() -> None:
    both = run("{tcp: client -> server, name: one}\n  - {tcp: other -> server, name: two}", stations="client, other")
    share = both.tables["flows"].groupby("flow")["bytes"].sum()
    assert share.min() / share.max() > 0.8
    pairs = [("router", "client"), ("router", "other")]
    air = airtime_share(both.tables["wifi"], pairs, Window(int(FROM_S * 1e9), int(TO_S * 1e9)))
    assert air["client"] == pytest.approx(0.5, abs=0.06)

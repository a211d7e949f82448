"""The effects of disciplines on whole TCP flows: pacing, small queue, sharing."""

import json

import pandas as pd
import pytest

from tailback import _core
from tailback.resolved import to_json
from tailback.scenario import loads

FILE = """\
links:
  - {{ends: [client, router]}}
  - {{ends: [router, server], delay: [0ms, 5ms]}}
qdiscs:
  {qdiscs}
traffic:
{traffic}
duration: 12s
measure: {{warmup: 2s}}
"""
UPLOAD = "  - {tcp: client -> server, name: upload, start: 0s, stop: 10s}"


def ran(qdiscs: str, traffic: str = UPLOAD) -> dict[str, pd.DataFrame]:
    """The tables of a run, without its beginning and end."""
    scenario = loads(FILE.format(qdiscs=qdiscs, traffic=traffic)).runs()[0].scenario
    found = _core.run(json.dumps(to_json(scenario)), _core.Progress())["tables"]
    tables = {name: table.to_arrow().to_pandas() for name, table in found.items()}
    return {name: table[(table["t"] > 2) & (table["t"] < 9.9)] for name, table in tables.items()}


def mbps(tables: dict[str, pd.DataFrame], flow: str = "") -> float:
    """Goodput of the flows whose name begins with `flow`."""
    flows = tables["flows"]
    return float(flows[flows["flow"].astype(str).str.startswith(flow)]["bytes"].sum()) * 8e-6 / 7.9


def test_above_fq_a_window_control_is_paced_and_sets_no_timer() -> None:
    below = ran("client -> router: fq\n  router -> server: htb rate 20mbit | pfifo")
    plain = ran("client -> router: pfifo\n  router -> server: htb rate 20mbit | pfifo")
    assert not (below["tcp_info"]["held_by"] == "pacing").any()
    waiting = below["qdisc"][below["qdisc"]["kind"] == "fq"]
    assert waiting["backlog_packets"].max() > 0, "the departures lie in the future"
    assert plain["qdisc"][plain["qdisc"]["device"] == "client -> router"]["backlog_packets"].max() == 0
    assert mbps(below) == pytest.approx(mbps(plain), rel=0.02)


def test_a_local_netem_voids_the_small_queue() -> None:
    shaped = ran("client -> router: htb rate 20mbit | pfifo limit 1000")["tcp_info"]
    emulated = ran("client -> router: netem delay 10ms rate 20mbit limit 1000")["tcp_info"]
    assert (shaped["held_by"] == "small_queue").any()
    assert not (emulated["held_by"] == "small_queue").any()
    assert emulated["wmem_alloc"].max() < shaped["wmem_alloc"].median()


def test_a_delay_and_a_shaper_in_series_make_a_path() -> None:
    tables = ran("router -> server: [netem delay 10ms limit 10000, htb rate 10mbit | codel]")
    assert mbps(tables) == pytest.approx(9.56, rel=0.03)
    assert tables["tcp_info"]["min_rtt"].min() == pytest.approx(15_000, rel=0.1)
    kinds = dict(tables["qdisc"].groupby("kind", observed=True)["depth"].max())
    assert kinds == {"series": 0, "netem": 1, "htb": 1, "codel": 2}


def test_a_tree_shares_by_its_rates() -> None:
    traffic = """\
  - {tcp: client -> server, name: bulk, flows: 4, start: 0s, stop: 10s}
  - {tcp: client -> server, name: slow, start: 0s, stop: 10s}"""
    tree = """router -> server: |
    htb default 20
    class 1:1 rate 10mbit
    class 1:10 parent 1:1 rate 7mbit ceil 10mbit quantum 1514 | fq_codel
    class 1:20 parent 1:1 rate 3mbit ceil 10mbit quantum 1514 | fq_codel
    filter flow slow flowid 1:10"""
    tables = ran(tree, traffic)
    assert mbps(tables, "slow") == pytest.approx(7 * 1448 / 1514, rel=0.05)
    assert mbps(tables, "bulk") == pytest.approx(3 * 1448 / 1514, rel=0.1)


def test_random_losses_duplicates_and_corruption_are_recovered_from() -> None:
    tables = ran("router -> server: netem loss 0.5% duplicate 1% corrupt 0.2% delay 5ms limit 10000")
    reasons = set(tables["events"][tables["events"]["what"] == "drop"]["reason"])
    assert {"random_loss", "corrupted"} <= reasons
    assert tables["tcp_info"]["total_retrans"].max() > 10
    assert mbps(tables) > 1


SHAPERS = {"htb": "htb rate 10mbit", "tbf": "tbf rate 10mbit burst 5kb latency 50ms"}
OWN = {
    "red": "red limit 400k avpkt 1000",
    "choke": "choke limit 400 bandwidth 10mbit",
    "drr": "drr; class 1:1 quantum 1514; filter all flowid 1:1",
}


@pytest.mark.parametrize("kind", [row["name"] for row in _core.qdiscs()])
def test_every_kind_carries_a_flow_at_the_bottleneck(kind: str) -> None:
    own = OWN.get(kind, kind)
    shaped = SHAPERS.get(kind, f"[{own}, htb rate 10mbit]" if kind == "drr" else f"htb rate 10mbit | {own}")
    tables = ran(f"router -> server: {shaped}")
    assert kind in set(tables["qdisc"]["kind"])
    assert mbps(tables) == pytest.approx(9.56, rel=0.1)

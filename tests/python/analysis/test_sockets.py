"""What sockets sent again and what held their data, against values computed by hand and against the simulator."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sampled_experiments import finished
from tailback.analysis import passive
from tailback.analysis.metrics import percentiles, retransmits
from tailback.analysis.registry import METRICS, headline_of
from tailback.analysis.sockets import HELD, at_acks, at_intervals, held, held_in_bins, retransmission_rates, together
from tailback.analysis.window import Window
from tailback.formats.pcap import packets

SECOND = 1_000_000_000
WINDOW = Window(SECOND, 3 * SECOND)

SENDER = """\
links:
  - {{ends: [client, router], rate: 1gbit, delay: 1ms}}
  - {{ends: [router, server], rate: 50mbit, delay: 50ms}}
traffic:
  - {{tcp: client -> server, name: one{keys}}}
duration: 12s
measure: {{warmup: 4s}}
"""


def summary(text: str) -> dict[str, Any]:
    return dict(finished(text).summary)


def sockets(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_the_retransmission_rate_is_that_of_the_segments_sent_in_the_window() -> None:
    table = sockets(
        t=[1.0, 1.0, 2.0, 3.0, 3.5], flow=["a", "b", "a", "a", "a"], total_retrans=[5, 0, 7, 10, 99],
        data_segs_out=[50, 10, 100, 150, 999], bytes_retrans=[0] * 5, bytes_sent=[1] * 5,
    )  # fmt: skip
    each = retransmission_rates(table, WINDOW)
    assert {flow: sent.rate for flow, sent in each.items()} == {"a": 5.0}
    assert together(each.values()).rate == 5.0


def test_both_ends_of_requests_count_and_each_from_what_it_had_sent_before_the_window() -> None:
    exchanges = sockets(
        t=[1.0, 2.0, 2.5, 3.5], flow=["page"] * 4, end=["server", "client", "server", "server"],
        data_segs_out=[100, 10, 180, 999], total_retrans=[1, 0, 10, 99],
    )  # fmt: skip
    bulk = sockets(t=[2.0], flow=["a"], total_retrans=[1], data_segs_out=[10])
    each = retransmission_rates(bulk, WINDOW, exchanges)
    assert {flow: (sent.again, sent.all) for flow, sent in each.items()} == {"a": (1, 10), "page": (9, 90)}
    assert retransmits(bulk, WINDOW, exchanges) == 10


SHORT = """\
links: [{{ends: [client, server], rate: 10mbit, delay: 5ms}}]
traffic: [{traffic}]
hosts: {{client: {{}}, server: {{}}}}
duration: 12s
measure: {{warmup: 0s, interval: {interval}, pcap: [client, server]}}
"""


@pytest.mark.parametrize(
    "traffic",
    [
        "{tcp: client -> server, size: 40kb, arrivals: poisson 4/s}",
        "{request: client -> server, answer: 40kb, every: 200ms}",
        "{preset: responsiveness, hosts: [client, server], flows: 1}",
        "{page: client -> server, every: 2s}",
        "{video: client -> server}",
    ],
)
def test_what_captures_show_as_sent_again_is_counted_however_short_connections_are(
    traffic: str, tmp_path: Path
) -> None:
    text = SHORT.replace("delay: 5ms", "delay: 5ms, loss: 2%")
    runs = [finished(text.format(traffic=traffic, interval=interval)) for interval in ("20ms", "1s")]
    assert runs[0].summary["retransmits"] == runs[1].summary["retransmits"] > 3
    assert runs[0].summary["retransmission_rate"] == runs[1].summary["retransmission_rate"]
    again = 0
    for host, capture in runs[1].captures.items():
        file = tmp_path / f"{host}.pcapng"
        file.write_bytes(capture)
        table = packets(file).table
        here = table[table["source"] == ("10.0.0.1" if host == "client" else "10.0.0.2")]
        again += sum(passive.retransmissions(here).values())
    # SYNs count too, which have no data.
    assert again <= runs[1].summary["retransmits"] <= 1.1 * again + 5


def test_results_without_counts_of_segments_have_the_rate_of_bytes() -> None:
    table = sockets(
        t=[1.0, 3.0], flow=["a", "a"], total_retrans=[0, 1], bytes_retrans=[0, 1460], bytes_sent=[0, 146_000]
    )
    assert retransmission_rates(table, WINDOW)["a"].rate == 1.0


def test_causes_are_shares_of_the_time_between_the_samples_at_the_edges_and_add_up() -> None:
    spent = {column: [0.0, 0.0] for column in HELD.values()}
    table = sockets(
        t=[1.0, 3.0], flow=["a", "a"], **spent | {"held_sndbuf": [0.5e6, 2.3e6], "held_cwnd": [0.0, 0.1e6]}
    )  # fmt: skip
    found = held(table, {"a": Window(0, 9 * SECOND)}, WINDOW)
    assert found == {"a": {"cwnd": pytest.approx(5), "send_buffer": pytest.approx(90), "other": pytest.approx(5)}}


def test_of_a_flow_that_began_in_the_window_the_time_before_does_not_count() -> None:
    spent = {column: [0.0] for column in HELD.values()}
    table = sockets(t=[3.0], flow=["a"], **spent | {"held_no_data": [2.5e6], "held_cwnd": [0.5e6]})
    assert held(table, {"a": Window(2 * SECOND, 3 * SECOND)}, WINDOW) == {
        "a": {"cwnd": pytest.approx(50), "no_data": pytest.approx(50)}
    }


def test_a_kernel_tells_by_its_clocks() -> None:
    table = sockets(
        t=[1.0, 3.0], flow=["a", "a"], busy_time=[0.0, 1.8e6], rwnd_limited=[0.0, 0.4e6], sndbuf_limited=[0.0, 1.0e6]
    )
    assert held(table, {"a": Window(0, 3 * SECOND)}, WINDOW) == {
        "a": {
            "send_buffer": pytest.approx(50), "receive_window": pytest.approx(20), "network": pytest.approx(20),
            "no_data": pytest.approx(10),
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "cause", "title"),
    [
        (", sndbuf: 200kb", "send_buffer", "held by send buffer"),
        (", rcvbuf: 100kb", "receive_window", "held by receive window"),
        (", cc: reno", "cwnd", None),
    ],
)
def test_what_holds_a_sender_is_told_beside_its_goodput(keys: str, cause: str, title: str | None) -> None:
    found = summary(SENDER.format(keys=keys))
    shares = found["held"]["one"]
    assert max(shares, key=shares.get) == cause
    assert shares[cause] > 80
    assert sum(shares.values()) == pytest.approx(100, abs=0.1)
    shown = [column for column in headline_of([found]) if column.title.startswith("held by")]
    assert [column.title for column in shown] == ([title] if title else [])


def test_the_mean_of_what_holds_a_flow_is_over_all_runs_not_over_those_that_it_holds_most() -> None:
    runs = [{"held": {"one": {"send_buffer": share}}} for share in (40.0, 60.0)] + [{"held": {"one": {"cwnd": 100.0}}}]
    (column,) = [column for column in headline_of(runs) if column.title == "held by send buffer"]
    assert [column.read(run) for run in runs] == [40.0, 60.0, 0.0]
    assert "held by send buffer" not in [column.title for column in headline_of(runs[::2])]


def test_the_rows_at_intervals_are_those_of_the_table_without_acks() -> None:
    text = SENDER.format(keys=", bytes: 3mb")
    tables = []
    for extra in ("", ", tcp_info: ack"):
        run = finished(text.replace("warmup: 4s", f"warmup: 0s{extra}"))
        tables.append({name: table.to_arrow().to_pandas() for name, table in run.tables.items()})
    plain, acks = tables
    kept = at_intervals(acks, ["one"], 100_000_000)
    for column in ("t", "rtt", "snd_cwnd", "bytes_acked", "total_retrans"):
        assert np.array_equal(kept.numbers(column), plain["tcp_info"][column].astype(float), equal_nan=True), column
    assert len(at_acks(acks, ["one"], 100_000_000)) == len(acks["tcp_info"]) - len(plain["tcp_info"])


def test_a_p99_needs_a_thousand_samples_in_tables_and_comparisons() -> None:
    number = next(each for each in METRICS["ping"].numbers if each.title == "ping p99")
    few, enough = ({"ping_ms": percentiles(np.arange(float(count)))} for count in (999, 1000))
    assert number.read(few) is None
    assert number.read(enough) == pytest.approx(989.01)


UNREACHED = """\
links:
  - {ends: [client, server], rate: 10mbit, delay: 5ms, schedule: [{at: 0s, state: down}]}
traffic:
  - {tcp: client -> server, name: unanswered}
duration: 4s
measure: {warmup: 1s}
"""


def test_a_flow_whose_connection_is_never_answered_is_held_by_the_handshake_and_not_by_its_application() -> None:
    text = UNREACHED
    run = finished(text)
    assert run.summary["held"] == {"unanswered": {"handshake": 100.0}}
    [warning] = [each for each in run.summary["warnings"] if each["code"] == "flow-without-data"]
    assert warning["text"] == "the handshake of `unanswered` was never answered"
    assert [column.title for column in headline_of([run.summary]) if "held" in column.title] == ["held by handshake"]
    for each in held_in_bins(run.tables["tcp_info"], SECOND).values():
        assert {cause for cause, shares in each.shares.items() if shares.any()} == {"handshake"}
    reached = summary(
        text.replace("{at: 0s, state: down}", "{at: 3.9s, rate: 9mbit}").replace("unanswered", "idle, bytes: 1kb")
    )
    assert "handshake" not in str(reached.get("held"))


def test_a_kernel_tells_of_an_unanswered_connection_that_it_has_no_round_trip_time() -> None:
    table = sockets(
        t=[0.5, 1.0, 3.0],
        flow=["a"] * 3,
        rtt=[np.nan] * 3,
        busy_time=[0] * 3,
        rwnd_limited=[0] * 3,
        sndbuf_limited=[0] * 3,
    )
    assert held(table, {"a": WINDOW}, WINDOW) == {"a": {"handshake": 100.0}}

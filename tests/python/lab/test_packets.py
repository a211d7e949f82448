"""What the packet view and a page that runs get from the server, and what the tables behind them are."""

import json
from pathlib import Path

import pytest

import tailback
from lab.serving import TEXT
from tailback import _core, scenario, sweep
from tailback.lab.packets import packets
from tailback.resolved import to_text
from tailback.results import Results

CELL = """\
links: [{wifi: {ap: router, stations: [a, b]}, standard: 802.11n, width: 20MHz, mcs: 4, driver: ath9k},
        {ends: [router, server], rate: 1gbit, delay: 1ms}]
traffic: [{tcp: a -> server, name: up}, {tcp: server -> b, name: down}]
duration: 2s
measure: {warmup: 0s, packets: [1s, 1.05s]}
"""


def ran(text: str, *settings: str) -> Results:
    _, results = sweep.simulate(scenario.loads(text, list(settings)), 1, sweep.Silent())
    return results


def test_the_view_has_each_packet_at_each_device_and_what_holds_the_senders() -> None:
    view = packets(ran(TEXT, "cc=cubic", "buffer=50", "measure.packets=[2s, 2.1s]").runs[0])
    assert view["hosts"] == ["client", "router", "server"]
    assert [each["name"] for each in view["devices"]][:2] == ["client -> router", "router -> client"]
    assert {"upload.1", "upload.2"} <= set(view["flows"])
    found = view["packets"]
    assert (view["begin"], view["length"], view["cut"]) == (2.0, 100_000_000, False)
    # Each packet of the bottleneck left its queue before it was sent, and that before it arrived.
    rows = [row for row, device in enumerate(found["device"]) if view["devices"][device]["name"] == "router -> server"]
    assert len(rows) > 80
    for row in rows:
        t, dequeued, sent, ended = (found[name][row] for name in ("t", "dequeued", "sent", "ended"))
        if found["end"][row] == "arrived":
            assert t <= dequeued <= sent <= ended
            assert ended - sent == 5_000_000
    assert set(view["senders"]["held_by"]) <= {"cwnd", "small_queue", "pacing", "no_data", "send_buffer"}
    assert json.loads(json.dumps(view)) == view


def test_the_view_of_a_cell_has_the_packets_of_each_ppdu() -> None:
    view = packets(ran(CELL).runs[0])
    air, known = view["air"], set(view["packets"]["packet"])
    assert air is not None
    assert all(len(inside) == mpdus for inside, mpdus in zip(air["inside"], air["mpdus"], strict=True) if inside)
    inside = {abs(number) for each in air["inside"] for number in each}
    assert len(inside & known) > 100
    assert all(waited >= 0 for waited in air["waited"])


def test_what_is_recorded_of_packets_changes_nothing_else() -> None:
    for text in (TEXT.partition("vary")[0], CELL.replace(", packets: [1s, 1.05s]", "")):
        plain, logged = (
            _core.run(to_text(scenario.loads(text, given).runs()[0].scenario).decode(), None)["tables"]
            for given in ([], ["measure.packets=[0.5s, 0.6s]"])
        )
        assert set(logged) - set(plain) == {"packets", "senders"} | ({"mpdus"} if "wifi" in plain else set())
        assert all(plain[name].to_parquet() == logged[name].to_parquet() for name in plain)


@pytest.mark.parametrize(
    ("window", "message"), [("[3s, 2s]", "ends before it begins"), ("[3s, 9s]", "lies outside the run")]
)
def test_a_window_that_is_none_is_refused(window: str, message: str) -> None:
    with pytest.raises(tailback.ScenarioError, match=message):
        scenario.loads(TEXT, [f"measure.packets={window}"])


def test_a_kernel_is_not_seen_from_inside() -> None:
    from tailback.backends.linux.suitable import findings

    run = scenario.loads(TEXT, ["measure.packets=[1s, 2s]"]).runs()[0]
    assert any("not seen from inside" in what for what, _ in findings(run.scenario))


def test_a_folder_of_results_keeps_the_packets(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(TEXT)
    settings = ["cc=cubic", "buffer=50", "measure.packets=[2s, 2.1s]"]
    tailback.run(tmp_path / "x.yaml", settings=settings, out=tmp_path / "r")
    run = tailback.open(tmp_path / "r").runs[0]
    frame = run.table("packets")
    assert {"device", "flow", "packet", "end"} <= set(frame.columns)
    assert packets(run)["packets"]["packet"] == frame["packet"].tolist()

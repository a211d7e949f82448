"""Figures of more flows than can be drawn as lines have their median and a band, and take no step for each flow."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counted import calls, calls_per_item
from tailback.plots import PLOTS, Choice, NotDrawable, quantity
from tailback.plots.many import MOST_LINES
from tailback.results import Results, RunFolder
from tailback.results.reading import flatten

SECONDS = 20
OVER_TIME = ("cwnd", "timeseries", "rrul", "shares")


def made(folder: Path, tables: Mapping[str, pd.DataFrame], directions: Mapping[str, str]) -> Results:
    """Results of one run with these tables."""
    folder.mkdir(parents=True, exist_ok=True)
    measure = {"window_ns": [2 * 10**9, SECONDS * 10**9], "directions": directions}
    run = RunFolder(folder, {"axes": {}, "repetition": 1, "measure": measure}, {})
    end_ns = SECONDS * 10**9
    scenario = SimpleNamespace(
        record=SimpleNamespace(interval_ns=10**8, tcp_info="interval"),
        duration_ns=end_ns,
        last_stop_ns=end_ns,
        cells=(),
    )
    parts: dict[str, Any] = {"scenario": scenario, **tables}
    for name, part in parts.items():
        run.__dict__[name] = part
        if isinstance(part, pd.DataFrame):
            part.to_parquet(folder / f"{name}.parquet")
    return Results(folder, "x", {}, [run])


def endless(folder: Path, flows: int, **more: Mapping[str, float]) -> Results:
    """Results of this many flows that have the windows 1, 2, 3, ... all the time, and of `more` by name."""
    names = [*(f"upload.{number}" for number in range(1, flows + 1)), *more]
    windows = [*range(1, flows + 1), *(each["cwnd"] for each in more.values())]
    times = np.arange(1, 2 * SECONDS + 1) / 2
    t, flow = np.repeat(times, len(names)), np.tile(np.array(names, dtype=object), len(times))
    cwnd = np.tile(np.array(windows, dtype=np.float64), len(times))
    info = pd.DataFrame({"t": t, "flow": flow, "snd_cwnd": cwnd, "rtt": cwnd * 1000})
    received = pd.DataFrame({"t": t, "flow": flow, "bytes": cwnd * 1000})
    return made(folder, {"tcp_info": info, "flows": received}, dict.fromkeys(names, "up"))


@pytest.mark.parametrize("name", OVER_TIME)
def test_a_table_of_many_flows_takes_a_few_calls_for_each_further_flow(name: str, tmp_path: Path) -> None:
    results = {flows: endless(tmp_path / str(flows), flows) for flows in (100, 400)}
    assert calls_per_item(lambda flows: PLOTS[name].data(results[flows])) < 40


@pytest.mark.parametrize("name", OVER_TIME)
def test_a_figure_of_four_times_as_many_flows_is_drawn_by_as_many_calls(name: str, tmp_path: Path) -> None:
    few, many = (PLOTS[name].data(endless(tmp_path / str(flows), flows)) for flows in (100, 400))
    assert len(many) == len(few)
    PLOTS[name].draw(few)
    assert calls(lambda: PLOTS[name].draw(many)) < 1.1 * calls(lambda: PLOTS[name].draw(few))


def test_the_band_is_from_the_10th_to_the_90th_percentile_over_the_flows(tmp_path: Path) -> None:
    table = PLOTS["cwnd"].data(endless(tmp_path, 55))
    assert set(table["flow"]) == {"upload (55 flows)"}
    assert list(table["t"]) == [second + 0.5 for second in range(SECONDS)]
    assert set(table["n"]) == {55}
    found = table[["p10", "value", "p90"]].to_numpy()
    assert found == pytest.approx(np.tile(np.percentile(np.arange(1, 56), (10, 50, 90)), (SECONDS, 1)))


def test_a_flow_counts_while_it_is_active_and_its_pauses_count_as_zero(tmp_path: Path) -> None:
    names = [f"upload.{number}" for number in range(30)]
    rows = [(second, flow, 125_000) for second in (3, 5) for flow in names[:20]]
    rows += [(second, flow, 250_000) for second in (8, 9) for flow in names[20:]]
    received = pd.DataFrame(rows, columns=["t", "flow", "bytes"])
    table = PLOTS["timeseries"].data(made(tmp_path, {"flows": received}, dict.fromkeys(names, "up")))
    lines = table[table["series"] == "upload (30 flows)"]
    assert lines[["t", "n", "value"]].to_numpy().tolist() == [
        [2.5, 20, 1],
        [3.5, 20, 0],
        [4.5, 20, 1],
        [7.5, 10, 2],
        [8.5, 10, 2],
    ]
    total = table[table["series"] == "total"]
    assert dict(zip(total["t"], total["value"], strict=True)) == {
        second - 0.5: {3: 20, 5: 20, 8: 20, 9: 20}.get(second, 0) for second in range(1, 10)
    }


def test_a_long_flow_beside_many_is_a_line_of_its_own(tmp_path: Path) -> None:
    table = PLOTS["cwnd"].data(endless(tmp_path, 50, long={"cwnd": 1000}))
    assert set(table["flow"]) == {"upload (50 flows)", "long"}
    assert set(table.loc[table["flow"] == "long", "value"]) == {1000}


def test_up_to_twenty_flows_each_is_a_line(tmp_path: Path) -> None:
    table = PLOTS["cwnd"].data(endless(tmp_path, MOST_LINES))
    assert table["flow"].nunique() == MOST_LINES
    assert "p10" not in table


def test_the_shares_of_many_flows_are_of_the_goodput_of_all(tmp_path: Path) -> None:
    table = PLOTS["shares"].data(endless(tmp_path, 40))
    windows = np.arange(1, 41)
    found = table[["p10", "value", "p90"]].to_numpy()
    assert found == pytest.approx(np.tile(np.percentile(windows / windows.sum(), (10, 50, 90)), (SECONDS, 1)))


def test_a_band_of_pings_that_nobody_answered_is_refused(tmp_path: Path) -> None:
    ping = pd.DataFrame({"t": [1.0], "ping": ["ping"], "rtt_ms": [np.nan]})
    with pytest.raises(NotDrawable, match="no ping over time"):
        PLOTS["band"].data(made(tmp_path, {"ping": ping}, {}), Choice(metric="ping"))


def test_a_number_of_a_summary_is_found_under_names_with_dots() -> None:
    summary = {"jain": 0.5, "goodput_mbps": {"total": 3, "flows": {"up.1": 1.5, "up": {"2": 2.5}}}, "ping_ms": None}
    flat = flatten(summary)
    for key in (*flat, "goodput_mbps", "goodput_mbps.flows.up", "goodput_mbps.flows.up.3", "drops"):
        assert quantity.Quantity(key, key, "").read(summary) == flat.get(key)

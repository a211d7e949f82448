"""Figures and tables of the parts of a run: queues, shares, both directions."""

import struct
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.lines import Line2D

from command import in_process
from tailback.analysis import bin_width_ns
from tailback.analysis.parts import parts
from tailback.analysis.quantities import WrongBound
from tailback.analysis.registry import headline_of
from tailback.plots import PLOTS, Choice, NotDrawable, labels, style
from tailback.results import Results, open_results

FILE = """\
links: [{ends: [a, b], rate: 20mbit, delay: 5ms}]
qdiscs: {a -> b: pfifo limit 100}
traffic:
  - {tcp: a -> b, name: old, cc: reno, flows: 2}
  - {tcp: a -> b, name: new, cc: cubic}
  - {tcp: b -> a, name: back}
  - {ping: a -> b, interval: 50ms}
  - {ping: a -> b, interval: 50ms, name: other}
duration: 6s
tsq: off
measure: {warmup: 1s}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("parts")
    (found / "x.yaml").write_text(FILE)
    in_process("run", found / "x.yaml", "--out", found / "out")
    return found


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return open_results(folder / "out")


def test_a_queue_is_drawn_for_each_device_in_which_packets_wait(results: Results) -> None:
    table = PLOTS["queue"].table(results)
    assert 50 < table.loc[table["device"] == "a -> b", "value"].max() <= 100
    kilobytes = PLOTS["queue"].table(results, Choice(metric="kB"))
    assert kilobytes.loc[kilobytes["device"] == "a -> b", "value"].max() > 50 * 1.514
    assert PLOTS["queue"].draw(table).axes[0].get_ylabel() == "Queue (packets)"
    with pytest.raises(NotDrawable, match="packets, kB"):
        PLOTS["queue"].table(results, Choice(metric="goodput"))


def test_shares_of_groups_in_one_direction_add_up(results: Results) -> None:
    table = PLOTS["shares"].table(results)
    assert set(table["flows"]) == {"old", "new"}
    assert table.groupby("t")["mean"].sum().to_numpy() == pytest.approx(1.0)
    PLOTS["shares"].draw(table)


def test_curves_of_short_runs_have_shorter_bins() -> None:
    assert bin_width_ns(40 * 10**9, 10**8) == 10**9
    assert bin_width_ns(220 * 10**6, 10**6) == 11 * 10**6
    assert bin_width_ns(10**9, 10**8) == 10**8


def test_both_directions_are_drawn_apart_with_the_pings_below(results: Results) -> None:
    table = PLOTS["rrul"].table(results)
    assert list(table["panel"].unique()) == ["Download", "Upload", "Ping"]
    upload = table[table["panel"] == "Upload"]
    assert set(upload["series"]) == {"old.1", "old.2", "new", "mean"}
    assert len(PLOTS["rrul"].draw(table).axes) == 3


def test_a_total_is_drawn_of_several_flows_and_never_over_the_line_of_one(results: Results, tmp_path: Path) -> None:
    table = PLOTS["timeseries"].table(results)
    goodput = table[table["panel"] == "Goodput"]
    assert list(goodput["series"].unique()) == ["back", "new", "old.1", "old.2", "total up"]
    (tmp_path / "one.yaml").write_text(FILE)
    lone = "traffic=[{tcp: a -> b}]"
    in_process("run", tmp_path / "one.yaml", "--set", lone, "--set", "duration=2s", "--out", tmp_path / "out")
    assert set(PLOTS["timeseries"].table(open_results(tmp_path / "out"))["series"]) == {"upload"}


def test_a_total_of_both_directions_is_not_in_the_table(folder: Path, results: Results) -> None:
    titles = [column.title for column in headline_of(run.summary for run in results.runs)]
    assert titles[:2] == ["goodput up", "goodput down"]
    assert "goodput" not in titles
    told = in_process("run", folder / "x.yaml", "--out", folder / "out", "--by", "group").stdout
    assert "by group" in told
    assert all(f"\n{name} " in told for name in ("old", "new", "back"))


def test_title_size_scales_and_limits_are_the_users(folder: Path) -> None:
    words = ("--title", "mine", "--size", "4x3", "--y-scale", "log", "--ylim", "1:100", "--xlim", "0:3")
    in_process("plot", folder / "out", "-p", "queue", "-o", folder / "q.svg", *words)
    drawn = (folder / "q.svg").read_text()
    assert 'width="288pt" height="216pt"' in drawn
    assert ">mine<" in drawn
    told = in_process("plot", folder / "out", "-p", "queue", "--ylim", "9:1", status=2).stderr
    assert "`9:1` is an empty range" in told


def test_a_figure_for_slides_is_as_wide_as_a_screen(folder: Path) -> None:
    in_process("plot", folder / "out", "-p", "band", "-o", folder / "b.png", "--style", "slides")
    header = (folder / "b.png").read_bytes()[16:24]
    assert struct.unpack(">II", header) == (1920, 1080)


def test_bins_are_as_wide_as_the_user_says_but_not_shorter_than_the_samples(folder: Path, results: Results) -> None:
    table = PLOTS["band"].table(results, Choice(metric="ping", bin_ns=500_000_000))
    assert set(table["t"].diff().dropna()) == {0.5}
    told = in_process("plot", folder / "out", "-p", "shares", "--bin", "1ms", status=2).stderr
    assert "shorter than the interval of the samples, 100ms" in told
    assert "--bin: `soon`" in in_process("plot", folder / "out", "-p", "shares", "--bin", "soon", status=2).stderr


def test_a_quantity_without_a_unit_has_no_brackets(results: Results) -> None:
    table = PLOTS["bar"].table(results, Choice(metric="jain"))
    assert PLOTS["bar"].draw(table).axes[0].get_ylabel() == "Jain's index"


def test_a_metric_that_no_run_has_says_what_it_needs_and_a_sum_over_devices_is_drawn(results: Results) -> None:
    with pytest.raises(NotDrawable, match="has `airtime share`\n  hint: it is computed from the table `wifi`"):
        PLOTS["bar"].table(results, Choice(metric="airtime share"))
    with pytest.raises(NotDrawable, match="has `latency`\n  hint: did you mean `ping`"):
        PLOTS["bar"].table(results, Choice(metric="latency"))
    with pytest.raises(WrongBound, match="`sliding throughput` is a series"):
        PLOTS["bar"].table(results, Choice(metric="sliding throughput"))
    dropped = sum(sum(each.values()) for each in results.runs[0].summary["drops"].values())
    assert PLOTS["bar"].table(results, Choice(metric="drops"))["mean"].iloc[0] == dropped


def test_flows_are_parted_by_direction_and_by_entry() -> None:
    flows, ways = ["up.1", "up.2", "down"], {"up.1": "up", "up.2": "up"}
    assert parts(flows, {"directions": ways}, "direction") == {"up": ["up.1", "up.2"], "across": ["down"]}
    assert parts(flows, {"directions": ways}, "group") == {"up": ["up.1", "up.2"], "down": ["down"]}
    assert list(parts(flows, {"directions": ways}, "flow")) == flows


STATIONS = """\
links:
  - {wifi: {ap: access, stations: [near, far]}, standard: 802.11n, width: 20MHz, mcs: {near: 7, far: 0}}
  - {ends: [access, server], rate: 1gbit, delay: 1ms}
traffic:
  - {tcp: server -> near, name: near}
  - {tcp: far -> server, name: photos, flows: 2}
  - {ping: server -> near, name: one, interval: 50ms}
  - {ping: far -> server, name: two, interval: 50ms}
duration: 3s
measure: {warmup: 1s}
"""


def rows(words: str, by: str) -> dict[str, list[str]]:
    """The cells of a table by its first column, and under `` its headings."""
    lines = words.partition(f"by {by}\n")[2].splitlines()
    cut = next(number for number, line in enumerate(lines) if "─" in line)
    cells = [line.split() for line in takewhile(str.strip, lines[cut + 1 :])]
    return {"": " ".join(lines[:cut]).split(), **{each[0]: each[1:] for each in cells}}


def test_a_station_has_its_flows_its_pings_and_its_airtime_in_one_row(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(STATIONS)
    words = {
        by: in_process("run", tmp_path / "x.yaml", "--out", tmp_path / "out", "--by", by).stdout
        for by in ("station", "host", "flow", "ping")
    }
    summary = open_results(tmp_path / "out").runs[0].summary
    stations = rows(words["station"], "station")
    assert list(stations) == ["", "near", "far"]
    assert "airtime" in stations[""]
    flows, pings = summary["goodput_mbps"]["flows"], summary["pings_ms"]
    assert float(stations["near"][0]) == pytest.approx(flows["near"], rel=0.01)
    assert float(stations["far"][0]) == pytest.approx(flows["photos.1"] + flows["photos.2"], rel=0.01)
    assert float(stations["near"][1]) == pytest.approx(pings["one"]["p50"], rel=0.01)
    assert float(stations["far"][1]) == pytest.approx(pings["two"]["p50"], rel=0.01)
    assert float(stations["near"][-1]) == pytest.approx(summary["airtime_share"]["near"], abs=0.001)
    assert rows(words["host"], "host") == {**stations, "": rows(words["host"], "host")[""]}
    assert list(rows(words["flow"], "flow")) == ["", "near", "photos.1", "photos.2", "one", "two"]
    assert rows(words["flow"], "flow")["two"][0] == "–"
    assert "airtime" not in rows(words["flow"], "flow")[""]
    assert list(rows(words["ping"], "ping")) == ["", "one", "two"]


def test_what_a_host_asks_for_is_its_own(tmp_path: Path) -> None:
    text = STATIONS.replace("{tcp: server -> near, name: near}", "{video: near -> server}")
    (tmp_path / "x.yaml").write_text(text)
    said = in_process("run", tmp_path / "x.yaml", "--out", tmp_path / "out", "--by", "host").stdout
    assert set(rows(said, "host")) == {"", "near", "far"}


def test_entries_that_name_a_group_are_one_part() -> None:
    measure = {"directions": {}, "groups": {"up.1": "home", "down": "home"}}
    assert parts(["up.1", "down", "web.1"], measure, "group") == {"home": ["up.1", "down"], "web": ["web.1"]}


def test_a_legend_has_as_many_rows_as_its_labels_need() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.5, 2.0), layout="constrained")
    figure.subplots()
    names = [f"a rather long name of a series {number}" for number in range(4)]
    labels.legend(figure, [Line2D([], [], label=name) for name in names])
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.get_figwidth() * figure.dpi


def test_large_numbers_of_an_axis_have_a_suffix() -> None:
    numbers = [style.plain_number(value, 0) for value in (0.5, 100, 20_000, 100_000, 1e6, 2.5e9)]
    assert numbers == ["0.5", "100", "20000", "100k", "1M", "2.5G"]


def test_a_figure_of_both_directions_has_the_goodput_of_each(results: Results) -> None:
    for name in ("candlestick", "box", "bar"):
        panels = list(PLOTS[name].table(results)["panel"].unique())
        assert panels[:2] == ["Goodput up", "Goodput down"]


def test_the_legend_says_what_boxes_and_whiskers_are(results: Results) -> None:
    figure = PLOTS["box"].draw(PLOTS["box"].table(results))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["25th to 75th percentile", "Median", "5th to 95th percentile"]


def test_a_single_sample_is_drawn_as_a_dot_because_no_line_goes_through_it(results: Results) -> None:
    """A flow that is shorter than the sampling interval has one."""
    table = PLOTS["timeseries"].table(results, Choice(metric="rtt"))
    flow = table[table["series"] == "new"]
    (line,) = PLOTS["timeseries"].draw(flow).axes[0].lines
    assert line.get_marker() == "None"
    (line,) = PLOTS["timeseries"].draw(flow.head(1)).axes[0].lines
    assert line.get_marker() == "."


def test_the_first_bin_of_goodput_is_drawn_from_its_start(results: Results) -> None:
    table = PLOTS["timeseries"].table(results, Choice(metric="goodput"))
    for line in PLOTS["timeseries"].draw(table).axes[0].lines:
        t, values = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert t[0] == pytest.approx(0.0)
        assert values[0] == values[1]


def windows(control: str, buffer: str, values: list[float]) -> pd.DataFrame:
    """Rows of the table of `cwnd`."""
    head = {"cc": control, "buffer": buffer, "flow": "up", "panel": "cwnd", "unit": "segments", "measured": True}
    return pd.DataFrame({**head, "t": range(len(values)), "value": values})


def test_windows_of_close_configurations_have_one_linear_scale() -> None:
    table = pd.concat([windows("bbr", "20", [100, 4, 100]), windows("cubic", "20", [20, 10, 15])])
    panels = PLOTS["cwnd"].draw(table).axes
    assert {(axes.get_yscale(), axes.get_ylim()) for axes in panels} == {("linear", (0, 108))}


def test_windows_that_are_far_apart_share_a_scale_with_those_of_the_same_buffer() -> None:
    tops = {"20": 10.0, "400": 100.0}
    table = pd.concat(
        [windows(control, buffer, [1, top + extra]) for control, extra in (("bbr", 0.0), ("cubic", 2.0))
         for buffer, top in tops.items()]
    )  # fmt: skip
    panels = PLOTS["cwnd"].draw(table).axes
    assert {axes.get_title().partition(", ")[2]: axes.get_ylim()[1] for axes in panels} == {
        "buffer 20": pytest.approx(12 * 1.08), "buffer 400": pytest.approx(102 * 1.08),
    }  # fmt: skip
    assert all(axes.get_yscale() == "linear" for axes in panels)


def test_each_of_two_axes_has_the_rows_or_the_columns_of_panels() -> None:
    controls = ["cubic", "bbr", "reno", "bic", "nv", "yeah", "vegas"]
    table = pd.concat([windows(control, buffer, [1, 2]) for control in controls for buffer in ("20", "100")])
    panels = PLOTS["cwnd"].draw(table).axes
    rows = [panels[place : place + 2] for place in range(0, len(panels), 2)]
    expected = [[f"{control}, buffer 20", f"{control}, buffer 100"] for control in controls]
    assert [[axes.get_title() for axes in row] for row in rows] == expected
    assert all(left.bbox.y0 == right.bbox.y0 for left, right in rows)


def trade_offs() -> pd.DataFrame:
    """A table of `pareto`: two equal points, and one that they beat."""
    head = {"panel": "", "unit": "ping p99 (ms)", "n": 1, "on front": float("nan")}
    nan = dict.fromkeys(("x low", "x high", "y low", "y high"), float("nan"))
    points = {"20": (10.0, 5.0, True), "100": (10.0, 5.0, True), "400": (20.0, 4.0, False)}
    rows = [
        {"buffer": buffer, "x": x, "y": y, "pareto": pareto, **head, **nan} for buffer, (x, y, pareto) in points.items()
    ]
    return pd.DataFrame(rows)


def test_the_legend_of_a_front_has_the_hollow_points() -> None:
    words = [text.get_text() for text in PLOTS["pareto"].draw(trade_offs()).legends[0].get_texts()]
    assert words[-3:] == ["Beaten by another", "Pareto front", "Larger: below an equal point"]
    alone = PLOTS["pareto"].draw(trade_offs().iloc[:2])
    assert "Beaten by another" not in [text.get_text() for text in alone.legends[0].get_texts()]


def test_of_equal_points_of_a_front_each_is_seen() -> None:
    lines = PLOTS["pareto"].draw(trade_offs()).axes[0].lines
    below, above = (line for line in lines if str(line.get_marker()) in "oD" and 10.0 in np.asarray(line.get_xdata()))
    assert below.get_markersize() > above.get_markersize() + 2
    assert below.get_color() != above.get_color()


def test_sizes_of_flows_have_suffixes_from_a_thousand_on() -> None:
    numbers = [style.short_number(value, 0) for value in (100, 1000, 10_000, 100_000, 1e6)]
    assert numbers == ["100", "1k", "10k", "100k", "1M"]
    table = pd.DataFrame({"cc": "cubic", "repetition": 1, "series": "a", "x": [900.0, 2e6], "y": [1.0, 2.0]})
    assert PLOTS["fct"].draw(table).axes[0].xaxis.get_major_formatter()(10_000, 0) == "10k"

"""Figures can be read: what is shaded, which scale panels have, and that no two curves look alike."""

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from command import in_process
from tailback import duels
from tailback.plots import PLOTS, Choice, NotDrawable, Output, bins, cut, draw_to, heatmap, layout, style
from tailback.plots.frame import Frame
from tailback.results import Results, open_results

FILE = """\
links: [{ends: [a, b], rate: 20mbit, delay: 5ms}]
traffic:
  - {tcp: a -> b, name: up, flows: 2, stop: 3s}
  - {tcp: a -> b, name: bulk, flows: 2, stop: 3s}
  - {ping: a -> b, interval: 50ms}
duration: 4s
measure: {window: [1250ms, 2630ms]}
"""


def ran(folder: Path, text: str) -> Results:
    (folder / "x.yaml").write_text(text)
    in_process("run", folder / "x.yaml", "--out", folder / "out")
    return open_results(folder / "out")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return ran(tmp_path_factory.mktemp("readable"), FILE)


@pytest.fixture(scope="module")
def datagrams(tmp_path_factory: pytest.TempPathFactory) -> Results:
    text = "links: [{ends: [a, b], rate: 20mbit}]\ntraffic: [{udp: a -> b, rate: 9mbit}]\nduration: 2s\n"
    return ran(tmp_path_factory.mktemp("datagrams"), text)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def shaded(axes: Axes) -> list[tuple[float, float]]:
    """The spans of time that are shaded."""
    return [(each.get_x(), each.get_x() + each.get_width()) for each in axes.patches if isinstance(each, Rectangle)]


def test_all_time_outside_of_the_measurement_window_is_shaded(results: Results) -> None:
    figure = PLOTS["timeseries"].draw(PLOTS["timeseries"].table(results))
    for axes in figure.axes:
        assert shaded(axes) == [(0, 1.25), (2.63, axes.get_xlim()[1])]
    assert "Not measured" in legend(figure)
    whole = PLOTS["timeseries"].draw(over_time({"cubic": 10}))
    assert "Not measured" not in legend(whole)


def over_time(levels: dict[str, float]) -> pd.DataFrame:
    """Time series of a flow for each value of `cc`, which go from 1 to its level."""
    parts = [
        pd.DataFrame({
            "cc": cc, "repetition": 1, "panel": "RTT", "unit": "ms", "series": "up", "t": np.arange(10.0),
            "value": np.linspace(1, level, 10), "measured": True, "window start": 0.0, "window end": 9.0,
        })
        for cc, level in levels.items()
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def test_time_series_are_linear_unless_a_logarithmic_scale_is_asked_for() -> None:
    figure = PLOTS["timeseries"].draw(over_time({"cubic": 1000, "bbr": 50}))
    assert [(axes.get_yscale(), axes.get_ylim()[0]) for axes in figure.axes] == [("linear", 0)] * 2
    Frame(y_scale="log").apply(figure)
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    # Panels with a common scale have limits that fit them all, whichever comes last.
    assert all(axes.get_ylim()[1] > 1000 for axes in figure.axes)


def distribution(axes: dict[str, str], median: float) -> pd.DataFrame:
    shares = np.linspace(0, 1, 11)
    values = {"share": shares, "value": median * (0.5 + shares), "low": np.nan, "high": np.nan}
    return pd.DataFrame({**axes, "panel": "TCP RTT", "unit": "ms", "n": 1, **values})


LIMITS = ("1ms", "2ms", "4ms", "8ms", "16ms", "off")


def test_no_two_of_many_distributions_look_alike_and_the_legend_has_the_order_of_their_medians() -> None:
    medians = dict(
        zip(product(("cubic", "bbr"), LIMITS), (30, 10, 120, 20, 50, 40, 11, 70, 60, 90, 80, 100), strict=True)
    )
    table = pd.concat([distribution({"cc": cc, "tsq": tsq}, median) for (cc, tsq), median in medians.items()])
    figure = PLOTS["cdf"].draw(table)
    drawn = [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert len(set(drawn)) == len(medians)
    ordered = sorted(medians, key=lambda each: medians[each])
    assert legend(figure) == [f"{cc}, {style.label('tsq', tsq)}" for cc, tsq in ordered]


def test_no_two_of_many_bands_look_alike_and_the_highest_is_first_in_the_legend() -> None:
    parts = [
        pd.DataFrame({
            "cc": cc, "tsq": tsq, "panel": "Goodput", "unit": "Mbit/s", "n": 1, "t": [1.0, 2.0], "mean": 10.0 * place,
            "low": np.nan, "high": np.nan, "measured": True,
        })
        for place, (cc, tsq) in enumerate(product(("cubic", "bbr"), LIMITS), 1)
    ]  # fmt: skip
    figure = PLOTS["band"].draw(pd.concat(parts))
    assert len({(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}) == len(parts)
    assert (legend(figure)[0], legend(figure)[-1]) == ("bbr, tsq off", "cubic, tsq 1ms")


def test_of_one_axis_with_many_values_neighbours_differ_in_print_and_controls_keep_their_colours() -> None:
    controls = ("cubic", "bbr", "reno", "vegas", "yeah")
    figure = PLOTS["cdf"].draw(pd.concat([distribution({"cc": cc}, 10 * n) for n, cc in enumerate(controls, 1)]))
    lines = figure.axes[0].lines
    assert all(one.get_linestyle() != other.get_linestyle() for one, other in pairwise(lines))
    assert [line.get_color() for line in lines[:3]] == list(style.CONTROLS.values())


def test_where_colours_repeat_the_line_style_is_another() -> None:
    flows = [f"up.{number}" for number in range(1, 13)]
    looks = layout.looks({"flow": flows}, layout.Roles(None, "flow", None, ()))
    assert len({(look.colour, look.line) for look in looks.values()}) == len(flows)


def queues(longest: dict[str, float]) -> pd.DataFrame:
    parts = [
        pd.DataFrame({
            "qdisc": qdisc, "device": "a -> b", "panel": "Queue", "unit": "packets", "t": np.arange(10.0),
            "value": np.linspace(0, packets, 10), "measured": True,
        })
        for qdisc, packets in longest.items()
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def test_queues_have_one_linear_scale_and_a_flat_one_says_how_long_it_is() -> None:
    table = queues({"fifo": 1000, "codel": 100, "fq_codel": 10})
    figure = PLOTS["queue"].draw(table)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert {axes.get_yscale() for axes in figure.axes} == {"linear"}
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes] == [
        [],
        [],
        ["measured: up to 10 packets"],
    ]
    logarithmic = PLOTS["queue"].draw(table, Choice(y_scale="log"))
    assert not any(axes.texts for axes in logarithmic.axes)
    apart = PLOTS["queue"].draw(table, Choice(share_y="none"))
    assert [round(axes.get_ylim()[1]) for axes in apart.axes] == [1080, 108, 11]
    assert not any(axes.texts for axes in apart.axes)


def test_the_option_for_scales_of_panels_reaches_the_figure(results: Results, tmp_path: Path) -> None:
    told = in_process("plot", results.path, "-p", "queue", "--share-y", "some", "-o", tmp_path / "q.png", status=2)
    assert "'all', 'row', 'col', 'none'" in told.stderr
    in_process("plot", results.path, "-p", "queue", "--share-y", "none", "-o", tmp_path / "q.png")
    with pytest.raises(NotDrawable, match="`rrul` takes no --share-y"):
        PLOTS["rrul"].table(results, Choice(share_y="row"))


def test_flows_of_one_size_are_a_distribution() -> None:
    times = [30.0, 10.0, 20.0, 40.0]
    table = pd.DataFrame({"repetition": 1, "series": ["a", "b", "c", "d"], "x": 100_000, "y": times})
    (axes,) = PLOTS["fct"].draw(table).axes
    assert axes.get_xlabel() == "Completion time of flows of 100k bytes (ms)"
    assert np.asarray(axes.lines[0].get_xydata()).tolist() == [[10, 0], [10, 0.25], [20, 0.5], [30, 0.75], [40, 1]]
    (axes,) = PLOTS["fct"].draw(table.assign(x=65_536)).axes
    assert axes.get_xlabel() == "Completion time of flows of 64 KiB (ms)"
    (axes,) = PLOTS["fct"].draw(table.assign(x=[1e3, 1e3, 1e5, 1e5])).axes
    assert axes.get_xlabel() == "Size (bytes)"


def test_the_last_bin_of_shares_is_as_long_as_the_others_and_ends_when_the_flows_stop(results: Results) -> None:
    table = PLOTS["shares"].table(results)
    assert bins.last(table) == pytest.approx(3.0)
    for line in PLOTS["shares"].draw(table).axes[0].lines:
        assert line.get_drawstyle() == "steps-pre"
        assert np.diff(line.get_xdata()) == pytest.approx(0.2)


def test_lines_of_several_entries_keep_their_names(results: Results) -> None:
    table = PLOTS["rrul"].table(results)
    shown = legend(PLOTS["rrul"].draw(table))
    assert shown == ["bulk.1", "bulk.2", "up.1", "up.2", "ping", "Mean", "Not measured"]
    assert not table.duplicated(["panel", "series", "t"]).any()


def test_bars_are_dots_on_a_logarithmic_scale_and_bars_on_a_linear_one(results: Results) -> None:
    drawn = {}
    scales: tuple[Literal["log", "linear"], ...] = ("log", "linear")
    for scale in scales:
        table = PLOTS["bar"].table(results, Choice(y_scale=scale))
        figure = PLOTS["bar"].draw(table, Choice(y_scale=scale))
        drawn[scale] = [len(axes.patches) for axes in figure.axes]
    assert drawn == {"log": [0, 0, 0], "linear": [1, 1, 1]}


def test_the_scale_of_the_frame_is_known_to_the_plot(results: Results, tmp_path: Path) -> None:
    seen = []

    def draw(table: pd.DataFrame, choice: Choice) -> Figure:
        seen.append(choice.y_scale)
        return PLOTS["bar"].draw(table, choice)

    draw_to(replace(PLOTS["bar"], draw=draw), results, Output(tmp_path / "x.png", frame=Frame(y_scale="log")))
    assert seen == ["log"]


def test_shares_of_a_duel_have_colours_around_equal_parts_and_numbers_that_can_be_read() -> None:
    assert duels.SHADES.norm(50.0) == 0.5
    for share in range(101):
        assert contrast(duels.SHADES, share) > 4.5, share


def contrast(shades: heatmap.Shades, value: float) -> float:
    """The contrast of text and cell, as the W3C's guidelines for readable pages define it; 4.5 is their minimum."""
    rgb = np.array(mpl.colormaps[shades.colours](float(shades.norm(value)))[:3])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    light = float(linear @ (0.2126, 0.7152, 0.0722))
    text = 1.0 if shades.dark(value) else 0.0
    return (max(light, text) + 0.05) / (min(light, text) + 0.05)


def test_datagrams_alone_have_a_figure_of_their_goodput_and_no_congestion_window(datagrams: Results) -> None:
    assert set(PLOTS["candlestick"].table(datagrams)["panel"]) == {"Goodput"}
    with pytest.raises(NotDrawable, match="has no TCP flow"):
        PLOTS["cwnd"].table(datagrams)
    with pytest.raises(NotDrawable, match="one of goodput, ping"):
        PLOTS["cdf"].table(datagrams)


def test_a_logarithmic_axis_of_few_decades_has_numbers_between_the_powers_of_ten() -> None:
    axes = Figure().subplots()
    style.logarithmic_y(axes, (15, 400))
    shown = [text.get_text() for text in axes.get_yticklabels() if 15 <= text.get_position()[1] <= 400]
    assert shown == ["20", "50", "100", "200"]


@pytest.mark.parametrize(("highest", "written"), [(50.0, ["peak: 50 packets"]), (10.1, []), (9.0, [])])
def test_a_peak_above_an_axis_is_written_into_the_panel(highest: float, written: list[str]) -> None:
    axes = Figure().subplots()
    peaks = cut.Peaks()
    peaks.see(axes, [3.0, highest, np.nan])
    axes.set_ylim(0, 10)
    peaks.note("packets")
    assert [text.get_text() for text in axes.texts] == written

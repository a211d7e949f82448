"""The data of bars, distributions, points, bands and heat maps; the user's choices."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from fake_backend import FakeBackend, Nobody, grid
from tailback.analysis import Window, t_interval, tcp_rtt_samples
from tailback.plots import (
    PLOTS,
    Choice,
    NotDrawable,
    Output,
    bar,
    box,
    candlestick,
    cdf,
    cwnd,
    draw_to,
    quantity,
    scatter,
)  # fmt: skip
from tailback.results import Results, claim, open_results
from tailback.sweep import Sweep, run_all

WINDOW = Window(5_000_000_000, 15_000_000_000)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two controls × two small-queue settings × four repetitions."""
    folder = tmp_path_factory.mktemp("results") / "x"
    with claim(folder, grid(repetitions=4)) as store:
        run_all(Sweep(store, FakeBackend(), 2), Nobody())
    return open_results(folder)


def test_a_bar_is_the_mean_of_the_repetitions_with_its_interval(found: Results) -> None:
    table = PLOTS["bar"].data(found)
    row = table[(table["panel"] == "Goodput") & (table["cc"] == "bbr") & (table["tsq"] == "off")].iloc[0]
    values = np.array([run.summary["goodput_mbps"]["total"] for run in found.select(cc="bbr", tsq="off").runs])
    assert (row["n"], row["mean"]) == (4, pytest.approx(values.mean()))
    assert (row["low"], row["high"]) == pytest.approx(t_interval(values))


def test_a_bar_shows_any_number_of_a_summary(found: Results) -> None:
    table = PLOTS["bar"].data(found, Choice(metric="ping_ms.p90"))
    assert table["panel"].unique().tolist() == ["ping p90"]
    assert table["unit"].unique().tolist() == ["ms"]
    with pytest.raises(NotDrawable, match="ping_ms"):
        PLOTS["bar"].data(found, Choice(metric="ping_ms.median"))


def test_one_repetition_has_a_bar_without_an_interval(found: Results) -> None:
    table = PLOTS["bar"].data(found.select(repetition="1"))
    assert table["low"].isna().all()
    PLOTS["bar"].draw(table)


def test_a_distribution_is_the_mean_of_those_of_the_repetitions(found: Results) -> None:
    table = PLOTS["cdf"].data(found)
    part = table[(table["cc"] == "cubic") & (table["tsq"] == "1ms")]
    runs = found.select(cc="cubic", tsq="1ms").runs
    medians = [np.median(tcp_rtt_samples(run.tcp_info, WINDOW)) for run in runs]
    assert part["value"].to_numpy()[50] == pytest.approx(np.mean(medians))
    assert (part["value"].diff().dropna() >= 0).all()


def test_a_point_is_a_repetition(found: Results) -> None:
    table = PLOTS["scatter"].data(found)
    assert len(table) == len(found.runs)
    assert table["x"].tolist() == [run.summary["ping_ms"]["p50"] for run in found.runs]
    assert table["y"].tolist() == [run.summary["goodput_mbps"]["total"] for run in found.runs]


def test_an_ellipse_holds_what_a_normal_distribution_says() -> None:
    draws = np.random.default_rng(2).multivariate_normal((10, 50), [[1, 0.8], [0.8, 2]], size=4000)
    figure = Figure()
    axes = figure.subplots()
    scatter.on(axes, pd.DataFrame({"x": draws[:, 0], "y": draws[:, 1], "panel": "Ping", "unit": "ms", "repetition": 1}))
    (ellipse,) = [patch for patch in axes.patches if isinstance(patch, mpl.patches.Ellipse)]
    inside = ellipse.get_path().contains_points(draws, transform=ellipse.get_patch_transform())
    assert inside.mean() == pytest.approx(0.95, abs=0.015)


def test_a_band_is_the_interval_at_each_time(found: Results) -> None:
    table = PLOTS["band"].data(found)
    part = table[(table["cc"] == "bbr") & (table["tsq"] == "off")]
    assert part["t"].tolist() == [second - 0.5 for second in range(1, 21)]
    assert set(part["n"]) == {4}
    assert ((part["low"] <= part["mean"]) & (part["mean"] <= part["high"])).all()


def test_a_heat_map_has_a_cell_for_each_pair_of_values(found: Results) -> None:
    plot = PLOTS["heatmap"]
    table = plot.data(found, Choice(metric="jain"))
    # Jain's index ends at 1: if one interval does, those of all cells are written with both ends.
    table.loc[0, ["mean", "low", "high"]] = 0.9, 0.5, 1.0
    cells = [text.get_text() for text in plot.draw(table).axes[0].texts]
    assert len(cells) == 4
    assert all("\n[" in cell for cell in cells)
    with pytest.raises(NotDrawable, match="two axes"):
        plot.draw(plot.data(found.select(cc="bbr")))


@pytest.mark.parametrize("name", ["box", "bar", "cdf", "scatter", "band", "candlestick"])
def test_an_axis_can_have_a_panel_for_each_value(found: Results, name: str) -> None:
    choice = Choice(facet=("tsq",))
    figure = PLOTS[name].draw(PLOTS[name].data(found, choice), choice)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["tsq 1ms", "tsq off"]


def test_a_choice_that_is_not_an_axis_names_the_axes(found: Results) -> None:
    for choice in (Choice(facet=("rtt",)), Choice(x="rtt"), Choice(colour="rtt")):
        with pytest.raises(NotDrawable, match="cc, tsq"):
            PLOTS["bar"].draw(PLOTS["bar"].data(found), choice)
    with pytest.raises(NotDrawable, match="goodput"):
        PLOTS["cdf"].data(found, Choice(metric="weight"))


def test_a_table_can_be_drawn_on_axes_of_ones_own(found: Results) -> None:
    figure = Figure()
    grid_ = figure.subplots(2, 3).ravel()
    sticks = PLOTS["candlestick"].data(found)
    boxes = PLOTS["box"].data(found)
    bars = PLOTS["bar"].data(found)
    candlestick.on(grid_[0], sticks[sticks["panel"] == "TCP RTT"])
    box.on(grid_[1], boxes[boxes["panel"] == "TCP RTT"])
    bar.on(grid_[2], bars[bars["panel"] == "Goodput"])
    cdf.on(grid_[3], PLOTS["cdf"].data(found))
    scatter.on(grid_[4], PLOTS["scatter"].data(found))
    cwnd.on(grid_[5], PLOTS["cwnd"].data(found.select(cc="bbr", tsq="off")))
    assert all(len([*axes.lines, *axes.patches]) >= 2 for axes in grid_)


def test_a_figure_keeps_the_line_that_draws_it(found: Results, tmp_path: Path) -> None:
    line = "tailback plot results/x -p bar"
    for suffix in (".png", ".svg", ".pdf"):
        draw_to(PLOTS["bar"], found, Output(tmp_path / f"bar{suffix}", line))
    with Image.open(tmp_path / "bar.png") as picture:
        assert picture.info["Description"] == line
    assert line in (tmp_path / "bar.svg").read_text()
    assert b"tailback plot results/x -p bar" in (tmp_path / "bar.pdf").read_bytes()


def test_the_number_of_one_flow_or_group_is_called_by_its_name() -> None:
    assert quantity.of_key("goodput_mbps.flows.upload.1").label == "Goodput of upload.1 (Mbit/s)"
    assert quantity.of_key("goodput_mbps.groups.home").label == "Goodput of home (Mbit/s)"
    assert quantity.of_key("retransmission_rate.flows.up").label == "Retransmission rate of up (%)"
    assert quantity.of_key("pings_ms.near.p99").label == "Pings near p99 (ms)"

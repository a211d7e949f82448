"""Every figure over time: it shades what was not measured, dates bins at their middles, and says which of several
repetitions it shows."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import tailback
from tailback.plots import PLOTS, Choice, NotDrawable, bins, one_of_several, outside

FILE = """\
links:
  - wifi: {ap: router, stations: [laptop]}
    standard: 802.11n
    width: 20MHz
    mcs: 7
  - {ends: [router, server], rate: 20mbit, delay: 5ms}
traffic:
  - {tcp: laptop -> server, name: up, flows: 2}
  - {tcp: server -> laptop, name: down}
  - {ping: laptop -> server, interval: 20ms}
  - {ping: laptop -> server, name: other, interval: 20ms}
duration: 4s
measure: {window: [1s, 3.4s]}
repeat: 3
"""
WINDOW, LAST = (1.0, 3.4), 4.0

TO_THE_END = {"air": "1800"}
"""The metric with which a figure of a part of the run goes on to its end."""

MEANS = ("band", "shares")
"""Figures over time of all repetitions."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    folder = tmp_path_factory.mktemp("time")
    (folder / "x.yaml").write_text(FILE)
    return tailback.run(folder / "x.yaml", out=folder / "out")


Figures = Mapping[str, tuple[pd.DataFrame, Figure]]
"""The table and the figure of each plot of the registry whose x axis is time."""


def over_time(results: tailback.Results, *, to_the_end: bool = True) -> Figures:
    found = {}
    for name, plot in PLOTS.items():
        choice = Choice(metric=TO_THE_END.get(name) if to_the_end else None)
        try:
            table = plot.table(results, choice)
        except NotDrawable:
            continue
        if "t" in table:
            found[name] = table, plot.draw(table, choice)
    return {name: each for name, each in found.items() if each[1].axes[-1].get_xlabel().startswith("Time")}


@pytest.fixture(scope="module")
def figures(results: tailback.Results) -> Figures:
    return over_time(results)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def shaded(axes: Axes) -> list[tuple[float, float]]:
    spans = [each for each in axes.patches if isinstance(each, Rectangle) and each.get_height() == 1]
    return [(each.get_x(), each.get_x() + each.get_width()) for each in spans]


def test_every_figure_over_time_shades_and_names_what_was_not_measured(figures: Figures) -> None:
    assert set(figures) >= {"band", "air", "queue", "shares", "rrul", "cwnd", "held", "timeseries"}
    for name, (_, figure) in figures.items():
        spans = [(0, WINDOW[0]), (WINDOW[1], LAST)] if name != "air" else [(1200, 1800)]
        for axes in figure.axes:
            assert np.array(shaded(axes)) == pytest.approx(np.array(spans), abs=1e-6), name
        assert "Not measured" in legend(figure), name


def test_a_figure_of_one_of_several_repetitions_says_which(figures: Figures, results: tailback.Results) -> None:
    for name, (table, figure) in figures.items():
        assert ("Repetition 1 of 3" in legend(figure)) == (name not in MEANS), name
        assert (one_of_several.COUNT in table) == (name not in MEANS), name
    for name, (_, figure) in over_time(results.select(repetition=2), to_the_end=False).items():
        assert ("Repetition 2" in legend(figure)) == (name not in MEANS), name


def test_repetitions_of_configurations_that_have_unequally_many_are_told() -> None:
    table = pd.DataFrame({one_of_several.NUMBER: [1, 1, 2], one_of_several.COUNT: [1, 3, 5]})
    assert one_of_several.words(table) == "Repetition 1 to 2 of 1 to 5"
    assert one_of_several.words(table.head(1)) == ""


def test_bins_are_dated_at_their_middles_and_the_table_says_how_wide_they_are(figures: Figures) -> None:
    binned = {name: table for name, (table, _) in figures.items() if bins.WIDTH in table}
    assert set(binned) == {"band", "shares", "rrul", "held", "timeseries"}
    for name, table in binned.items():
        rows = table[table[bins.WIDTH].notna()]
        places = (rows["t"] / rows[bins.WIDTH] - 0.5).to_numpy()
        assert places == pytest.approx(places.round(), abs=1e-6), name
        assert bins.last(rows) == pytest.approx(LAST), name
    table, figure = figures["band"]
    assert figure.axes[0].lines[0].get_xdata() == pytest.approx(table["t"].to_numpy())
    assert list(figure.axes[0].get_xlim()) == pytest.approx([0, LAST])


def test_a_table_without_a_window_is_drawn_without_shading() -> None:
    table = pd.DataFrame({"t": [0.0, 1.0]})
    assert not outside.known(table)
    assert outside.key(table) == []

"""The values of papers that are drawn into our figures."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tailback.papers import load_paper, papers
from tailback.papers.claims import Reported
from tailback.papers.figures import DRAWINGS
from tailback.papers.reported import overlay
from tailback.plots import NotDrawable


def reported(**keys: object) -> Reported:
    return Reported.model_validate({"figure": "1", "quantity": "Goodput", **keys})


@pytest.fixture
def scatter() -> Figure:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1.0], [10.0], "o", color="#112233", label="cubic")
    axes.set_ylabel("Goodput (Mbit/s)")
    axes.set_xlim(0, 2)
    axes.set_ylim(0, 20)
    figure.legend()
    return figure


@pytest.fixture
def bars() -> Figure:
    figure = Figure()
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.bar([-0.2, 0.8], [50, 60], 0.4, label="up")
    upper.bar([0.2, 1.2], [40, 30], 0.4, label="down")
    upper.set_ylabel("Goodput (Mbit/s)")
    lower.bar([0, 1], [5, 6])
    lower.set_ylabel("Median ping (ms)")
    lower.set_xticks([0, 1], ["bbr", "cubic"])
    figure.legend(*upper.get_legend_handles_labels())
    return figure


@pytest.mark.parametrize("name", papers())
def test_every_reported_value_belongs_to_a_figure_that_is_drawn(name: str) -> None:
    drawn = {drawing.figure for drawing in DRAWINGS[name]}
    assert {value.figure for value in load_paper(name).reported} <= drawn


def test_a_point_is_a_ring_in_the_colour_of_its_series_and_widens_the_axes(scatter: Figure) -> None:
    overlay(scatter, [reported(series="cubic", at=4, value=50)])
    axes = scatter.axes[0]
    ring = axes.lines[-1]
    assert (np.asarray(ring.get_xdata()).tolist(), np.asarray(ring.get_ydata()).tolist(), ring.get_color()) == (
        [4],
        [50],
        "#112233",
    )
    assert axes.get_xlim()[1] > 4
    assert axes.get_ylim()[1] > 50
    assert scatter.get_suptitle() == "rings: as the paper has it"


def test_a_range_is_an_area_and_a_value_without_a_place_a_band(scatter: Figure) -> None:
    overlay(scatter, [reported(at=(1, 2), value=(5, 8)), reported(value=12), reported(at=1.5)])
    areas = [found for found in scatter.axes[0].patches if isinstance(found, Rectangle)]
    assert [(area.get_x(), area.get_width(), area.get_height()) for area in areas[:1]] == [(1, 1, 3)]
    assert len(areas) == 3
    assert scatter.get_suptitle() == "shaded areas: as the paper has it"


def test_the_title_names_the_marks_that_are_there(scatter: Figure) -> None:
    overlay(scatter, [reported(at=1, value=5), reported(value=12)])
    assert scatter.get_suptitle() == "rings and shaded areas: as the paper has it"


def test_on_bars_a_value_is_a_line_as_wide_as_the_bar_of_its_series(bars: Figure) -> None:
    overlay(bars, [reported(series="down", at="cubic", value=20), reported(quantity="Median ping", at="bbr", value=4)])
    upper, lower = bars.axes
    assert np.asarray(upper.lines[0].get_xdata()).tolist() == pytest.approx([1.0, 1.4])
    assert np.asarray(lower.lines[0].get_ydata()).tolist() == [4, 4]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"quantity": "Speed", "value": 1}, "no axes `Speed`"),
        ({"series": "reno", "value": 1}, "no series `reno`"),
        ({"at": "reno", "value": 1}, "the axis has no `reno`"),
    ],
)
def test_a_value_that_the_figure_has_no_place_for_is_an_error(bars: Figure, keys: dict[str, object], said: str) -> None:
    with pytest.raises(NotDrawable, match=said):
        overlay(bars, [reported(**keys)])


def test_a_figure_without_values_stays_as_it_is(scatter: Figure) -> None:
    overlay(scatter, [])
    assert scatter.get_suptitle() == ""

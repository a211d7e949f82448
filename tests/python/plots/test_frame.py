"""Scales and limits that the user sets."""

import pytest
from matplotlib import pyplot

from tailback.plots import style
from tailback.plots.frame import Frame


@pytest.fixture(autouse=True)
def closed() -> None:
    pyplot.close("all")


def test_a_logarithmic_scale_keeps_the_data_in_sight_and_has_plain_numbers() -> None:
    with pyplot.rc_context(style.STYLE):
        figure, axes = pyplot.subplots()
        axes.plot([0, 2, 500], [1, 2, 3])
        Frame(x_scale="log").apply(figure)
        figure.canvas.draw()
        low, high = axes.get_xlim()
        assert (low < 2, high > 500) == (True, True)
        assert low > 1
        assert [text.get_text() for text in axes.get_xticklabels() if low <= text.get_position()[0] <= high] == [
            "3",
            "10",
            "30",
            "100",
            "300",
        ]


def test_a_scale_that_the_plot_has_already_stays_as_it_is() -> None:
    figure, axes = pyplot.subplots()
    axes.plot([3, 500], [1, 2])
    style.logarithmic_x(axes, (2, 600))
    Frame(x_scale="log").apply(figure)
    assert axes.get_xlim() == (2, 600)
    Frame(x_scale="linear", y_limits=(0, 9)).apply(figure)
    assert (axes.get_xscale(), axes.get_xlim()[0], axes.get_ylim()) == ("linear", 0, (0, 9))

"""Long labels stay inside of the figure and apart from each other."""

from collections.abc import Sequence
from itertools import pairwise

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.transforms import Bbox

from tailback.plots import PLOTS, Choice, bar, cwnd, heatmap, labels
from tailback.plots.frame import Frame

LONG = "cake bandwidth 45mbit ingress besteffort dual-dsthost overhead 44 mpu 84"
OWN = ["cubic", "bbr", "aimd.py", "aimd.py a 2 b 0.8", "delay.py", "rate.py", "tcp_mine.c beta 700"]


def bars(texts: Sequence[str], buffers: Sequence[str] = ("1", "2")) -> pd.DataFrame:
    """A table of `bar` and `heatmap`."""
    rows = [
        {"in": text, "buffer": buffer, "panel": "Goodput", "unit": "Mbit/s", "n": 3, "mean": 5, "low": 4, "high": 6}
        for text in texts
        for buffer in buffers
    ]
    return pd.DataFrame(rows)


def windows(texts: Sequence[str]) -> pd.DataFrame:
    """A table of `cwnd` with a panel for each text."""
    head = {"panel": "cwnd", "unit": "segments", "measured": True}
    rows = [{"in": text, "flow": "up", "t": t, "value": 10.0, **head} for text in texts for t in (0.0, 1.0)]
    return pd.DataFrame(rows)


def drawn(figure: Figure) -> Figure:
    figure.draw_without_rendering()
    return figure


def inside(figure: Figure, boxes: Sequence[Bbox]) -> bool:
    return all(box.x0 >= 0 and box.x1 <= figure.bbox.width and box.y0 >= 0 for box in boxes)


def test_a_long_label_along_x_is_broken_into_lines_and_leaves_the_panel_its_size() -> None:
    short, long = (drawn(bar.draw(bars(["fq_codel", text], ["1"]))) for text in ("pie", LONG))
    texts = long.axes[0].get_xticklabels()
    assert " ".join(texts[1].get_text().split()) == LONG
    assert texts[0].get_window_extent().x1 < texts[1].get_window_extent().x0
    assert inside(long, [text.get_window_extent() for text in texts])
    assert long.axes[0].bbox.height == pytest.approx(short.axes[0].bbox.height, rel=0.1)


@pytest.mark.parametrize("plot", [bar, heatmap])
def test_turned_labels_end_below_their_own_tick(plot: object) -> None:
    table = bars(OWN)
    figure = drawn(bar.draw(table) if plot is bar else heatmap.draw(table, Choice(x="in")))
    axes = figure.axes[0]
    boxes = [text.get_window_extent() for text in axes.get_xticklabels()]
    assert inside(figure, boxes)
    slot = axes.bbox.width / len(OWN)
    for place, box in enumerate(boxes):
        assert box.x1 < axes.bbox.x0 + (place + 1) * slot


def test_labels_too_long_for_their_number_are_letters_with_a_key() -> None:
    figure = drawn(bar.draw(bars([LONG, *OWN[:5], f"{LONG} nat"])))
    texts = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert (texts[0], texts[1], texts[-1]) == ("A", "cubic", "B")
    key = [" ".join(text.get_text().split()) for text in figure.legends[0].get_texts()]
    assert f"A: {LONG}" in key
    assert f"B: {LONG} nat" in key
    assert figure.axes[0].bbox.height > 0.9 * figure.dpi


@pytest.mark.parametrize("name", ["cdf", "band"])
def test_a_long_entry_of_a_legend_stays_inside(name: str) -> None:
    columns = {"share": [0.0, 1.0], "t": [0.0, 1.0], "measured": True, "panel": "Ping", "unit": "ms", "n": 2}
    values = {"value": [1.0, 2.0], "mean": [1.0, 2.0], "low": [0.5, 1.5], "high": [1.5, 2.5]}
    table = pd.concat([pd.DataFrame({"in": text, **columns, **values}) for text in ("fq_codel", LONG)])
    figure = drawn(PLOTS[name].draw(table))
    assert inside(figure, [figure.legends[0].get_window_extent()])


@pytest.mark.parametrize("frame", [Frame(), Frame(size=(6.0, 3.0))])
def test_titles_of_panels_do_not_run_into_each_other(frame: Frame) -> None:
    figure = cwnd.draw(windows([LONG, f"{LONG} nat", *OWN[3:5]]))
    frame.apply(figure)
    boxes = [axes.title.get_window_extent() for axes in drawn(figure).axes]
    assert inside(figure, boxes)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_text_that_fits_is_left_alone_and_a_word_that_does_not_is_cut() -> None:
    assert labels.wrapped("fq_codel", 100, 8) == "fq_codel"
    parts = labels.wrapped("a_very_long_name_of_a_file.py b 1", 50, 8).split("\n")
    assert "".join(parts).replace(" ", "") == "a_very_long_name_of_a_file.pyb1"
    assert all(labels.width(part, 8) <= 50 for part in parts)


def test_the_rows_of_a_legend_are_equally_long() -> None:
    figure = Figure(figsize=(7, 3))
    labels.legend(figure, [Patch(label=f"a long name {number}") for number in range(1, 7)])
    figure.draw_without_rendering()
    assert len({round(text.get_window_extent().x0) for text in figure.legends[0].get_texts()}) == 3


def test_labels_along_y_do_not_leave_a_small_figure() -> None:
    table = pd.concat([bars(["a"]).assign(panel=panel) for panel in ("Goodput", "Goodput down")])
    figure = PLOTS["bar"].draw(table)
    Frame(size=(3.4, 2.2)).apply(figure)
    figure.draw_without_rendering()
    boxes = sorted((axes.yaxis.label.get_window_extent() for axes in figure.axes), key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 for below, above in pairwise(boxes))
    assert boxes[0].y0 >= 0
    assert boxes[-1].y1 <= figure.bbox.y1

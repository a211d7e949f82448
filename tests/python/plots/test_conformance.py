"""The heat map of the conformance matrix, and the overlay of two runs."""

import itertools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fake_backend import FakeBackend, Nobody, experiment, planned, scenario
from tailback.plots import NotDrawable, conformance, overlay, rendered
from tailback.results import RunPair, claim, open_results, pair
from tailback.sweep import Sweep, run_all


def matrix(**cells: float) -> pd.DataFrame:
    rows = [(*key.split("_"), metric, deviation) for key, deviation in cells.items() for metric in ("goodput", "worst")]
    return pd.DataFrame(rows, columns=["bottleneck", "rtt", "cc", "metric", "deviation"])


CELLS = matrix(L10M_1ms_reno=0.2, L10M_9ms_reno=-0.5, R10M_1ms_reno=1.5, L10M_1ms_bbr=-7.0, R10M_9ms_bbr=np.inf)


def test_controls_are_rows_and_the_other_axes_are_columns() -> None:
    figure = conformance.draw(CELLS)
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in panels] == ["goodput", "worst"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["reno", "bbr"]
    assert [label.get_text() for label in panels[-1].get_xticklabels()] == [
        "L10M rtt 1ms", "L10M rtt 9ms", "R10M rtt 1ms", "R10M rtt 9ms",
    ]  # fmt: skip


def test_each_cell_is_where_its_axes_are_and_what_is_unknown_is_empty() -> None:
    image = conformance.draw(CELLS).axes[0].images[0].get_array()
    assert image is not None
    shown = np.ma.filled(image, np.nan)
    farthest = conformance.CLIP
    expected = [[0.2, -0.5, 1.5, np.nan], [-farthest, np.nan, np.nan, farthest]]
    np.testing.assert_array_equal(shown, expected)


def test_cells_out_of_tolerance_are_crossed() -> None:
    black, white = (np.asarray(line.get_xydata()).tolist() for line in conformance.draw(CELLS).axes[0].lines)
    assert black == [[2, 0]]
    assert sorted(white) == [[0, 1], [3, 1]]


def test_long_labels_have_room_below_both_lines_of_panels() -> None:
    """Nine panels take two lines; the last of the first line have labels, because there is no panel below them."""
    long = "red limit 400kb min 30kb max 31kb avpkt 1000 burst 40 probability 1 ecn"
    labels = (long, *(f"pfifo limit {limit}" for limit in range(5)))
    cells = itertools.product(("cubic", "dctcp", "bbr"), labels, (f"metric {place}" for place in range(9)), (0.5,))
    figure = conformance.draw(pd.DataFrame(cells, columns=["cc", "q", "metric", "deviation"]))
    with warnings.catch_warnings(action="error"):
        rendered(figure, ".png")


def test_the_same_matrix_is_the_same_file() -> None:
    assert rendered(conformance.draw(CELLS), ".svg") == rendered(conformance.draw(CELLS), ".svg")
    assert rendered(conformance.draw(CELLS[CELLS["cc"] == "bbr"]), ".png").startswith(b"\x89PNG")


def test_a_matrix_in_which_nothing_was_judged_asks_for_a_tolerance() -> None:
    with pytest.raises(NotDrawable, match="tolerance"):
        conformance.draw(CELLS.iloc[:0])


@pytest.fixture(scope="module")
def run_pair(tmp_path_factory: pytest.TempPathFactory) -> RunPair:
    sides = []
    for tsq in ("1ms", "off"):
        folder = tmp_path_factory.mktemp("results") / tsq
        plan = experiment([planned({}, scenario(tsq, flows=6, tsq=tsq))])
        with claim(folder, plan) as store:
            run_all(Sweep(store, FakeBackend(), 1), Nobody())
        sides.append(open_results(folder))
    return pair(*sides).pairs[0]


def test_traces_of_both_runs_are_those_of_their_tables(run_pair: RunPair) -> None:
    table = overlay.data(run_pair)
    assert table["flow"].nunique() == overlay.MAX_FLOWS
    for side, run in (("reference", run_pair.reference), ("candidate", run_pair.candidate)):
        shown = table[(table["side"] == side) & (table["flow"] == "upload.1")]
        info = run.tcp_info[run.tcp_info["flow"] == "upload.1"]
        assert shown[shown["panel"] == "cwnd"]["value"].to_list() == info["snd_cwnd"].to_list()
        assert shown[shown["panel"] == "TCP RTT"]["value"].to_list() == (info["rtt"] / 1e3).to_list()
    assert table["measured"].sum() == 2 * 2 * overlay.MAX_FLOWS * 100


def test_both_runs_are_overlaid_with_a_mark_at_the_first_divergence(run_pair: RunPair, tmp_path: Path) -> None:
    names = {"reference": "uml", "candidate": "sim"}
    figure = overlay.draw(overlay.data(run_pair), names, {"upload.2": 3.5})
    assert [len(axes.lines) for axes in figure.axes] == [2, 3, 2, 2] * 2
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["uml", "sim", "First divergence", "Not measured"]
    target = tmp_path / "overlay.png"
    target.write_bytes(rendered(figure, ".png"))
    assert target.stat().st_size > 5000

"""Where nothing was sampled, no figure over time draws a line."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import tailback
from tailback.plots import PLOTS, Choice, gaps

FILE = """\
links: [{ends: [a, b], rate: 10mbit, delay: 5ms}]
traffic:
  - {tcp: a -> b, name: up, flows: 2, jitter: 20ms}
  - {tcp: b -> a, name: down}
  - {ping: a -> b, interval: 20ms}
duration: 4s
measure: {warmup: 0s, interval: 50ms}
repeat: 2
"""
OVER_TIME: list[tuple[str, str | None]] = [
    ("rrul", None),
    ("queue", None),
    ("cwnd", None),
    ("timeseries", None),
    ("shares", None),
    ("band", None),
]
OVER_TIME += [("band", metric) for metric in ("ping", "rtt", "cwnd", "queue")]
HOLE = (1.2, 2.4)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    folder = tmp_path_factory.mktemp("gaps")
    (folder / "x.yaml").write_text(FILE)
    return tailback.run(folder / "x.yaml", out=folder / "out")


def test_every_figure_over_time_is_tried(results: tailback.Results) -> None:
    over_time = {name for name, plot in PLOTS.items() if name not in ("air", "fct", "held") and has_time(name, results)}
    assert over_time <= {name for name, _ in OVER_TIME}


def has_time(name: str, results: tailback.Results) -> bool:
    try:
        return "t" in PLOTS[name].table(results)
    except tailback.plots.NotDrawable:
        return False


@pytest.mark.parametrize(("name", "metric"), OVER_TIME)
def test_no_line_goes_over_a_gap(name: str, metric: str | None, results: tailback.Results) -> None:
    table = PLOTS[name].table(results, Choice(metric=metric))
    inside = (table["t"] > HOLE[0]) & (table["t"] < HOLE[1])
    assert inside.any()
    assert not list(across(PLOTS[name].draw(table[~inside].reset_index(drop=True))))
    whole = PLOTS[name].draw(table)
    assert any(
        len(y) and np.isfinite(y).all()
        for axes in whole.axes
        for y in (np.asarray(line.get_ydata(), dtype=float) for line in axes.lines)
    )


def across(figure: Figure) -> list[str]:
    """The lines and bands that go over most of the hole."""
    middle, found = sum(HOLE) / 2, []
    for axes in figure.axes:
        for line in axes.lines:
            x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
            ends = np.isfinite(y[:-1]) & np.isfinite(y[1:]) & (x[:-1] < middle) & (x[1:] > middle)
            if line.get_linestyle() != "None" and ends.any():
                found.append(f"{axes.get_ylabel()}: a line")
        for each in (each for each in axes.collections if isinstance(each, PolyCollection)):
            for path in each.get_paths():
                x = np.asarray(path.vertices)[:, 0]
                # A bin that ends after the hole is a step of its own width.
                found += [f"{axes.get_ylabel()}: a band"] if (x < HOLE[0]).any() and (x > HOLE[1]).any() else []
    return found


def test_a_sample_between_two_gaps_is_a_dot() -> None:
    times = [*np.arange(0, 2, 0.1), 5.0, *np.arange(8, 10, 0.1)]
    rows = gaps.broken(pd.DataFrame({"t": times, "value": 1.0}))
    assert rows["value"].isna().sum() == 2
    axes = Figure().subplots()
    gaps.draw(axes, rows, "value", color="red", linewidth=1)
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.lines][1] == [5.0]


@pytest.mark.parametrize("kind", ["lost pings", "bursts of ACKs", "one", "none"])
def test_what_cannot_be_seen_or_is_usual_is_no_gap(kind: str) -> None:
    draw = np.random.default_rng(1)
    times = {
        "lost pings": np.arange(0, 60, 0.02)[draw.random(3000) > 0.1],
        "bursts of ACKs": np.concatenate([start + np.arange(100) * 1e-4 for start in np.arange(0, 60, 0.1)]),
        "one": np.array([3.0]),
        "none": np.array([]),
    }[kind]
    assert len(gaps.broken(pd.DataFrame({"t": times, "value": 1.0}))) == len(times)

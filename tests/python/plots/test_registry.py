"""A figure is one row: all code that lists figures reads the registry."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from fake_backend import FakeBackend, Nobody, grid
from tailback.cli.listings import listed
from tailback.plots import PLOTS, Choice, draw_to, find_plot, names, registry
from tailback.results import Results, claim, open_results
from tailback.sweep import Sweep, run_all


def toy_data(results: Results, _choice: Choice) -> pd.DataFrame:
    return pd.DataFrame({"run": [run.name for run in results.runs], "toys": range(len(results.runs))})


def toy_draw(table: pd.DataFrame, _choice: Choice) -> Figure:
    figure = Figure()
    figure.subplots().plot(table["toys"].to_numpy())
    return figure


def test_a_new_row_is_listed_found_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = registry.Plot("toys", "toys of each run", toy_data, toy_draw)
    monkeypatch.setitem(names.PLOTS, "toys", names.Offered(row.summary))
    monkeypatch.setitem(PLOTS, row.name, row)
    assert ("toys", "toys of each run") in listed("plot")
    assert find_plot("toys") is row
    with claim(tmp_path / "x", grid(repetitions=1)) as store:
        run_all(Sweep(store, FakeBackend(), 1), Nobody())
    figure, table = draw_to(find_plot("toys"), open_results(tmp_path / "x"), tmp_path / "toys.svg")
    assert figure.read_bytes().startswith(b"<?xml")
    assert table.read_text().splitlines()[0] == "run,toys"

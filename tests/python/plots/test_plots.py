"""Figures are drawn from results folders alone; the CSV beside a figure has its data."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fake_backend import FakeBackend, Nobody, experiment, grid, planned, scenario
from tailback.analysis import Window, ping_samples, tcp_rtt_samples
from tailback.plots import PLOTS, NotDrawable, default_plot, draw_to, find_plot
from tailback.plots.layout import roles
from tailback.results import ExperimentPlan, Results, claim, open_results
from tailback.sweep import Sweep, run_all

Drawing: TypeAlias = Callable[[str, str], tuple[Path, Path]]
WINDOW = Window(5_000_000_000, 15_000_000_000)


def results(folder: Path, plan: ExperimentPlan) -> Results:
    with claim(folder, plan) as store:
        run_all(Sweep(store, FakeBackend(), 2), Nobody())
    return open_results(folder)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results(tmp_path_factory.mktemp("results") / "x", grid())


SUFFIXES = (".png", ".pdf", ".svg")
DRAWN = [name for name in PLOTS if name not in {"queue", "fct", "held"}]
"""The plots of what the backend of the tests records. It has no queues (`test_parts_of_a_run` draws those), no flows
with a size (`scenario/test_arrivals` draws those), and does not say what holds senders (`test_held` draws that)."""

DAILY = [(name, SUFFIXES[number % len(SUFFIXES)]) for number, name in enumerate(DRAWN)]
"""Each plot in one format, the formats in turn. The campaign draws each plot in each."""


@pytest.fixture(scope="module")
def first(found: Results, tmp_path_factory: pytest.TempPathFactory) -> Drawing:
    """The first drawing of a plot in a format, and its CSV: several tests look at it."""
    folder = tmp_path_factory.mktemp("first")

    @cache
    def drawn(name: str, suffix: str) -> tuple[Path, Path]:
        (folder / f"{name}{suffix}").mkdir()
        return draw_to(PLOTS[name], found, folder / f"{name}{suffix}" / f"figure{suffix}")

    return drawn


@pytest.mark.parametrize(("name", "suffix"), DAILY)
def test_the_same_results_give_the_same_file_with_its_data_beside_it(
    found: Results, first: Drawing, tmp_path: Path, name: str, suffix: str
) -> None:
    draws_the_same(found, first, tmp_path, name, suffix)


@pytest.mark.campaign
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", DRAWN)
def test_the_same_results_give_the_same_file_in_every_format(
    found: Results, first: Drawing, tmp_path: Path, name: str, suffix: str
) -> None:
    draws_the_same(found, first, tmp_path, name, suffix)


def draws_the_same(found: Results, first: Drawing, folder: Path, name: str, suffix: str) -> None:
    """Fails unless two drawings have the same bytes and the CSV beside them has the rows of the table."""
    figure, csv = first(name, suffix)
    assert csv == figure.with_name("figure.csv")
    assert len(pd.read_csv(csv)) == len(PLOTS[name].data(found))
    again, _ = draw_to(PLOTS[name], found, folder / f"again{suffix}")
    assert figure.stat().st_size > 5000
    assert figure.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_not_blank(first: Drawing, name: str) -> None:
    figure, _ = first(name, ".png")
    pixels = np.asarray(Image.open(figure).convert("L"))
    assert 0.005 < (pixels < 200).mean() < 0.6


def test_completion_times_of_flows_that_never_end_are_refused(found: Results) -> None:
    with pytest.raises(NotDrawable, match="give a TCP flow of `traffic` a size"):
        PLOTS["fct"].table(found)


def test_candlesticks_are_the_percentiles_over_all_repetitions(found: Results) -> None:
    table = PLOTS["candlestick"].data(found)
    rtt = table[(table["panel"] == "TCP RTT") & (table["cc"] == "bbr") & (table["tsq"] == "off")].iloc[0]
    runs = found.select(cc="bbr", tsq="off").runs
    samples = np.concatenate([tcp_rtt_samples(run.tcp_info, WINDOW) for run in runs])
    assert rtt["n"] == len(samples) == 2 * 2 * 100
    assert [rtt["p10"], rtt["p50"], rtt["p90"]] == pytest.approx(np.percentile(samples, [10, 50, 90]))
    throughput = table[table["panel"] == "Goodput"].iloc[0]
    assert throughput["n"] == 2 * 10
    assert throughput["p10"] < 96 < throughput["p90"]


def test_ping_candlesticks_show_pings(found: Results) -> None:
    table = PLOTS["candlestick_ping"].data(found)
    ping = table[(table["panel"] == "Ping") & (table["tsq"] == "1ms")].iloc[0]
    one = found.select(cc="cubic", tsq="1ms").runs[0]
    assert ping["p50"] == pytest.approx(np.median(ping_samples(one.ping, WINDOW)))


def test_the_csv_holds_the_numbers_of_the_table_to_the_last_digit(found: Results, tmp_path: Path) -> None:
    plot = PLOTS["timeseries"]
    _, csv = draw_to(plot, found, tmp_path / "figure.png")
    read, table = pd.read_csv(csv), plot.data(found)
    assert read["value"].tolist() == table["value"].tolist()
    assert read["t"].tolist() == table["t"].tolist()


def test_time_series_show_one_repetition_of_each_configuration(found: Results) -> None:
    table = PLOTS["timeseries"].data(found)
    assert set(table["repetition"]) == {1}
    first = found.runs[0]
    shown = table[(table["cc"] == "cubic") & (table["tsq"] == "1ms") & (table["series"] == "upload.1")]
    cwnd = first.tcp_info[first.tcp_info["flow"] == "upload.1"]["snd_cwnd"]
    assert shown[shown["panel"] == "cwnd"]["value"].tolist() == cwnd.tolist()
    assert set(table["panel"]) == {"RTT", "cwnd", "Goodput"}


def test_too_many_time_series_ask_for_a_choice(tmp_path: Path) -> None:
    plan = experiment([planned({"n": str(number)}, scenario(str(number))) for number in range(9)])
    with pytest.raises(NotDrawable, match="--where"):
        PLOTS["timeseries"].data(results(tmp_path / "x", plan))


def test_one_configuration_is_shown_over_time_and_several_are_compared(found: Results) -> None:
    assert default_plot(found).name == "candlestick"
    assert default_plot(found.select(cc="bbr", tsq="off")).name == "timeseries"


def test_an_unknown_plot_or_format_names_the_known_ones(found: Results, tmp_path: Path) -> None:
    with pytest.raises(NotDrawable, match="`candlestick`"):
        find_plot("pie")
    with pytest.raises(NotDrawable, match=r"`\.png`"):
        draw_to(PLOTS["candlestick"], found, tmp_path / "figure.xls")


def test_axes_get_the_roles_of_the_paper() -> None:
    axes = {"bottleneck": ["L10M", "R10M"], "cc": ["cubic", "bbr"], "qdisc": ["fifo", "fq"], "tsq": ["1ms", "off"]}
    found = roles(axes)
    assert (found.x, found.colour, found.hatch, found.columns) == ("bottleneck", "cc", "tsq", ("qdisc",))
    alone = roles({"cc": ["cubic", "bbr"]})
    assert (alone.x, alone.colour, alone.hatch, alone.columns) == ("cc", None, None, ())
    assert roles({"cc": ["cubic"]}).x is None

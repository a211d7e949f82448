"""Wi-Fi figures: their data, and the choices that they refuse."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from msgspec.structs import replace

from fake_backend import FakeBackend, Nobody, experiment, grid
from tailback.plots import PLOTS, Choice, NotDrawable, air, style
from tailback.results import Results, RunPlan, claim, open_results
from tailback.sweep import Sweep, run_all


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made(tmp_path_factory.mktemp("results") / "x", grid().runs)


def made(folder: Path, runs: Sequence[RunPlan]) -> Results:
    """Results of these runs."""
    with claim(folder, experiment(list(runs))) as store:
        run_all(Sweep(store, FakeBackend(), 2), Nobody())
    return open_results(folder)


def of(table: pd.DataFrame, **axes: str) -> pd.DataFrame:
    for axis, value in axes.items():
        table = table[table[axis] == value]
    return table


def test_aggregates_are_shares_of_ppdus_that_add_up(found: Results) -> None:
    table = PLOTS["aggregates"].data(found)
    short = of(table, cc="cubic", tsq="1ms")
    assert short["value"].sum() == pytest.approx(1)
    assert set(short.loc[short["value"] > 0, "x"]) == {6, 7, 8}
    down = PLOTS["aggregates"].data(found, Choice(metric="down"))
    assert set(down.loc[down["value"] > 0, "x"]) == {2}


@pytest.fixture
def downloads(tmp_path: Path) -> Results:
    """Results whose flows are all downloads."""
    runs = [replace(run, directions=dict.fromkeys(run.directions, "down")) for run in grid().runs]
    return made(tmp_path / "x", runs)


def test_aggregates_of_downloads_are_those_of_the_access_point(downloads: Results) -> None:
    sizes = PLOTS["aggregates"].data(downloads)
    assert set(sizes.loc[sizes["value"] > 0, "x"]) == {2}
    assert set(PLOTS["aggregates"].data(downloads, Choice(metric="up"))["panel"]) == {"Aggregates up"}
    assert set(PLOTS["aggregate_rtt"].data(downloads)["panel"]) == {"Mean MPDUs of a PPDU, down"}


def test_each_repetition_is_a_point_of_size_and_rtt(found: Results) -> None:
    table = PLOTS["aggregate_rtt"].data(found)
    assert len(table) == len(found.runs)
    assert of(table, tsq="off")["x"].min() > of(table, tsq="1ms")["x"].max()
    assert of(table, tsq="off")["y"].min() > of(table, tsq="1ms")["y"].max()


def test_the_air_is_shown_in_the_middle_of_the_window(found: Results) -> None:
    table = PLOTS["air"].data(found, Choice(metric="50"))
    one = of(table, cc="cubic", tsq="1ms")
    assert (one["t"].min(), one["t"].max()) == (10.0, 10.045)
    assert list(one["ppdu.from"][:2]) == ["client", "router"]
    assert list(one["ppdu.from"].cat.categories) == ["router", "client"]


def test_airtime_is_of_each_station(found: Results) -> None:
    table = PLOTS["airtime"].data(found)
    assert set(table["station"]) == {"client"}
    assert (table["mean"] == 1).all()
    assert table["high"].max() == 1, "an interval of a share ends at 1"


@pytest.mark.parametrize(
    ("name", "metric", "told"),
    [("aggregates", "sideways", "not a direction"), ("air", "soon", "not a number of milliseconds")],
)
def test_unknown_words_are_refused_in_wifi_figures(found: Results, name: str, metric: str, told: str) -> None:
    with pytest.raises(NotDrawable, match=told):
        PLOTS[name].data(found, Choice(metric=metric))


def shares(controls: Sequence[str], **stations: float) -> pd.DataFrame:
    """A table of `airtime`: for each control the same shares."""
    head = {"panel": "Airtime share", "unit": "", "n": 1, "low": float("nan"), "high": float("nan")}
    return pd.DataFrame(
        [{"cc": cc, "station": name, "mean": share, **head} for name, share in stations.items() for cc in controls]
    )


def test_the_shares_of_stations_are_bars_side_by_side() -> None:
    figure = PLOTS["airtime"].draw(shares(("cubic", "bbr"), tv=0.999, phone=0.001))
    assert [(len(axes.patches), axes.get_yscale()) for axes in figure.axes] == [(4, "linear")]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["tv", "phone"]


def test_the_bar_of_a_station_is_above_its_name() -> None:
    axes = PLOTS["airtime"].draw(shares(("cubic",), tv=0.5, phone=0.1)).axes[0]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    centres = [each.get_x() + each.get_width() / 2 for each in bars]
    assert centres == pytest.approx(list(axes.get_xticks()))


def ppdus(*rows: tuple[str, str, int, int]) -> pd.DataFrame:
    """A table of `air`, of a cell of `router` with `tv` and `phone`: sender, receiver, received MPDUs of two,
    colliders."""
    columns = ["ppdu.from", "ppdu.to", "ppdu.received", "ppdu.colliders"]
    hosts = pd.CategoricalDtype(["router", "tv", "phone"])
    table = pd.DataFrame(rows, columns=columns).astype({"ppdu.from": hosts, "ppdu.to": hosts})
    rest = {"ppdu.mpdus": 2, "ppdu.duration_us": 10, "ppdu.tries": 0, "ppdu.access_us": 100}
    return table.assign(panel="x", unit="ms", t=1.0, x=range(len(table)), share=20.0, **rest)


def test_ppdus_of_an_access_point_have_the_colours_of_their_stations() -> None:
    figure = PLOTS["air"].draw(ppdus(("router", "tv", 2, 0), ("router", "phone", 2, 0), ("tv", "router", 2, 0)))
    to_tv, to_phone, from_tv = (patch.get_facecolor() for patch in figure.axes[0].patches)
    assert to_tv == from_tv
    assert to_tv != to_phone
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[:2] == ["To tv", "To phone"]
    assert "Waiting for access" in words


def test_the_access_point_is_above_its_stations_whoever_sends_first() -> None:
    figure = PLOTS["air"].draw(
        ppdus(("phone", "router", 2, 0), ("router", "phone", 2, 0), ("router", "tv", 2, 0), ("tv", "router", 2, 0))
    )
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["router", "tv", "phone"]
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["To tv", "To phone"]


def test_a_ppdu_that_began_before_the_span_is_on_the_air(tmp_path: Path) -> None:
    runs = [replace(run, window_ns=(5_000_000_000, 15_000_200_000)) for run in grid().runs]
    first, second = PLOTS["air"].data(made(tmp_path / "x", runs), Choice(metric="50"))["t"].unique()[:2]
    assert first < 10.0001 < second


def test_the_number_of_mpdus_is_in_the_middle_of_what_is_seen_of_a_ppdu() -> None:
    table = ppdus(("router", "tv", 2, 0), ("router", "tv", 2, 0))
    table = table.assign(x=[-6.0, 15.0], **{"ppdu.duration_us": 10_000})
    assert [text.get_position()[0] for text in PLOTS["air"].draw(table).axes[0].texts] == [2.0, 17.5]


def test_a_collided_frame_is_grey_to_its_outline() -> None:
    figure = PLOTS["air"].draw(ppdus(("router", "tv", 0, 1), ("router", "tv", 1, 0)))
    collided, lost = (patch.get_edgecolor() for patch in figure.axes[0].patches)
    assert to_hex(collided) == air.COLLIDED
    assert to_hex(lost) == style.BLACK

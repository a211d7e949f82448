"""Every plot of the registry, of many kinds of results: labels, legends, colours, numbers and what they cover."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse, Patch, Rectangle
from matplotlib.text import Text

from command import in_process
from tailback.plots import PLOTS, Choice, NotDrawable, capacity, kinds, labels, style
from tailback.plots.cut import NOTICED
from tailback.plots.frame import Frame
from tailback.results import Results, open_results

LINK = "links: [{ends: [a, b], rate: 10mbit, delay: 5ms}]\n"

EXPERIMENTS: Mapping[str, str] = {
    "call": LINK
    + """\
qdiscs: {a -> b: "${q}"}
let: {q: pfifo limit 50}
traffic: [{call: a -> b}, {tcp: a -> b, name: up, flows: 2, jitter: 50ms}, {ping: a -> b, interval: 20ms}]
duration: 2s
vary: {queue: {a FIFO of 50 packets — kürzer: {q: pfifo limit 50}, fq_codel: {q: fq_codel}}}
repeat: 3
""",
    "requests": LINK
    + """\
traffic:
  - {request: a -> b, answer: 30kb, every: 200ms}
  - {tcp: b -> a, name: mice, size: pareto 30kb shape 1.2, arrivals: poisson 20/s}
duration: 2s
vary: {cc: [cubic, bbr]}
""",
    "cell": """\
links:
  - wifi: {ap: router, stations: [s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12]}
    standard: 802.11n
    width: 40MHz
    mcs: {s1: 7, s2: 7, s3: 7, s4: 7, s5: 7, s6: 7, s7: 7, s8: 7, s9: 7, s10: 7, s11: 0, s12: 0}
  - {ends: [router, server], rate: 1gbit, delay: 5ms}
traffic: [{tcp: server -> s1..12, name: down, jitter: 200ms}, {ping: s1 -> server, name: near, interval: 50ms}]
duration: 1s
vary: {tsq: [1ms, off]}
""",
    "hosts": """\
links: [{star: 25, rate: 100mbit, delay: 5us}]
qdiscs: {hub -> host1: pfifo limit 200}
traffic:
  - {tcp: host2..25 -> host1, name: up, jitter: 20ms}
  - {request: host1 -> host2..25, name: fetch, answer: 6kb, every: 50ms, jitter: 20us}
duration: 400ms
measure: {interval: 10ms}
""",
    "datagrams": LINK
    + 'traffic: [{udp: a -> b, rate: 9mbit}]\nduration: 2s\nvary: {"links[0].rate": [5mbit, 10mbit]}\n',
    "video": LINK + "traffic: [{video: a -> b}, {page: a -> b, every: 1s}]\nduration: 4s\nrepeat: 2\n",
    "one": LINK + "traffic: [{tcp: a -> b, flows: 10}, {ping: a -> b}]\nduration: 2s\n",
    "twoaxes": LINK
    + """\
qdiscs: {a -> b: "${q}"}
let: {q: pfifo limit 50}
traffic: [{tcp: a -> b, name: up, flows: 2, jitter: 50ms}, {ping: a -> b, interval: 20ms}]
duration: 2s
vary: {cc: [cubic, bbr, reno], tsq: [1ms, off], q: [pfifo limit 50, fq_codel]}
repeat: 3
""",
    "forty": LINK
    + """\
traffic: [{tcp: a -> b, name: up, flows: 2, jitter: 20ms}, {ping: a -> b, interval: 20ms}]
duration: 400ms
vary: {"links[0].delay": DELAYS}
""".replace("DELAYS", str([f"{number}ms" for number in range(1, 41)])),
}

FEW = {
    "twoaxes": ("candlestick", "box", "bar", "cdf", "band", "scatter", "pareto"),
    "forty": ("candlestick", "cdf", "pareto"),
    "one": ("cwnd", "timeseries", "shares", "bar", "rrul"),
    "requests": ("candlestick", "cdf", "bar", "fct", "scatter", "timeseries", "held"),
}
"""The plots of results that are like others in the rest of them, which the campaign draws, too."""

VARIANTS = ("candlestick_ping", "box_ping", "box")
"""Plots that are drawn as another one is; of one experiment they are drawn, too."""

METRICS: Mapping[str, tuple[str | None, ...]] = {
    "bar": (None, "mos", "jain", "request p95"),
    "cdf": (None, "goodput"),
    "band": (None, "queue"),
}


@pytest.fixture(scope="module", params=EXPERIMENTS)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "x.yaml").write_text(EXPERIMENTS[request.param])
    in_process("run", folder / "x.yaml", "--out", folder / "out")
    return open_results(folder / "out")


def daily(name: str, of: str) -> bool:
    """Whether `make test` draws a plot of an experiment."""
    return name in FEW.get(of, PLOTS) and (name not in VARIANTS or of in ("call", "twoaxes"))


def figures(results: Results, *, every: bool) -> Iterator[tuple[str, Figure, pd.DataFrame]]:
    """Figures that these results have, with their names and their tables."""
    of = next(name for name in EXPERIMENTS if results.path.parent.name.startswith(name))
    for name, plot in PLOTS.items():
        if not every and not daily(name, of):
            continue
        for metric in METRICS.get(name, (None,)):
            try:
                table = plot.table(results, Choice(metric=metric))
                figure = plot.draw(table, Choice(metric=metric))
            except NotDrawable as error:
                assert "hint: " in str(error), name
                continue
            figure.draw_without_rendering()
            yield f"{name} {metric or ''}".strip(), figure, table


def test_every_figure_can_be_read(results: Results) -> None:
    can_be_read(results, every=False)


@pytest.mark.campaign
def test_every_figure_of_all_results_can_be_read(results: Results) -> None:
    can_be_read(results, every=True)


def can_be_read(results: Results, *, every: bool) -> None:
    found = {name: faults(figure, table, results) for name, figure, table in figures(results, every=every)}
    assert len(found) >= 3
    assert {name: each for name, each in found.items() if each} == {}


def faults(figure: Figure, table: pd.DataFrame, results: Results) -> list[str]:
    return [
        *wrong_labels(figure, results), *few_numbers(figure), *overlapping(figure), *ambiguous(figure),
        *unexplained(figure), *impossible(table), *grey(figure), *cut(figure),
    ]  # fmt: skip


def cut(figure: Figure) -> Iterator[str]:
    """Ellipses and curves that go beyond the top of their panel; a curve may where its peak is written."""
    for axes in shown(figure):
        # A line of two points may be in units of the panel.
        curves = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines if len(line.get_xdata()) > 2]  # type: ignore[arg-type]
        peak = max((float(np.nanmax(curve)) for curve in curves if np.isfinite(curve).any()), default=0.0)
        row = axes.get_shared_y_axes().get_siblings(axes)
        written = any(text.get_text().startswith("peak: ") for each in row for text in each.texts)
        if peak > NOTICED * max(axes.get_ylim()) and not written:
            yield f"a curve is cut at {max(axes.get_ylim()):g}, it goes up to {peak:g}"
        for each in axes.findobj(Ellipse):
            top = each.get_path().transformed(each.get_patch_transform()).get_extents().y1
            if top > max(axes.get_ylim()):
                yield f"an ellipse is cut at {max(axes.get_ylim()):g}, it goes up to {top:g}"


def is_points(line: Line2D) -> bool:
    """Whether a line is one point, or points that no line joins."""
    return line.get_linestyle() == "None" or len(np.asarray(line.get_xdata())) == 1


def grey(figure: Figure) -> Iterator[str]:
    """What only a colour tells apart, which is lost in grey print: entries of a legend, and lines and points of a
    panel. More entries than colours are shades, whose order is seen."""
    words = entries(figure)
    handles = [handle for each in figure.legends for handle in each.legend_handles]
    marks: dict[tuple[Any, ...], str] = {}
    for handle, text in zip(handles, words, strict=True):
        coloured = [colour for colour in map(to_hex, colours_of(handle)) if not is_grey(colour)]
        if coloured and isinstance(handle, Line2D) and not any(map(is_shade, coloured)):
            kind = (handle.get_marker(), handle.get_linestyle())
            if kind in marks:
                yield f"in grey, `{text}` looks like `{marks[kind]}`"
            marks[kind] = text
    for axes in shown(figure):
        kinds_of: dict[tuple[Any, ...], set[str]] = {}
        for line in axes.lines:
            colour = to_hex(line.get_color() if line.get_markerfacecolor() == "white" else line.get_markerfacecolor())
            colour = to_hex(line.get_color()) if line.get_linestyle() != "None" else colour
            if len(np.asarray(line.get_xdata())) > 2 and not is_grey(colour) and not is_shade(colour):
                kinds_of.setdefault((line.get_marker(), line.get_linestyle()), set()).add(colour)
        yield from (f"in grey, {colours} look alike" for colours in kinds_of.values() if len(colours) > 1)
        filled = {to_hex(each.get_edgecolor()) for each in axes.patches if isinstance(each, Rectangle)}
        filled = {colour for colour in filled if not is_grey(colour) and not is_shade(colour)}
        points = {line.get_marker() for line in axes.lines if is_points(line)}
        if (
            len(filled) > 1
            and len(points) < len(filled)
            and not axes.yaxis.get_ticklabels()[0].get_text()[:1].isalpha()
        ):
            yield f"in grey, {filled} look alike"


def is_grey(colour: str) -> bool:
    return colour[1:3] == colour[3:5] == colour[5:7]


def is_shade(colour: str) -> bool:
    return colour not in map(to_hex, style.PALETTE)


def shown(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_visible()]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text().strip()]


def entries(figure: Figure) -> list[str]:
    return [" ".join(text.get_text().split()) for each in figure.legends for text in each.get_texts()]


def wrong_labels(figure: Figure, results: Results) -> Iterator[str]:
    """Empty units, figures without names of their axes, and labels in another case."""
    yield from (f"empty unit: {text}" for text in texts(figure) if "()" in text)
    named = [label for axes in shown(figure) for label in (axes.get_xlabel(), axes.get_ylabel()) if label]
    if not named:
        yield "no axis has a name"
    for label in named:
        if label not in (*results.axes, "station") and label != labels.sentence(label):
            yield f"case: {label}"


def few_numbers(figure: Figure) -> Iterator[str]:
    """Logarithmic axes without two numbers where the data is, and factors beside an axis."""
    for axes in shown(figure):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False)
            numbers = [text for at, text in ticks if low <= at <= high]
            if axis.get_scale() == "log" and len([text for text in numbers if text.get_text()]) < 2:
                yield f"numbers between {low:g} and {high:g}: {[text.get_text() for text in numbers]}"
            if axis.get_offset_text().get_text():
                yield f"a factor beside the axis: {axis.get_offset_text().get_text()}"


def overlapping(figure: Figure) -> Iterator[str]:
    """Texts outside of the figure, and texts that run into each other."""
    boxes = []
    for axes in shown(figure):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False)
            boxes += [text for at, text in ticks if low - 1e-9 <= at <= high + 1e-9] if axis.get_visible() else []
            boxes.append(axis.label)
        boxes.append(axes.title)
    boxes += [text for each in figure.legends for text in each.get_texts()]
    visible = [text for text in boxes if text.get_visible() and text.get_text().strip()]
    extents = [(text, text.get_window_extent()) for text in visible]
    for text, box in extents:
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.width + 1 or box.y1 > figure.bbox.height + 1:
            yield f"outside: {text.get_text()}"
    for (one, box), (other, beside) in combinations(extents, 2):
        # A box around a turned text is larger than the text.
        turned = one.get_rotation() % 90 or other.get_rotation() % 90
        apart = min(box.x1, beside.x1) - max(box.x0, beside.x0), min(box.y1, beside.y1) - max(box.y0, beside.y0)
        if not turned and min(apart) > 1:
            yield f"overlap: {one.get_text()} and {other.get_text()}"


def look(handle: Any) -> tuple[Any, ...]:
    if isinstance(handle, Patch):
        return ("patch", handle.get_facecolor(), handle.get_edgecolor(), handle.get_hatch())
    kind = (handle.get_marker(), handle.get_markersize(), handle.get_markerfacecolor())
    return ("line", to_hex(handle.get_color()), handle.get_linestyle(), handle.get_linewidth(), *kind)


def ambiguous(figure: Figure) -> Iterator[str]:
    """Two entries of a legend that look alike, colours that no entry has, and lines that look alike without one entry
    that says how many they are."""
    handles = [handle for each in figure.legends for handle in each.legend_handles]
    words = entries(figure)
    if len(set(words)) < len(words):
        yield f"the same entry twice: {words}"
    marks = [look(handle) for handle, text in zip(handles, words, strict=True) if not is_key(text)]
    if len(set(marks)) < len(marks):
        yield f"entries look alike: {words}"
    known = {to_hex(colour) for handle in handles for colour in colours_of(handle)}
    for axes in shown(figure):
        lines = [
            line for line in axes.lines if line.get_linestyle() != "None" and len(np.asarray(line.get_xdata())) > 2
        ]
        drawn = {to_hex(line.get_color()) for line in lines} - {style.BLACK, style.GREY}
        if len(drawn) > 1 and not drawn <= known and labels.BETWEEN not in words:
            yield f"colours without an entry: {drawn - known}"
        alike = len(lines) - len({(to_hex(line.get_color()), line.get_linestyle()) for line in lines})
        if alike and not any(re.search(r"\(?\d+ (flows|stations|shorter queues)", text) for text in words):
            yield f"{alike} lines look like another"


def is_key(text: str) -> bool:
    """Whether an entry has no mark: for a letter, a text in a cell, the figure, or what is not in it."""
    return bool(re.match(r"[A-Z]\d?: |In a cell: |Repetition |Not drawn: ", text)) or text == labels.BETWEEN


def colours_of(handle: Any) -> list[Any]:
    return [handle.get_facecolor(), handle.get_edgecolor()] if isinstance(handle, Patch) else [handle.get_color()]


def unexplained(figure: Figure) -> Iterator[str]:
    """Kinds of marks of which neither the legend nor a label speaks."""
    said = " ".join(entries(figure))
    marks = {
        "Ellipse": any(axes.findobj(Ellipse) for axes in shown(figure)),
        "interval|percentile": any(
            isinstance(each, PolyCollection) and not isinstance(each, PathCollection) and len(each.get_paths())
            for axes in shown(figure) for each in axes.collections
        ),
        "interval": any(
            isinstance(each, ErrorbarContainer) and (each.has_xerr or each.has_yerr)
            for axes in shown(figure) for each in axes.containers
        ),
        "Flow": any(isinstance(each, PathCollection) for axes in shown(figure) for each in axes.collections),
        "In a cell": any("\n" in text.get_text() for axes in shown(figure) for text in axes.texts),
    }  # fmt: skip
    yield from (f"unexplained: {words}" for words, there in marks.items() if there and not re.search(words, said))


def impossible(table: pd.DataFrame) -> Iterator[str]:
    """Intervals beyond what is possible: all quantities that are drawn with one are at least 0; shares at most 1."""
    if "low" not in table or "panel" not in table:
        return
    if (table["low"] < 0).any():
        yield "an interval below 0"
    shares = table[table["panel"].astype(str).str.contains("hare|Jain")]
    if (shares["high"] > 1 + 1e-9).any():
        yield "a share above 1"
    goodput = table[table["panel"].astype(str).str.startswith("Goodput")]
    middle = goodput["mean"] if "mean" in goodput else goodput.get("value", pd.Series(dtype=float))
    if (goodput["high"] > np.maximum(middle, 1000 if "tsq" in table else 200) + 1e-9).any():
        yield "a goodput beyond the links"


@cache
def two_runs(folder: Path) -> Results:
    text = (
        "links: [{ends: [a, b], rate: 1gbit, delay: 20ms}]\ntraffic: [{tcp: a -> b, jitter: 900ms}]\n"
        "duration: 2s\nrepeat: 2\n"
    )
    (folder / "x.yaml").write_text(text)
    in_process("run", folder / "x.yaml", "--out", folder / "out")
    return open_results(folder / "out")


@pytest.mark.parametrize("name", ["band", "cdf", "bar"])
def test_no_interval_of_a_goodput_reaches_beyond_the_link(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    results = two_runs(tmp_path_factory.getbasetemp())
    assert capacity.most_mbps(results.runs) == 1000
    table = PLOTS[name].table(results, Choice(metric="goodput"))
    assert table["high"].max() <= 1000
    assert table["low"].min() >= 0


def bars(values: list[float], **head: Any) -> pd.DataFrame:
    rows = [
        {"cc": f"c{place}", "panel": "MOS", "unit": "", "n": 3, "mean": value, "low": value * 0.9, "high": value * 1.1}
        for place, value in enumerate(values)
    ]
    return pd.DataFrame(rows).assign(**head)


@pytest.mark.parametrize("span", [10**0.5, 10, 1e2, 1e3, 1e6])
@pytest.mark.parametrize("start", [1e-4, 0.42, 4.2, 1e6])
def test_logarithmic_axes_have_numbers_where_the_data_is(start: float, span: float) -> None:
    figure = PLOTS["bar"].draw(bars([start, start * span]), Choice(y_scale="log"))
    Frame(y_scale="log").apply(figure)
    figure.draw_without_rendering()
    assert figure.axes[0].get_yscale() == "log"
    assert list(few_numbers(figure)) == []
    assert list(overlapping(figure)) == []


@pytest.mark.parametrize("value", [1e-4, 1e6, 123_456_789.0])
def test_small_and_large_values_have_plain_numbers_and_no_empty_unit(value: float) -> None:
    for plot in ("bar", "heatmap"):
        table = pd.concat([bars([value, 1.5 * value], buffer=buffer) for buffer in ("10 packets", "20 packets")])
        figure = PLOTS[plot].draw(table)
        figure.draw_without_rendering()
        assert [*few_numbers(figure), *overlapping(figure)] == []
        assert not any("()" in text for text in texts(figure))


def test_more_quantities_than_colours_are_shades_and_other_values_differ_in_more_than_the_colour() -> None:
    shades = style.colours([f"{number}ms" for number in range(1, 41)])
    assert len(set(shades.values())) == 40
    names = style.colours([f"host{number}" for number in range(1, 13)])
    assert sorted(style.repeats(names).values())[-4:] == [1, 1, 1, 1]


def test_more_curves_than_looks_are_refused_with_a_remedy() -> None:
    parts = [
        pd.DataFrame({
            "host": f"host{number}", "panel": "TCP RTT", "unit": "ms", "n": 1, "share": [0.0, 0.5, 1.0],
            "value": [1.0, 2.0, 3.0], "low": np.nan, "high": np.nan,
        })
        for number in range(40)
    ]  # fmt: skip
    with pytest.raises(NotDrawable, match="--where host=VALUE"):
        PLOTS["cdf"].draw(pd.concat(parts))


def test_stations_far_away_do_not_look_like_near_ones(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENTS["cell"])
    in_process("run", tmp_path / "x.yaml", "--out", tmp_path / "out")
    found = open_results(tmp_path / "out").select(tsq="off")
    table = PLOTS["cwnd"].table(found)
    assert set(table[kinds.COLUMN]) == {"down, MCS 7 (10 flows)", "down, MCS 0 (2 flows)"}
    (axes,) = PLOTS["cwnd"].draw(table).axes
    colours = [to_hex(line.get_color()) for line in axes.lines]
    assert len(set(colours)) == 2
    assert set(entries(PLOTS["air"].draw(PLOTS["air"].table(found)))) >= {"MCS 7 (10 stations)"}
    airtime = PLOTS["airtime"].draw(PLOTS["airtime"].table(found)).axes[0]
    assert [" ".join(text.get_text().split()) for text in airtime.get_xticklabels()][-1] == "s12, MCS 0"


@pytest.mark.parametrize(
    ("tops", "shown"),
    [
        ([200.0, *(2 + number / 100 for number in range(65))], ["q0", "And 65 shorter queues, up to 2.64 packets"]),
        ([200.0, *[190.0] * 20], ["q0", "And 20 shorter queues, up to 190 packets"]),
        ([5.0] * 12, ["12 queues, up to 5 packets"]),
    ],
)
def test_of_many_queues_the_long_ones_are_named_and_the_rest_is_summed_up(tops: list[float], shown: list[str]) -> None:
    longest = {f"q{place}": top for place, top in enumerate(tops)}
    parts = [
        pd.DataFrame({
            "device": device, "panel": "Queue", "unit": "packets", "t": [0.0, 1.0], "value": [0.0, top],
            "measured": True,
        })
        for device, top in longest.items()
    ]  # fmt: skip
    figure = PLOTS["queue"].draw(pd.concat(parts, ignore_index=True))
    assert entries(figure) == shown


def test_medians_of_completion_times_lie_above_all_points() -> None:
    rows = [
        {"cc": cc, "repetition": 1, "series": f"{cc}{size}", "x": float(size), "y": float(size) / 10}
        for cc in ("cubic", "bbr") for size in (10**3, 10**4, 10**5)
    ]  # fmt: skip
    (axes,) = PLOTS["fct"].draw(pd.DataFrame(rows)).axes
    (cloud,) = axes.collections
    assert all(line.get_zorder() > cloud.get_zorder() and line.get_path_effects() for line in axes.lines)
    colours = [to_hex(colour) for colour in np.asarray(cloud.get_facecolor())]
    assert colours not in (sorted(colours), sorted(colours, reverse=True))


def test_differences_as_small_as_their_intervals_have_similar_shades_in_a_heat_map() -> None:
    def spread(half: float) -> float:
        rows = [
            {"cc": cc, "tsq": tsq, "panel": "TCP RTT", "unit": "ms", "n": 5, "mean": mean, "low": mean - half,
             "high": mean + half}
            for (cc, tsq), mean in zip(product(("cubic", "bbr"), ("1ms", "off")), (113, 119, 116, 114), strict=True)
        ]  # fmt: skip
        image = PLOTS["heatmap"].draw(pd.DataFrame(rows)).axes[0].images[0]
        return float(np.ptp(image.norm(np.asarray(image.get_array()))))

    assert spread(0.1) == pytest.approx(1)
    assert spread(10) < 0.31


@pytest.mark.parametrize("plot", ["bar", "box"])
@pytest.mark.parametrize(("controls", "markers"), [(["cubic"], set()), (["cubic", "bbr"], {"o", "D"})])
def test_bars_and_boxes_of_one_colour_have_no_marker(plot: str, controls: list[str], markers: set[str]) -> None:
    numbers = {"mean": 2.0, "low": 1.0, "high": 3.0} | {f"p{share}": float(share) for share in (5, 25, 50, 75, 95)}
    head = {"panel": "TCP RTT", "unit": "ms", "n": 5}
    rows = [{"qdisc": qdisc, "cc": cc, **head, **numbers} for qdisc in ("pfifo", "pie") for cc in controls]
    drawn = PLOTS[plot].draw(pd.DataFrame(rows)).axes[0].lines
    assert {line.get_marker() for line in drawn if is_points(line)} & set("oDs^") == markers

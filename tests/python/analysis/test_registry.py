"""A metric is one row: all code that lists metrics reads the registry."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fake_backend import FakeBackend, Nobody, grid
from tailback.analysis import configurations, registry, summarise
from tailback.analysis.bounds import WrongBound, bounds, quantity
from tailback.analysis.catalogue import as_markdown
from tailback.analysis.differences import METRICS as COMPARED
from tailback.analysis.differences import SummaryPair, paired_metrics
from tailback.analysis.measured import Measure, Measured
from tailback.analysis.metric import Form, Heading, Metric, Number
from tailback.analysis.metrics import percentiles
from tailback.analysis.tolerances import FIDELITY, NONE, judged, tolerance
from tailback.analysis.window import Window
from tailback.cli.catalogue import explained
from tailback.cli.listings import listed
from tailback.plots import PLOTS, Choice
from tailback.results import claim, open_results
from tailback.scenario.repeat import QUANTITIES
from tailback.sweep import Sweep, run_all

SECOND = 1_000_000_000
MEASURE = Measure(Window(0, 10 * SECOND), SECOND, ("up",), (), {"up": "up"})


def toy_samples(run: Measured) -> dict[str, float] | None:
    """The maximum and minimum of an invented metric in the window, in ms."""
    table = run.tables.get("toys")
    if table is None:
        return None
    sizes = table.numbers("toy_ms")
    return {"largest": float(sizes.max()), "p50": float(np.median(sizes))}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Metric]:
    """A metric with its own table, added as one row."""
    row = Metric(
        "toy size", "toy_ms", "ms", ("toys",), toy_samples, "[jain1984]", toy_samples,
        (Number("largest toy", "toy_ms.largest", None, Heading(99), "permutation", ("toy",), "Largest toy"),),
        word="toy", tolerance="10% or 1ms", sampled=("toys",),
    )  # fmt: skip
    monkeypatch.setitem(registry.METRICS, row.name, row)
    yield row


@pytest.mark.parametrize(("form", "value"), [("by name", 3), ("number", {"p50": 1.0}), ("names", {"a": "b"})])
def test_a_row_whose_function_gives_another_form_is_named(
    form: Form, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Metric("toy", "toy", "", (), lambda _: value, "this program", lambda _: value, form=form)
    monkeypatch.setitem(registry.METRICS, row.name, row)
    with pytest.raises(TypeError, match=r"the metric `toy` gives .*, but the form of its row is .*\n  hint: "):
        summarise({}, {}, MEASURE)


@pytest.mark.usefixtures("toy")
def test_a_new_row_is_in_the_summary_the_table_the_docs_bounds_and_comparisons() -> None:
    summary = summarise({"toys": pd.DataFrame({"toy_ms": [3.0, 1.0, 2.0]})}, {}, MEASURE)
    assert summary == {"toy_ms": {"largest": 3.0, "p50": 2.0}}
    assert configurations([({}, summary)])["largest toy"].tolist() == [3.0]
    assert registry.headline()[-1].title == "largest toy"

    assert "## Toy size\n\n`toy_ms` in `summary.json` · unit: ms · from: `toys`" in as_markdown()
    assert "an invented metric in the window, in ms.\n\nSource: [jain1984]" in as_markdown()
    assert any(name == "toy_ms" and about.startswith("toy size, ms") for name, about in listed("metric"))
    assert "invented" in explained("toy_ms")[0].text

    single, sampled, path = bounds("toy < 4ms and toys p50 < 2500us and toy_ms.largest < 3ms")
    assert [str(single), str(sampled), str(path)] == [
        "largest toy < 4 ms", "toy size p50 < 2.5 ms", "largest toy < 3 ms",
    ]  # fmt: skip
    values = [each.column.read(summary) for each in (single, sampled, path)]
    assert values == [3.0, 2.0, 3.0]

    assert COMPARED["toy_ms.largest"].title == "largest toy"
    assert tolerance("toy", "5% or 20us").absolute == pytest.approx(0.02)
    table = judged(paired_metrics([SummaryPair(0, summary, {"toy_ms": {"largest": 9.0}})]), FIDELITY)
    assert table[["metric", "unit", "outcome"]].to_numpy().tolist() == [["toy_ms.largest", "ms", "undecided"]]
    assert FIDELITY["toy"].words == "10% or 1ms"
    assert NONE["toy"].words == "off"
    assert registry.by_word()["toy"].numbers[0].read(summary) == 3.0


def test_a_new_row_is_on_the_axes_of_figures(toy: Metric, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    with claim(folder, grid(repetitions=2)) as store:
        run_all(Sweep(store, FakeBackend(), 1), Nobody())
    found = open_results(folder)
    for run in found.runs:
        assert isinstance(run.summary, dict)
        run.summary[str(toy.key)] = {"largest": 3.0}
    table = PLOTS["bar"].data(found, Choice(metric="toy_ms.largest"))
    assert table["panel"].unique().tolist() == ["Largest toy"]
    assert table["unit"].unique().tolist() == ["ms"]


def test_rows_have_keys_words_and_numbers_of_their_own() -> None:
    rows = list(registry.METRICS.values())
    for taken in (
        [row.key for row in rows if row.key],
        [row.word for row in rows if row.word],
        [number.key for _, number in registry.numbers()],
        [name for row in rows for name in (*row.sampled, *(name for number in row.numbers for name in number.bounds))],
        [number.heading.place for _, number in registry.numbers() if number.heading],
    ):
        assert len(taken) == len(set(taken))
    for metric, number in registry.numbers():
        assert number.key.split(".")[0] == metric.key
        assert number.test is None or metric.word is not None, number.title
    assert all((row.key is None) == (row.value is None) for row in rows)


def test_every_quantity_of_repeat_until_is_in_the_registry() -> None:
    assert all(registry.by_word()[name].numbers for name in QUANTITIES)


def test_the_columns_that_users_know_are_there_in_their_order() -> None:
    known = [
        ("goodput", "Mbit/s"), ("ping p50", "ms"), ("ping p90", "ms"), ("ping p99", "ms"),
        ("TCP RTT p50", "ms"), ("TCP RTT p90", "ms"), ("TCP RTT p99", "ms"), ("cwnd p50", "segments"),
        ("drops", ""), ("marks", ""), ("retrans", ""), ("retrans rate", "%"), ("Jain", ""), ("MOS", ""),
        ("unfinished", ""), ("request p50", "ms"), ("request p95", "ms"), ("request p99", "ms"),
        ("completion p50", "s"), ("completion p95", "s"), ("completion p99", "s"), ("RPM", ""), ("RPM idle", ""),
        ("page load p50", "s"), ("page load p95", "s"), ("page load p99", "s"), ("byte index p50", "s"),
        ("unloaded", ""), ("video bitrate", "Mbit/s"), ("stalled", "s"), ("startup", "s"), ("switches", ""),
        ("QoE", ""), ("UDP loss", ""), ("UDP delay p50", "ms"), ("UDP delay p95", "ms"), ("UDP delay p99", "ms"),
        ("held by send buffer", "%"), ("held by receive window", "%"), ("held by small queue", "%"),
        ("held by application", "%"),
    ]  # fmt: skip
    shown = [(column.title, column.unit) for column in registry.headline()]
    assert [column for column in shown if column in known] == known


def test_every_metric_with_one_number_is_a_quantity_and_the_others_say_what_to_write() -> None:
    refused = {}
    for row in registry.METRICS.values():
        try:
            found = quantity(row.name)
        except WrongBound as error:
            refused[row.name] = str(error)
        else:
            # The numbers of a video have units of their own.
            assert found.unit == row.unit or row.name == "video"
            assert quantity(str(row.key)).key == found.key
    assert set(refused) == {row.name for row in registry.METRICS.values() if not row.numbers and not row.sampled}
    assert {"airtime share", "ping by name", "goodput over time"} <= set(refused)
    assert "hint: write the path of one in `summary.json`: airtime_share.NAME" in refused["airtime share"]
    assert "hint: draw it with `tailback plot -p timeseries`" in refused["goodput over time"]


def test_a_metric_of_each_flow_or_device_is_that_of_the_worst() -> None:
    summary = {
        "udp_loss": {"a": 0.1, "b": 0.3}, "utilisation": {"x": 0.2, "y": 0.9}, "cost": {"wall_s": 2.0},
        "sojourn_ms": {"x": {"p50": 1, "p99.9": 4}, "y": {"p50": 2, "p99.9": 3}}, "udp_delay_ms": {"a": {"p95": 7}},
    }  # fmt: skip
    names = ("UDP loss", "utilisation", "sojourn", "sojourn p99.9", "UDP delay p95", "cost")
    assert [quantity(name).read(summary) for name in names] == [0.3, 0.9, 2, 4, 7, 2.0]
    assert quantity("sojourn_ms.x.p99.9").read(summary) == 4


def test_the_999th_of_a_thousand_is_a_percentile_wherever_the_99th_is() -> None:
    assert percentiles(np.arange(1001.0))["p99.9"] == 999.0  # type: ignore[index]
    (bound,) = bounds("ping p99.9 < 30ms")
    assert bound.column.read({"ping_ms": {"p99.9": 31.0}}) == 31.0
    assert quantity("ping_ms.p99.9").title == "ping p99.9"
    assert explained("ping p99.9")


def test_a_table_has_marks_if_any_run_has_and_else_no_column() -> None:
    def titles(*marks: int) -> set[str]:
        return {column.title for column in registry.headline_of({"marks": each} for each in marks)}

    assert "marks" in titles(0, 3)
    assert "marks" not in titles(0, 0)
    assert "drops" in titles(0, 0)


def test_a_table_has_no_round_trips_without_load_where_there_is_no_load() -> None:
    """64 servers that answer at once are not idle."""
    of_requests = {"goodput_mbps": {"total": 34.0}, "rpm": {"idle": 43875.0}}
    titles = [column.title for column in registry.headline_of([of_requests])]
    assert "RPM idle" not in titles
    assert "RPM idle" in [column.title for column in registry.headline_of([{"rpm": {"idle": 4000.0, "total": 900.0}}])]

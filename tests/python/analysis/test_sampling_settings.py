"""How often something is sampled changes no reported number, except where its definition says how far.

The tests take every metric from the registry, so that a new one is covered when its row is added.
"""

import functools
import math
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from sampled_experiments import EXPERIMENTS, finished
from tailback.analysis import Measure, Window, summarise
from tailback.analysis.metric import Metric
from tailback.analysis.metrics import PERCENTILES
from tailback.analysis.registry import METRICS
from tailback.analysis.table import Columns
from tailback.results.shapes import is_summary

DENSE = "interval: 20ms"
COARSER = {"interval: 100ms": 0.1, "interval: 1s": 1.0}
CAPTURED: Mapping[str, Columns] = {
    "passive_rtt": {"t": [1.0], "rtt_ms": [20.0]}, "one_way_delay": {"t": [1.0], "owd_ms": [10.0]},
}  # fmt: skip
"""Tables of captures, which know no interval."""

EMPTY = Measure(Window(0, 2_000_000_000), 100_000_000, (), (), {})

AT_AN_EDGE = 1e-3
"""What happens at the very instant at which a sample is taken is in it or not."""

LASTS_S = {"wired": 25.0, "responsiveness": 15.0, "cell": 10.0}
"""Length of the measurement windows."""

CUT = {"wired": "[5.345s, 28.9s]", "responsiveness": "[10.345s, 18.9s]", "cell": "[2.345s, 11.9s]"}
"""Windows whose edges lie between two samples."""

BRIEF = {"short", "page", "request", "probe"}
"""Flows that are shorter than an interval: what one of them read on which side of an edge is not known."""

Path = tuple[str, ...]


@functools.cache
def summary(experiment: str, measure: str) -> Mapping[str, Any]:
    """The summary of one run of an experiment with these keys of `measure`."""
    return finished(EXPERIMENTS[experiment].format(measure=measure)).summary


def numbers(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each number or word of the value of a metric, with its path."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from numbers(part, (*path, key))
    else:
        yield path, value if isinstance(value, int | float) else str(value)


def assert_same(value: Any, expected: Any, name: str) -> None:
    """The values of a metric agree, their words exactly."""
    found, wanted = (dict(numbers(each)) for each in (value, expected))
    words = {path: word for path, word in wanted.items() if isinstance(word, str)}
    assert {path: found.pop(path, None) for path in words} == words, name
    rest = {path: number for path, number in wanted.items() if path not in words}
    assert found == pytest.approx(rest, rel=AT_AN_EDGE, abs=AT_AN_EDGE), name


def distributions(value: Any) -> Iterator[Mapping[str, float]]:
    """Each of the statistics of samples in the value of a metric."""
    if isinstance(value, Mapping):
        if "n" in value:
            yield value
        else:
            for part in value.values():
                yield from distributions(part)


def metrics(*, sampling: str) -> list[Metric]:
    """The metrics that depend on the interval in this way."""
    return [row for row in METRICS.values() if row.key is not None and row.sampling == sampling]


def values_of(row: Metric) -> list[Any]:
    """The values of a metric in the summaries of all experiments, and of a capture."""
    found = [summary(name, f"{DENSE}, tcp_info: ack") for name in EXPERIMENTS]
    key = row.key or row.name
    return [each[key] for each in (*found, summarise(CAPTURED, {}, EMPTY)) if key in each]


def wrongly_formed(rows: Collection[Metric]) -> set[str]:
    """The metrics that no experiment has, or with a value for which a reader takes a folder to be damaged."""
    keyed = [row for row in rows if row.key is not None]
    values = {row.name: (row.key or row.name, values_of(row)) for row in keyed}
    return {name for name, (key, each) in values.items() if not each or not all(is_summary({key: one}) for one in each)}


def test_every_metric_has_values_of_the_form_that_readers_of_folders_take() -> None:
    assert wrongly_formed(METRICS.values()) == set()


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_summary_is_one_for_readers_of_folders(experiment: str) -> None:
    assert is_summary(summary(experiment, f"{DENSE}, tcp_info: ack"))


@pytest.mark.parametrize(
    "value", [1.5, [1.0], "word", None, {"a": "word"}, {"a": {"b": {"c": 1.0}}}, {"a": {"b": 1.0}, "c": 2.0}]
)
def test_a_metric_of_another_form_that_is_not_listed_is_found(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # `None` is the value of a metric that none of the experiments has.
    row = Metric("toy", "toy", "", (), lambda: value, "this program", lambda _: None)
    monkeypatch.setitem(METRICS, row.name, row)
    with_toy = {name: {**summary(name, f"{DENSE}, tcp_info: ack"), "toy": value} for name in EXPERIMENTS}
    monkeypatch.setattr(sys.modules[__name__], "summary", lambda name, _: with_toy[name] if value is not None else {})
    assert wrongly_formed([row]) == {"toy"}


@pytest.mark.parametrize("value", [{"a": 1.0}, {"p50": 1.0, "n": 3}])
def test_numbers_by_name_need_no_row(value: Any) -> None:
    assert is_summary({"toy": value})


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("coarser", COARSER)
def test_the_interval_changes_no_metric_that_is_not_sampled_in_time(experiment: str, coarser: str) -> None:
    for row in metrics(sampling="none"):
        dense, coarse = (summary(experiment, each).get(str(row.key), {}) for each in (DENSE, coarser))
        assert_same(coarse, dense, row.name)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("coarser", COARSER)
def test_what_is_sampled_at_instants_lies_within_the_bound_of_its_definition(experiment: str, coarser: str) -> None:
    dense, coarse = (summary(experiment, each) for each in (DENSE, coarser))
    instants = LASTS_S[experiment] / COARSER[coarser]
    for row in metrics(sampling="instants"):
        of_dense, of_coarse = (list(distributions(each.get(str(row.key), {}))) for each in (dense, coarse))
        for one, other in zip(of_dense, of_coarse, strict=False):
            # Of several flows at the same instants, there are not more samples in time.
            assert_within(one, other, 1.36 / math.sqrt(min(other["n"], instants)), row.name)
        if not of_dense:
            before, after = (dict(numbers(each.get(str(row.key), {}))) for each in (dense, coarse))
            assert after == pytest.approx(before, rel=1.36 / math.sqrt(instants)), row.name


def assert_within(dense: Mapping[str, float], coarse: Mapping[str, float], off: float, name: str) -> None:
    shares = np.array([0.0, *PERCENTILES, 100.0])
    values = np.array([dense["min"], *(dense[f"p{share}"] for share in PERCENTILES), dense["max"]])
    for share in PERCENTILES:
        low = values[max(0, int(np.searchsorted(shares, share - 100 * off, side="right")) - 1)]
        high = values[min(len(values) - 1, int(np.searchsorted(shares, share + 100 * off)))]
        assert low - AT_AN_EDGE <= coarse[f"p{share}"] <= high + AT_AN_EDGE, f"{name} p{share}"
    assert abs(coarse["mean"] - dense["mean"]) <= off * (dense["max"] - dense["min"]) + AT_AN_EDGE, name


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("coarser", ["interval: 37ms", "interval: 700ms", "interval: 1s"])
def test_a_window_whose_edges_lie_between_two_samples_has_the_same_numbers(experiment: str, coarser: str) -> None:
    dense, coarse = (summary(experiment, f"{each}, window: {CUT[experiment]}") for each in (DENSE, coarser))
    for row in metrics(sampling="none"):
        found, wanted = (dict(numbers(each.get(str(row.key), {}))) for each in (coarse, dense))
        known = {path for path in found.keys() & wanted.keys() if not BRIEF & {part.partition(".")[0] for part in path}}
        off = [path for path in known if not _is_near(found[path], wanted[path], row)]
        assert {path: (found[path], wanted[path]) for path in off} == {}, row.name


def _is_near(value: Any, expected: Any, row: Metric) -> bool:
    """Whether two values differ by no more than what happens in two of some hundred intervals; counts are whole."""
    if isinstance(expected, str):
        return bool(value == expected)
    least = 2 if isinstance(expected, int) else 1.0 if row.unit == "%" else 0.006
    return bool(value == pytest.approx(expected, rel=0.01, abs=least))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("interval", ["interval: 100ms", "interval: 1s"])
def test_samples_at_acks_change_nothing_and_have_metrics_of_their_own(experiment: str, interval: str) -> None:
    periodic, acks = (summary(experiment, each) for each in (interval, f"{interval}, tcp_info: ack"))
    assert {key for key in acks if key not in periodic} == {"tcp_rtt_by_ack_ms", "cwnd_by_ack_segments"}
    for row in METRICS.values():
        if row.key in periodic and row.sampling != "process":
            assert_same(acks[str(row.key)], periodic[str(row.key)], row.name)


def test_samples_at_acks_weigh_by_packets() -> None:
    found = summary("cell", f"{DENSE}, tcp_info: ack")
    assert found["tcp_rtt_by_ack_ms"]["n"] > 4 * found["tcp_rtt_ms"]["n"]
    assert found["tcp_rtt_by_ack_ms"]["mean"] != pytest.approx(found["tcp_rtt_ms"]["mean"], rel=0.1)


def test_every_metric_made_from_intervals_is_known_by_name() -> None:
    # A tail of these is one of intervals. Nothing is added here: what is counted per packet has no such limit.
    assert {row.name for row in metrics(sampling="intervals")} == {
        "convergence time", "steady from", "warm-up bias", "steadiness",
        "means of thirds of the window", "drift bias", "steady not before",
    }  # fmt: skip

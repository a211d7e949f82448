"""Which numbers the findings judge: those that a user would call the result of a run.

Of a metric with many samples, the median and the tails p90, p95 and p99, each where every compared run has enough
samples for it (`analysis.tails`); of the others, the number in tables. Of several devices, flows or directions, the
worst counts; pings and directions of goodput are judged one by one.

`allowed` is what a user would not call a change. It is the tolerance that comparisons with a kernel use where there is
one, except for a network whose round-trip time is less than half a millisecond: there, 0.5 ms would hide everything,
and the smallest round-trip time of the experiment takes its place.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tailback.analysis.digits import significant
from tailback.analysis.metric import Metric, Read, Summary, at, steps
from tailback.analysis.registry import METRICS
from tailback.analysis.tails import enough
from tailback.analysis.tolerance import Tolerance

Samples = Callable[[Summary], list[Mapping[str, float]]]
"""Reads the percentiles of a metric from a summary: none, one, or several of which the worst counts."""

Kind = Literal["delay", "rate", "loss", "cause"]
"""What a number is about: latency and what users see of it; goodput and how it is shared; what got lost; and what tells
how that came about, which is no result by itself.
"""

Mentioned = Literal["always", "where it changes"]

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

WORST_FLOW = "goodput of the worst flow"

PLURAL = frozenset({"retransmits", "drops", "marks", "frames not played", "unfinished flows", "unloaded pages"})
"""Names that take a verb in the plural."""

PERCENT = "%"

LEAST_SHARE = 0.03
"""A direction with less of the goodput than this, the tolerance of goodput, carries none to speak of."""

MOST_PINGS = 6
"""More pings with names of their own than these are judged together."""


class Judged(Struct, frozen=True):
    """A number of the findings."""

    family: str
    """The name of its metric in a sentence: `ping`."""
    statistic: str
    """`p99`; empty if the metric has one number."""
    unit: str
    read: Read
    """`None` if a run does not have the number, NaN if it has too few samples for it."""
    tolerance: Tolerance
    kind: Kind
    mentioned: Mentioned = "always"

    @property
    def subject(self) -> str:
        """Its name in a sentence: `ping p99`."""
        return f"{self.family} {self.statistic}".rstrip()


class _Row(Struct, frozen=True):
    """A metric of the registry whose numbers are judged."""

    metric: str
    label: str
    kind: Kind
    allowed: Tolerance
    mentioned: Mentioned = "always"
    number: str | None = None
    """The title of the number, if the metric has no samples."""


def _tolerance(words: str, share: float | None, absolute: float | None = None, over: float | None = None) -> Tolerance:
    return Tolerance(share=share, absolute=absolute, over=over, words=words)


HALF_MS = 0.5
DELAY = _tolerance("10 % or 0.5 ms", 0.1, HALF_MS)
APPLICATION = _tolerance("5 % or 0.5 ms", 0.05, 0.5)
APPLICATION_S = _tolerance("5 % or 0.5 ms", 0.05, 0.0005)
RATE = _tolerance("3 %", 0.03)
COUNT = _tolerance("25 % over 50", 0.25, over=50)
FEW = _tolerance("25 % over 10", 0.25, over=10)
SHARE = _tolerance("25 % or half a percentage point", 0.25, 0.005)
FAIR = _tolerance("0.05", None, 0.05)
"""Two flows have a Jain's index of 0.95 if one has 1.6 times the goodput of the other."""

WHERE: Mentioned = "where it changes"

ROWS = (
    _Row("page load time", "page load", "delay", APPLICATION_S),
    _Row("request latency", "request", "delay", APPLICATION),
    _Row("flow completion time", "completion", "delay", APPLICATION_S),
    _Row("slowdown", "slowdown", "delay", _tolerance("10 %", 0.1), WHERE),
    _Row("RPM", "RPM", "delay", _tolerance("10 %", 0.1), "always", "RPM"),
    _Row("RPM", "RPM idle", "delay", _tolerance("10 %", 0.1), WHERE, "RPM idle"),
    _Row("MOS", "MOS", "delay", RATE, "always", "MOS"),
    _Row("video", "QoE", "delay", _tolerance("3 % or 0.05", 0.03, 0.05), "always", "QoE"),
    _Row("video", "stalled", "delay", _tolerance("10 % or 0.5 s", 0.1, 0.5), WHERE, "stalled"),
    _Row("video", "startup", "delay", _tolerance("10 % or 0.1 s", 0.1, 0.1), WHERE, "startup"),
    _Row("segment fetch time", "fetch", "delay", APPLICATION, WHERE),
    _Row("media delay", "media delay", "delay", DELAY),
    _Row("UDP one-way delay", "UDP delay", "delay", DELAY),
    _Row("ping", "ping", "delay", DELAY),
    _Row("TCP RTT", "TCP RTT", "delay", DELAY),
    _Row("goodput", "goodput", "rate", RATE, "always", "goodput"),
    _Row("Jain's index", "Jain's index", "rate", FAIR, WHERE, "jain"),
    _Row("media loss", "media loss", "loss", SHARE, WHERE, "media loss"),
    _Row("frames not played", "frames not played", "loss", SHARE, WHERE, "frames not played"),
    _Row("UDP loss", "UDP loss", "loss", SHARE, WHERE, "UDP loss"),
    _Row("retransmission rate", "retransmission rate", "cause", SHARE, WHERE, "retransmission rate"),
    _Row("retransmits", "retransmits", "cause", COUNT, WHERE, "retransmits"),
    _Row("drops", "drops", "cause", COUNT, WHERE, "drops"),
    _Row("marks", "marks", "cause", COUNT, WHERE, "marks"),
    _Row("unfinished flows", "unfinished flows", "loss", FEW, WHERE, "unfinished"),
    _Row("unloaded pages", "unloaded pages", "loss", FEW, WHERE, "unloaded"),
)

APPLICATIONS = frozenset(
    row.label for row in ROWS if row.mentioned == "always" and METRICS[row.metric].rank == "outcome"
)
"""What a user of an application sees. Runs with one are about it: no sentence on them leaves all of it out."""

THE_SAME: Mapping[str, str] = {"media delay": "UDP one-way delay", "media loss": "UDP loss"}
"""Numbers of calls and games that are those of their datagrams, by the name that tables have for these."""


def relevant(metric: str) -> Tolerance:
    """What a user would not call a change of a metric of the registry, in its unit; 3 % of one that the findings do not
    judge.
    """
    allowed = next((row.allowed for row in ROWS if row.metric == metric), RATE)
    known = METRICS.get(metric)
    return _percent(allowed) if allowed is SHARE and known is not None and known.unit == PERCENT else allowed


def judged(summaries: Sequence[Summary]) -> list[Judged]:
    """The numbers that some of these runs have, what users of applications notice first. Where there are two
    directions, goodput and TCP RTT are those of each: their sum would say nothing about either. Where flows compete,
    the goodput of the worst of them is judged beside the sum.
    """
    base = _base_ms(summaries)
    found = [each for row in ROWS for each in _of_row(row, summaries)]
    return [_within(each, base) for each in found if _has(each, summaries)]


def _of_row(row: _Row, summaries: Sequence[Summary]) -> list[Judged]:
    if row.label == "ping":
        return _pings(row, summaries)
    if row.label == "TCP RTT" and _has_keys(("tcp_rtt_up_ms", "tcp_rtt_down_ms"), summaries):
        return [
            *_sampled(row, METRICS["TCP RTT up"], "TCP RTT up"),
            *_sampled(row, METRICS["TCP RTT down"], "TCP RTT down"),
        ]
    if row.label == "goodput":
        return _goodputs(row, summaries)
    other = THE_SAME.get(row.label)
    if other is not None and _tells_all(other, row, summaries):
        return []
    metric = METRICS.get(row.metric)
    return [] if metric is None else _of_metric(row, metric)


def _tells_all(other: str, row: _Row, summaries: Sequence[Summary]) -> bool:
    """Whether a metric has the flows of another in every run that has these."""
    key, own = (METRICS[name].key or "" for name in (other, row.metric))
    return all(_flows_of(own, summary) <= _flows_of(key, summary) for summary in summaries)


def _flows_of(key: str, summary: Summary) -> set[str]:
    return set(summary.get(key) or {})


def _of_metric(row: _Row, metric: Metric) -> list[Judged]:
    if row.number is None:
        return _sampled(row, metric, row.label)
    read = next((number.read for number in metric.numbers if number.title == row.number), None)
    if read is None:
        return []
    if metric.unit == PERCENT:
        return [Judged(row.label, "", PERCENT, read, _percent(row.allowed), row.kind, row.mentioned)]
    return [_single(row, row.label, _unit_of(row, metric), read)]


def _unit_of(row: _Row, metric: Metric) -> str:
    """Numbers of videos have units of their own; counts are said without one, shares in %."""
    if row.metric == "video":
        return "s" if row.number in ("stalled", "startup") else ""
    if row.allowed is SHARE:
        return PERCENT
    return "" if row.allowed in (COUNT, FEW) else metric.unit


def _single(row: _Row, label: str, unit: str, read: Read) -> Judged:
    if unit != PERCENT:
        return Judged(label, "", unit, read, row.allowed, row.kind, row.mentioned)

    def percent(summary: Summary) -> float | None:
        value = read(summary)
        return None if value is None else 100 * value

    return Judged(label, "", PERCENT, percent, _percent(row.allowed), row.kind, row.mentioned)


def _percent(allowed: Tolerance) -> Tolerance:
    return replace(allowed, absolute=None if allowed.absolute is None else 100 * allowed.absolute)


def _sampled(row: _Row, metric: Metric, label: str) -> list[Judged]:
    """The median and the tails of the samples of a metric."""
    samples = _of_one(str(metric.key)) if metric.of_each is None else _of_each(str(metric.key))
    return [
        Judged(label, name, metric.unit, _quantile(samples, name), row.allowed, row.kind, row.mentioned)
        for name in QUANTILES
    ]


def _pings(row: _Row, summaries: Sequence[Summary]) -> list[Judged]:
    """Each ping by its name, if there are several: their mixture says nothing about any of them."""
    names = list(dict.fromkeys(name for summary in summaries for name in summary.get("pings_ms", {})))
    if not 1 < len(names) <= MOST_PINGS:
        return _sampled(row, METRICS["ping"], "ping")

    def of(name: str) -> Samples:
        return lambda summary: [summary["pings_ms"][name]] if name in summary.get("pings_ms", {}) else []

    return [
        Judged(f"ping `{name}`", statistic, "ms", _quantile(of(name), statistic), row.allowed, row.kind, row.mentioned)
        for name in names
        for statistic in QUANTILES
    ]


def _goodputs(row: _Row, summaries: Sequence[Summary]) -> list[Judged]:
    """Of two directions, those that carry data: answers to posts are no result, their latency is."""
    both = any({"up", "down"} <= set(summary.get("goodput_mbps", {})) for summary in summaries)
    ways = [way for way in ("up", "down") if _carries(way, summaries)] if both else ["total"]
    sums = [_single(row, f"goodput {way}" if both else "goodput", "Mbit/s", at("goodput_mbps", way)) for way in ways]
    worst = Judged(WORST_FLOW, "", "Mbit/s", _worst_flow, row.allowed, row.kind, "where it changes")
    return [*sums, worst]


def _carries(way: str, summaries: Iterable[Summary]) -> bool:
    """Whether a direction has more of the goodput of any run than what is no change of it."""
    goodputs = (summary.get("goodput_mbps", {}) for summary in summaries)
    return any(each.get(way, 0.0) > LEAST_SHARE * each.get("total", 0.0) for each in goodputs)


def _worst_flow(summary: Summary) -> float | None:
    """Only where flows compete for all of the time: the goodput of flows with sizes is told by their completion."""
    flows = summary.get("goodput_mbps", {}).get("flows", {})
    if len(flows) < 2 or "jain" not in summary or "flow_completion_s" in summary:
        return None
    return float(min(flows.values()))


def _of_one(key: str) -> Samples:
    """The percentiles of a metric."""
    return lambda summary: [summary[key]] if summary.get(key) else []


def _of_each(key: str) -> Samples:
    """The percentiles of each device, flow or direction."""
    return lambda summary: [each for each in (summary.get(key) or {}).values() if each]


def _quantile(samples: Samples, name: str) -> Read:
    """The highest of this statistic; NaN if one has too few samples for a tail. The median of few samples is one of
    them or between two, and repetitions show how much it varies.
    """

    def read(summary: Summary) -> float | None:
        found = [each for each in samples(summary) if name in each]
        if not found:
            return None
        if name != "p50" and not all(enough(int(each["n"]), QUANTILES[name]) for each in found):
            return math.nan
        return max(each[name] for each in found)

    return read


def _has(number: Judged, summaries: Iterable[Summary]) -> bool:
    values = (number.read(summary) for summary in summaries)
    return any(value is not None and not math.isnan(value) for value in values)


def _has_keys(keys: Sequence[str], summaries: Iterable[Summary]) -> bool:
    return any(all(key in summary for key in keys) for summary in summaries)


def _base_ms(summaries: Sequence[Summary]) -> float:
    """The smallest round-trip time of the experiment; infinite if it measured none."""
    keys = ("ping_ms.min", "tcp_rtt_ms.min")
    found = (at(*steps(key))(summary) for key in keys for summary in summaries)
    return min((value for value in found if value), default=math.inf)


def _within(number: Judged, base_ms: float) -> Judged:
    """The number with a tolerance that does not exceed the network's round-trip time."""
    allowed = number.tolerance
    if allowed not in (DELAY, APPLICATION, APPLICATION_S) or base_ms >= HALF_MS:
        return number
    per_ms = 1e-3 if number.unit == "s" else 1.0
    words = re.sub(r"[\d.]+ ms", f"{significant(base_ms, 2)} ms", allowed.words)
    return replace(number, tolerance=replace(allowed, absolute=base_ms * per_ms, words=words))

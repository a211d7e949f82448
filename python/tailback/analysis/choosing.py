"""Which numbers the table of some runs has, in which order, and which of them the runs are about.

A run is about what a user of its applications sees (the MOS of a call, the tail of requests, the QoE of a video), and
about what the network gives them (goodput, ping, UDP delay and loss). Without such an application it is also about what
TCP makes of that (RTT, Jain's index). Of a metric with percentiles, the highest and the median say most. Windows and
counts of events explain these numbers.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from tailback.analysis.metric import Column, Metric, Summary
from tailback.analysis.quantities import quantity
from tailback.analysis.registry import METRICS, headline, headline_of, of_key

ALL = "all"
"""The word for every number that the runs have."""

RANKS = {"outcome": 0.0, "network": 1.0, "tcp": 2.0, "detail": 3.0}

FURTHER = 1.5
"""What the other numbers of a metric rank lower: the bitrate of a video above the RTT beside it, below the goodput."""

ABOUT = 1.0
"""The lowest rank of what runs are about."""

STATISTICS = ("p50", "p99")
"""Statistics that `all` has of metrics of which the registry names no number."""


class Chosen(Struct, frozen=True):
    """A column, and how much it matters."""

    column: Column
    rank: float
    """The lower, the more the runs are about it."""

    @property
    def kept(self) -> bool:
        """Whether every table has it, however narrow."""
        return self.rank <= ABOUT


def chosen(summaries: Iterable[Summary], words: str | None = None, beside: Sequence[Column] = ()) -> list[Chosen]:
    """The columns of a table of these runs, from the left: those of `words` ("ping p99, mos"; "all"); by default those
    of the headline, and of `beside`, that any run has.
    """
    runs = list(summaries)
    offered = named(words) if words is not None else [*headline_of(runs), *beside]
    if words is not None and not _is_all(words):
        return [Chosen(column, 0.0) for column in offered]
    found = [column for column in offered if any(column.read(run) is not None for run in runs)]
    return _ranked(found) if words is None else [Chosen(column, 0.0) for column in found]


def latency_of(summaries: Iterable[Summary]) -> Column | None:
    """The latency that these runs are about: of the metrics that are times of many samples, in the order in which
    tables choose, the first that any run has. It is p99 if every run has enough samples for it, else p95. A ping and
    the RTT of TCP are sampled as often as the user says, and have p99.
    """
    runs = list(summaries)
    timed = [metric for metric in METRICS.values() if _is_latency(metric)]
    for metric in sorted(timed, key=lambda each: RANKS[each.rank]):
        known = [run for run in runs if run.get(str(metric.key))]
        if known:
            titles = {number.key.rpartition(".")[2]: number for number in metric.numbers}
            told = all(titles[FARTHEST].read(run) is not None for run in known)
            return metric.statistic(FARTHEST if told or BEFORE not in titles else BEFORE)
    return None


FARTHEST, BEFORE = "p99", "p95"


def _is_latency(metric: Metric) -> bool:
    ends = {number.key.rpartition(".")[2] for number in metric.numbers}
    return metric.better == "low" and metric.unit in ("ms", "s") and bool(metric.sampled) and FARTHEST in ends


def named(words: str) -> list[Column]:
    """The numbers of a list of names, as the table after a run shows them; raises `WrongBound`."""
    if _is_all(words):
        return _every()
    shown = {column.key: column for column in headline()}
    found = [quantity(word) for word in _names(words)]
    return list({column.key: shown.get(column.key, column) for column in found}.values())


def _is_all(words: str) -> bool:
    return words.strip().lower() == ALL


def _names(words: str) -> list[str]:
    """The names between commas; of none, the text as it is, so that it is refused."""
    return [word for word in map(str.strip, words.split(",")) if word] or [words]


def _every() -> list[Column]:
    """Every number of the registry once; of samples without one, some statistics."""
    shown = {column.key: column for column in headline()}
    found: dict[str, Column] = dict(shown)
    for metric in METRICS.values():
        for number in metric.numbers:
            found.setdefault(number.key, metric.quantity(number))
        if metric.sampled and not metric.numbers:
            found |= {column.key: column for column in map(metric.statistic, STATISTICS)}
    return list(found.values())


def _ranked(columns: Sequence[Column]) -> list[Chosen]:
    metrics = [of_key(column.key) for column in columns]
    applications = any(metric is not None and metric.rank == "outcome" for metric in metrics)
    return [
        Chosen(column, _rank(metric, applications=applications) + _within(column, metric, columns))
        for column, metric in zip(columns, metrics, strict=True)
    ]


def _rank(metric: Metric | None, *, applications: bool) -> float:
    rank = "detail" if metric is None else metric.rank
    return RANKS["network" if rank == "tcp" and not applications else rank]


def _within(column: Column, metric: Metric | None, columns: Sequence[Column]) -> float:
    """What the number ranks lower than the most telling ones of its metric: the first and the last in the table, which
    are the median and the highest percentile, or the bitrate of a video and its QoE.
    """
    of_it = [each.key for each in columns if of_key(each.key) is metric]
    return 0.0 if metric is None or column.key in (of_it[0], of_it[-1]) else FURTHER

"""The names of numbers: the same in tables, plots, `--metric`, bounds and JSON.

A number is named by its title in tables (`TCP RTT p90`), by the label of its axis in figures (`Goodput`), by its metric
with a statistic if that has many samples (`ping p99`, by default the median), or by its path in `summary.json`
(`tcp_rtt_ms.p90`). Upper and lower case are the same, except in paths.
"""

from msgspec.structs import replace

from tailback import plain
from tailback.analysis.metric import Column, Metric, Number, at, steps
from tailback.analysis.metrics import PERCENTILES
from tailback.analysis.registry import METRICS, numbers, of_key, unit_of

STATISTICS = ("mean", "min", "max", *(f"p{percent}" for percent in PERCENTILES))


class WrongBound(Exception):
    """The text is not a bound, or not a quantity; the message gives the remedy."""


def quantity(words: str) -> Column:
    """The number of a summary with this name."""
    text = _folded(words)
    found = _sampled(text) or _single(text) or _path(words.strip())
    if found is None:
        row = metric(words)
        if row is not None:
            raise WrongBound(_no_number(words, row))
        known = ", ".join(names())
        hint = f"use one of {known}, with {', '.join(STATISTICS)} for samples; or a path in `summary.json`: ping_ms.p99"
        raise WrongBound(f"`{words}` is not a quantity\n  hint: {meant(text)}{hint}")
    return found


OTHERWISE = {"latency": "ping", "delay": "ping", "loss": "drops", "fairness": "jain", "retransmissions": "retransmits"}
"""Quantities by words that people have for them."""


def meant(words: str) -> str:
    """The beginning of a hint: the quantity that another word, alone or with a statistic, probably means."""
    text = _folded(words)
    word, gap, statistic = text.partition(" ")
    known = OTHERWISE.get(word)
    if known is not None:
        return f"did you mean `{known}{gap}{statistic}`? "
    stem, gap, statistic = text.rpartition(" ")
    if statistic not in STATISTICS:
        return plain.meant(text, names())
    near = plain.nearest(stem, [name for row in METRICS.values() for name in row.sampled])
    return "" if near is None else f"did you mean `{near}{gap}{statistic}`? "


def _no_number(words: str, row: Metric) -> str:
    """Why a metric is not a quantity, and what to write instead."""
    if row.key is None:
        return (
            f"`{words}` is a series and not a number of a run\n"
            f"  hint: draw it with `tailback plot -p timeseries`, or compute it with `tailback.{row.place}`"
        )
    return (
        f"`{words}` is several numbers of a run, one for each name\n"
        f"  hint: write the path of one in `summary.json`: {row.key}.NAME, for statistics {row.key}.NAME.p50"
    )


def metric(words: str) -> Metric | None:
    """The metric with this name, without a statistic; `None` if there is none."""
    text = _folded(words)
    for row in METRICS.values():
        single = (name for number in row.numbers for name in number.bounds)
        if text in {_folded(name) for name in (row.name, row.key, row.stem, row.word, *row.sampled, *single) if name}:
            return row
    return None


def names() -> list[str]:
    """One name of each quantity, for hints."""
    sampled = [name for row in METRICS.values() for name in row.sampled]
    return [*sampled, *(name for _, number in numbers() for name in number.bounds)]


def names_of(row: Metric) -> list[str]:
    """Names of the numbers of a metric in bounds, `--metric` and `--columns`; of samples, one statistic of many."""
    titles = [] if row.sampled else [number.title for number in row.numbers if not number.bounds]
    single = [name for number in row.numbers for name in number.bounds]
    return [*(f"{name} p50" for name in row.sampled[:1]), *titles, *single]


def _folded(words: str) -> str:
    return " ".join(words.lower().replace("’", "'").split())


def _sampled(text: str) -> Column | None:
    """`ping p99`, `ping`."""
    known = {name: row for row in METRICS.values() for name in (*row.sampled, _folded(row.name)) if row.sampled}
    name, statistic = text, "p50"
    if name not in known:
        name, _, statistic = text.rpartition(" ")
    if name not in known or statistic not in STATISTICS:
        return None
    return known[name].statistic(statistic)


def _single(text: str) -> Column | None:
    """`goodput up`, `Jain`, `retrans`, `Median ping`."""
    for row, number in numbers():
        heading = number.heading.title if number.heading else None
        called = (number.title, number.label, heading, number.key, *number.bounds)
        if text in {_folded(name) for name in called if name}:
            return _unguarded(row, number) if text == number.key else row.quantity(number)
    found = metric(text)
    if found is None:
        return None
    if found.numbers:
        return found.quantity(found.numbers[0])
    return found.statistic("p50") if found.sampled else None


def _unguarded(row: Metric, number: Number) -> Column:
    """The number by its path: a percentile is what stands there, even of few samples, as it is by its name."""
    found, statistic = row.quantity(number), number.key.rpartition(".")[2]
    return replace(found, read=row.statistic(statistic).read) if row.sampled and statistic in STATISTICS else found


def _path(words: str) -> Column | None:
    """`tcp_rtt_up_ms.p90`, `sojourn_ms.router.p50`."""
    keys = steps(words)
    if len(keys) == 1 and "_" not in words:
        return None
    row = of_key(words)
    if row is None:
        return Column(words, unit_of(words), at(*keys), key=words)
    if row.sampled and row.of_each is None and len(keys) == 2 and keys[1] in STATISTICS:
        return row.at(f"{row.name} {keys[1]}", words)
    return row.at(words, words)

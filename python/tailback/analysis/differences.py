"""Differences between two results, metric by metric, over paired repetitions.

For each pair of runs (same configuration, same repetition), d = candidate − reference. Reported are the mean of d and
its 95 % interval: percentiles of 9999 bootstrap means, expanded for a small number n of pairs. The percentiles are
taken at Φ(−√(n/(n−1)) · t) instead of 2.5 %, where t is the 97.5 % quantile of Student's t with n − 1 degrees of
freedom [hesterberg2015 §5.3]; without that, the interval of five pairs would cover the true mean in 82 of 100 cases. A
bootstrap mean never leaves the range of the samples, so the interval of fewer than five pairs covers the mean less
often than nominal: at most 1 − 2^(1−n), which is 50, 75, 87 % for two to four pairs. One pair gives no interval. In
tables an interval ends where the possible values of the metric end, seen from the mean of the reference: −100 %.

Effect = difference of the means in units of the pooled standard deviation over repetitions, √((s₁² + s₂²)/2)
[cohen1988 §2.2]; not a number if repetitions do not differ.

p = probability of a difference at least as large by chance alone, two-sided. Measures (goodput, RTT, cwnd) are tested
by permutation of the difference of means, over all permutations, or 9999 random ones if there are more [ernst2004].
Counts (drops, marks, retransmits) come in bursts, so that one repetition can dominate a mean; they are tested by ranks
with Mann and Whitney's U [mann1947], also by permutation, because ties are common. Repetitions are treated as
independent; the correlation from common seeds can only increase p. The smallest p of n against n repetitions is
2/(2n choose n): 0.33, 0.1, 0.029, 0.008 for two to five; with fewer than `fewest` repetitions it can never decide.

paired p = probability of a mean of d at least as far from 0 by chance, two-sided, by Student's paired test [law2015
§10.2.1]. It uses what the repetitions of both sides have in common (the seed, the machine), and can decide with few
pairs, but assumes that the differences are about normal; so it accompanies p and does not replace it. Counts have none.

q = p adjusted for the false discovery rate over all cells of the table [benjamini1995]: of all cells with q ≤ 0.05,
at most one in twenty is expected to be due to chance, however many configurations were compared.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict, replace

from tailback.analysis import resampling, student
from tailback.analysis.equivalence import interval_of_means
from tailback.analysis.metric import Column, Metric, Number, Read, Summary, Test
from tailback.analysis.own_numbers import of_programs
from tailback.analysis.quantities import WrongBound
from tailback.analysis.registry import View, headline_of, numbers, of_key
from tailback.analysis.rows import sides
from tailback.analysis.table import frame

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
SIGNIFICANT = 0.05
"""Level of significance of p."""

NAN = float("nan")

Values = npt.NDArray[np.float64]


class Compared(Struct, frozen=True):
    """A number of the registry that comparisons use."""

    metric: Metric
    number: Number

    @property
    def title(self) -> str:
        """The title of the number in tables."""
        return self.number.title

    @property
    def tolerance(self) -> str:
        """The name of its tolerance."""
        return self.metric.word or self.metric.name

    @property
    def read(self) -> Read:
        """Reads it from a summary."""
        return self.number.read


METRICS: Mapping[str, Compared] = View(
    lambda: {number.key: Compared(metric, number) for metric, number in numbers() if number.test is not None}
)
"""The numbers that comparisons use, by key, in the order of tables."""


RESULTS = ("outcome", "network")
"""The ranks of what runs are about (`choosing`)."""


def of_runs(summaries: Iterable[Summary]) -> dict[str, Compared]:
    """The numbers that comparisons use, by key, with the further results in the table of these runs: the delay of
    datagrams, the quality of a video, the goodput of each of two directions; and with what programs report themselves.
    """
    of_all = list(summaries)
    shown = {column.key for column in headline_of(of_all)}
    own = {number.key: Compared(metric, number) for metric, number in of_programs(of_all)}
    found = {
        number.key: METRICS.get(number.key) or _by_permutation(metric, number)
        for metric, number in numbers()
        if number.key in METRICS or (metric.rank in RESULTS and number.key in shown)
    }
    return found | own


def _by_permutation(metric: Metric, number: Number) -> Compared:
    return Compared(metric, replace(number, test="permutation"))


def of_columns(columns: Iterable[Column]) -> dict[str, Compared]:
    """These numbers for a comparison, by key. Those that comparisons leave out by default are tested by permutation."""
    return {column.key: METRICS.get(column.key) or _compared(column) for column in columns}


def _compared(column: Column) -> Compared:
    metric = of_key(column.key)
    if metric is None:
        raise WrongBound(f"`{column.title}` is not a number of a metric\n  hint: `tailback list metric` has the names")
    return Compared(metric, Number(column.title, column.key, column.read, test="permutation"))


class SummaryPair(Struct, frozen=True):
    """The summaries of one run on both sides."""

    configuration: int
    """Index of its configuration in the grid."""
    reference: Summary
    candidate: Summary


class Difference(Struct, frozen=True):
    """The difference in one metric of one configuration; unknown values are NaN."""

    pairs: int
    reference: float
    candidate: float
    difference: float
    low: float
    high: float
    relative: float
    """Difference divided by the reference."""
    least: float
    most: float
    """Ends of the 90 % interval of the difference of the means (`analysis.equivalence`), which verdicts use."""
    effect: float
    test: Test | None
    """The test that gave `p`; `None` if there was nothing to test."""
    p: float
    paired_p: float
    """p of the paired test; unknown for counts, and if all differences are equal."""


def fewest() -> int:
    """The number of repetitions from which p can be below the level of significance."""
    return next(n for n in itertools.count(2) if least_p(n) < SIGNIFICANT)


def least_p(repetitions: int) -> float:
    """The smallest p of the permutation test of so many repetitions on each side."""
    return 2 / math.comb(2 * repetitions, repetitions)


def paired_metrics(pairs: Iterable[SummaryPair], metrics: Mapping[str, Compared] = METRICS) -> "pd.DataFrame":
    """One row per pair of runs and metric: `configuration`, `metric`, `reference`, `candidate`.

    A metric that is missing on both sides has no row; one that is missing on one side is not a number there.
    """
    reads = [(key, metric.read) for key, metric in metrics.items()]
    rows = [
        (pair.configuration, key, read(pair.reference), read(pair.candidate)) for pair in pairs for key, read in reads
    ]
    columns = ["configuration", "metric", "reference", "candidate"]
    table = frame(rows, columns=columns).astype({"reference": np.float64, "candidate": np.float64})
    return table.dropna(subset=["reference", "candidate"], how="all").reset_index(drop=True)


def differences(paired: "pd.DataFrame", metrics: Mapping[str, Compared] = METRICS) -> "pd.DataFrame":
    """One row per configuration and metric of `paired_metrics`: `title`, `unit`, the fields of `Difference`, `q`."""
    groups = [_Group(place, key, metrics[key], *values) for (place, key), values in sides(paired).items()]
    p = _chances(groups)
    rows = [_row(group, p.get(place)) for place, group in enumerate(groups)]
    columns = ["configuration", "metric", "title", "unit", *Difference.__struct_fields__]
    table = frame(rows, columns=columns)
    return table.assign(q=_discovery_rates(table["p"].to_numpy(np.float64)))


class _Group(Struct, frozen=True):
    """The pairs of a metric of a configuration."""

    configuration: int
    metric: str
    compared: Compared
    reference: Values
    candidate: Values

    @property
    def test(self) -> Test:
        """The test of its differences."""
        return self.compared.number.test or "permutation"


def difference(reference: Values, candidate: Values, by: Test = "permutation", p: float | None = None) -> Difference:
    """The difference of paired values; pairs with an unknown value do not count. `p` is that of `chance`, if it is
    known.
    """
    theirs, ours = _known_pairs(reference, candidate)
    if not len(ours):
        return Difference(0, _mean(reference), _mean(candidate), NAN, NAN, NAN, NAN, NAN, NAN, NAN, None, NAN, NAN)
    mean, low, high = float(np.mean(ours - theirs)), *interval(ours - theirs)
    base = _mean(theirs)
    relative = mean / abs(base) if base else NAN
    if p is None:
        p = chance(theirs, ours, by)
    return Difference(
        len(ours),
        base,
        _mean(ours),
        mean,
        low,
        high,
        relative,
        *interval_of_means(theirs, ours),
        effect(theirs, ours),
        None if np.isnan(p) else by,
        p,
        paired_chance(ours - theirs) if by == "permutation" else NAN,
    )


def _known_pairs(reference: Values, candidate: Values) -> tuple[Values, Values]:
    """The pairs of which both values are known."""
    known = ~(np.isnan(reference) | np.isnan(candidate))
    return reference[known], candidate[known]


def interval(values: Values) -> tuple[float, float]:
    """Ends of the 95 % interval of the mean of `values`; NaN if there is only one value."""
    if len(values) < 2:
        return NAN, NAN
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    return resampling.bootstrap_interval(values, CONFIDENCE)


def effect(reference: Values, candidate: Values) -> float:
    """Difference of the means in pooled standard deviations."""
    if len(reference) < 2:
        return NAN
    pooled = float(np.sqrt((np.var(reference, ddof=1) + np.var(candidate, ddof=1)) / 2))
    return float(np.mean(candidate) - np.mean(reference)) / pooled if pooled else NAN


def chance(reference: Values, candidate: Values, by: Test) -> float:
    """Two-sided p of the difference between two sides; not a number if one has fewer than two values."""
    if min(len(reference), len(candidate)) < 2:
        return NAN
    if np.ptp(np.concatenate([reference, candidate])) == 0:
        return 1.0
    return float(resampling.chances(*_tested(reference, candidate, by)))


AT_ONCE = 50
"""Tests by permutation at once."""


def _chances(groups: Sequence[_Group]) -> dict[int, float]:
    """`chance`, by the place of the group. Tests of equally many values permute them alike, and take together hardly
    more time than one of them; one by one, they are most of the comparison of a large grid.
    """
    alike: dict[int, list[tuple[int, Values, Values]]] = {}
    for place, group in enumerate(groups):
        theirs, ours = _known_pairs(group.reference, group.candidate)
        if len(ours) >= 2 and np.ptp(np.concatenate([theirs, ours])) > 0:
            alike.setdefault(len(ours), []).append((place, *_tested(theirs, ours, group.test)))
    found: dict[int, float] = {}
    for tests in alike.values():
        for first in range(0, len(tests), AT_ONCE):
            places, references, candidates = zip(*tests[first : first + AT_ONCE], strict=True)
            found |= zip(places, resampling.chances(np.array(references), np.array(candidates)).tolist(), strict=True)
    return found


def _tested(reference: Values, candidate: Values, by: Test) -> tuple[Values, Values]:
    """What is permuted: the values, or for Mann and Whitney's test their ranks, whose sum on one side is its U plus a
    constant. By permutation, because with ties the normal approximation would call three against three significant.
    """
    if by != "Mann–Whitney":
        return reference, candidate
    ranks = resampling.ranks(np.concatenate([reference, candidate]))
    return ranks[: len(reference)], ranks[len(reference) :]


def paired_chance(apart: Values) -> float:
    """Two-sided p of Student's paired test; not a number with one pair, and if the differences do not vary."""
    if len(apart) < 2 or np.ptp(apart) == 0:
        return NAN
    n = len(apart)
    t = float(np.mean(apart)) / (float(np.std(apart, ddof=1)) / math.sqrt(n))
    return 2 * student.exceeded(n - 1, abs(t))


def _discovery_rates(p: Values) -> Values:
    """q of each p; unknown ones remain unknown and do not count."""
    found, known = np.full(len(p), NAN), ~np.isnan(p)
    if known.any():
        found[known] = resampling.discovery_rates(p[known])
    return found


def _mean(values: Values) -> float:
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if len(known) else NAN


def _possible(found: Difference, metric: Metric) -> Difference:
    """The difference with intervals that end where the possible values of the metric end, seen from the reference: no
    more than 100 % can be lost. An unknown end stays unknown.
    """
    ends = {name: getattr(found, name) for name in ("low", "high", "least", "most")}
    if metric.least is not None:
        ends = {name: max(end, metric.least - found.reference) for name, end in ends.items()}
    if metric.most is not None:
        ends = {name: min(end, metric.most - found.reference) for name, end in ends.items()}
    return replace(found, **ends)


def _row(group: _Group, p: float | None) -> dict[str, Any]:
    compared = group.compared
    found = _possible(difference(group.reference, group.candidate, group.test, p), compared.metric)
    head = {"configuration": group.configuration, "metric": group.metric}
    return {**head, "title": compared.title, "unit": compared.metric.unit, **asdict(found)}

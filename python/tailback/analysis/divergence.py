"""The first divergence of two runs of one experiment: the first `TCP_INFO` sample that differs, flow by flow.

Samples taken at intervals are matched by their number, round(t / interval), because a kernel takes each some
microseconds late. Samples taken at each ACK are matched by what the ACK acknowledged: `bytes_acked`, `sacked`, and
its position among ACKs with the same values. An ACK that only one side has is reported as a difference (`ack`).

A value differs if the difference exceeds both a fraction of the reference and an absolute slack, because relative
differences of small numbers mean nothing. At intervals the defaults are 10 % and a segment or two; at each ACK any
difference counts, so that the first one is where the two TCPs decided differently.

TCP over a queue is chaotic: two runs whose start differs by a nanosecond diverge, too. To tell a defect from that,
look at what happens *at* the first divergence, not at how far apart the traces are later.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from msgspec import Struct

from tailback.analysis.table import Columns, Mask, Places, Table, Values
from tailback.analysis.window import NANOSECONDS, nanoseconds

Sampling = Literal["interval", "ack"]

JUDGED = ("snd_cwnd", "snd_ssthresh", "unacked", "bytes_acked", "total_retrans")
"""The compared columns, in the order in which divergences at the same sample are reported."""

CONTEXT = ("rtt", "sacked", "lost", "retrans", "pacing_rate", "wmem_alloc", "ca_state")
"""Columns that are shown in addition."""

EVENTS = ("t", "flow", "what", "where", "reason", "value")
"""The columns of events that are shown, and that of their flow."""

TEXTS = frozenset(("ca_state",))
"""Those of the columns that are text."""

ACK = "ack"
"""The name of the difference if a sample exists on one side only."""

ROWS_AROUND = 5
"""Samples shown before and after a divergence."""

PLACE = ["flow", "place"]
TIME = "t"
REFERENCE, CANDIDATE = "reference", "candidate"
SIDES = (REFERENCE, CANDIDATE)


class Threshold(Struct, frozen=True):
    """The threshold above which two values differ."""

    share: float
    slack: Mapping[str, float]


SLACK = {"snd_cwnd": 1.0, "snd_ssthresh": 1.0, "unacked": 2.0, "bytes_acked": 3000.0, "total_retrans": 2.0}
"""Absolute differences that are ignored in samples at intervals."""

AT_INTERVALS = Threshold(0.1, SLACK)
AT_EACH_ACK = Threshold(0.0, dict.fromkeys(JUDGED, 0.0))


def default_threshold(sampling: Sampling) -> Threshold:
    """The default threshold for a kind of sampling, as described at the top of this file."""
    return AT_EACH_ACK if sampling == "ack" else AT_INTERVALS


class Traces(Struct, frozen=True):
    """`TCP_INFO` of one run on both sides, and how it was sampled. `aligned` needs frames."""

    reference: Columns
    candidate: Columns
    sampling: Sampling
    interval_ns: int


def aligned(traces: Traces) -> pd.DataFrame:
    """The samples of both sides, joined: index `flow`, `place` (number of the sample, or of the ACK), columns
    `COLUMN reference`, `COLUMN candidate`. A sample that one side lacks is not a number there.
    """
    sides = [_placed(_signed(_needed(_frame(table))), traces) for table in (traces.reference, traces.candidate)]
    common = [column for column in (TIME, *JUDGED, *CONTEXT) if all(column in side for side in sides)]
    named = [
        part[common].rename(columns={column: of_side(column, side) for column in common})
        for side, part in zip(SIDES, sides, strict=True)
    ]
    joined = pd.concat(named, axis=1, join="inner" if traces.sampling == "interval" else "outer")
    ordered = joined[[of_side(column, side) for column in common for side in SIDES]]
    return ordered.sort_index() if traces.sampling == "interval" else _numbered(ordered)


def of_side(column: str, side: str) -> str:
    """The name of a column of one side in `aligned`."""
    return f"{column} {side}"


def differing(samples: pd.DataFrame, threshold: Threshold) -> pd.DataFrame:
    """A table of booleans: which compared columns of which samples of `aligned` differ, in the order of `JUDGED`."""
    one_sided = np.logical_or(*map(np.isnan, _numbers(samples, TIME)))
    marks = {ACK: one_sided} if one_sided.any() else {}
    for column in JUDGED:
        if of_side(column, REFERENCE) in samples:
            marks[column] = _differs(samples, column, threshold) & ~one_sided
    return pd.DataFrame(marks, index=samples.index)


def first_divergences(samples: pd.DataFrame, threshold: Threshold) -> pd.DataFrame:
    """One row per flow and column that differs anywhere: `flow`, `column`, `place`, `t` (s), `reference`,
    `candidate`. Rows of a flow are sorted by time, those of one sample in the order of `JUDGED`.
    """
    marks = differing(samples, threshold)
    rows: list[tuple[object, ...]] = []
    for order, column in enumerate(marks.columns):
        mark = marks[column].to_numpy(dtype=np.bool_)
        rows += _firsts(samples[mark], column, order) if mark.any() else []
    columns = ["flow", "column", "place", "t", *SIDES, "order"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["flow", "t", "place", "order"]).drop(columns="order").reset_index(drop=True)


First: TypeAlias = tuple[str, str, int, float, float, float]
"""A row of `first_divergences`."""


def firsts(traces: Traces, threshold: Threshold) -> list[First]:
    """The rows of `first_divergences(aligned(traces), threshold)`. Samples at intervals are compared column by column,
    without the joined table: a comparison of two sweeps has a thousand pairs of runs.
    """
    if traces.sampling == "ack":
        return [tuple(row) for row in first_divergences(aligned(traces), threshold).itertuples(index=False)]
    names, (reference, candidate) = _samples_of(traces)
    common, left, right = np.intersect1d(reference.keys, candidate.keys, assume_unique=True, return_indices=True)
    sides = reference.table.where(reference.rows[left]), candidate.table.where(candidate.rows[right])
    flows, places = common // MOST_SAMPLES, common % MOST_SAMPLES
    found = []
    for order, column in enumerate(column for column in JUDGED if all(column in side for side in sides)):
        values = sides[0].numbers(column), sides[1].numbers(column)
        rows = np.flatnonzero(_apart(*values, column, threshold))
        rows = rows[np.unique(flows[rows], return_index=True)[1]]
        times = np.fmin(sides[0].numbers(TIME)[rows], sides[1].numbers(TIME)[rows]).tolist()
        columns = flows[rows].tolist(), places[rows].tolist(), times, *(side[rows].tolist() for side in values)
        found += [(flow, t, place, order, column, *pair) for flow, place, t, *pair in zip(*columns, strict=True)]
    return [(names[flow], column, place, t, *pair) for flow, t, place, _, column, *pair in sorted(found)]


MOST_SAMPLES = 2**40
"""More than a flow has at intervals: the key of a sample is the place of its flow times this, and its own place."""


class _Sampled(Struct, frozen=True):
    """The samples at intervals of one side: a row of the table for each key, in ascending order of keys."""

    table: Table
    keys: Places
    rows: Places


def _samples_of(traces: Traces) -> tuple[list[str], tuple[_Sampled, _Sampled]]:
    """The names of the flows in alphabetical order, and the samples of both sides, as `_placed` has them."""
    tables = Table.of(traces.reference), Table.of(traces.candidate)
    names = sorted({name for table in tables for name in table.words("flow").known})
    numbers = {name: number for number, name in enumerate(names)}
    reference, candidate = (_sampled(table, numbers, traces.interval_ns) for table in tables)
    return names, (reference, candidate)


def _sampled(table: Table, numbers: Mapping[str, int], interval_ns: int) -> _Sampled:
    words = table.words("flow")
    flows = np.array([numbers[name] for name in words.known], dtype=np.int64)[words.codes]
    places = np.rint(table.t_ns / interval_ns).astype(np.int64)
    keys = flows * MOST_SAMPLES + places
    ordered = np.lexsort((np.abs(table.t_ns - places * interval_ns), keys))
    found, first = np.unique(keys[ordered], return_index=True)
    return _Sampled(table, found, ordered[first])


class Surroundings(Struct, frozen=True):
    """What is around a divergence: `interval_before` and `around` of `aligned`."""

    between: tuple[float, float]
    rows: pd.DataFrame


def surroundings(traces: Traces, flow: str, place: int) -> Surroundings:
    """What is around the sample `place` of `flow`. Samples at intervals are joined there alone: a comparison of two
    sweeps has a divergence in each of a hundred configurations.
    """
    if traces.sampling == "ack":
        samples = aligned(traces)
        return Surroundings(interval_before(samples, flow, place), around(samples, flow, place))
    names, (reference, candidate) = _samples_of(traces)
    common, left, right = np.intersect1d(reference.keys, candidate.keys, assume_unique=True, return_indices=True)
    first, at, after = np.searchsorted(common, names.index(flow) * MOST_SAMPLES + np.array([0, place, MOST_SAMPLES]))
    near = slice(max(first, at - ROWS_AROUND), min(after, at + ROWS_AROUND + 1))
    sides = reference.table.where(reference.rows[left[near]]), candidate.table.where(candidate.rows[right[near]])
    columns = {
        of_side(column, side): table.words(column).plain() if column in TEXTS else table.numbers(column)
        for column in (TIME, *JUDGED, *CONTEXT) if all(column in table for table in sides)
        for side, table in zip(SIDES, sides, strict=True)
    }  # fmt: skip
    rows = pd.DataFrame({"place": common[near] % MOST_SAMPLES, **columns})
    return Surroundings(interval_before(rows.assign(flow=flow).set_index(PLACE), flow, place), rows)


def around(samples: pd.DataFrame, flow: str, place: int, rows: int = ROWS_AROUND) -> pd.DataFrame:
    """The samples of `flow` up to `rows` before and after `place`, with `place` as a column."""
    of_flow = _of_flow(samples, flow)
    at = _row_of(of_flow, place)
    return of_flow.iloc[max(0, at - rows) : at + rows + 1].reset_index()


def interval_before(samples: pd.DataFrame, flow: str, place: int) -> tuple[float, float]:
    """The interval (s) that contains the cause: from the last sample of `flow` before `place` to that at `place`."""
    of_flow = _of_flow(samples, flow)
    at = _row_of(of_flow, place)
    times = of_flow[[of_side(TIME, side) for side in SIDES]].to_numpy(dtype=np.float64)
    return (float(np.nanmin(times[at - 1])) if at else 0.0), float(np.nanmax(times[at]))


def events_between(events: pd.DataFrame, flow: str, between: tuple[float, float]) -> pd.DataFrame:
    """The events of `flow` after `between[0]` and up to `between[1]` (s): `t`, `what`, `where`, `reason`."""
    low, high = (round(edge * NANOSECONDS) for edge in between)
    t = nanoseconds(events)
    inside = events[(t > low) & (t <= high)]
    theirs = inside[inside["flow"] == flow] if "flow" in inside else inside
    columns = [column for column in EVENTS if column in theirs and column != "flow"]
    return theirs[columns].reset_index(drop=True)


def _frame(table: Columns) -> pd.DataFrame:
    if not isinstance(table, pd.DataFrame):
        raise TypeError("samples are joined as frames of pandas")
    return table


def _needed(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that are compared or shown."""
    return table[[column for column in ("flow", TIME, *JUDGED, *CONTEXT) if column in table]]


def _signed(table: pd.DataFrame) -> pd.DataFrame:
    """Converts unsigned counters to floating point, so that differences can be negative."""
    counters = [column for column in table if pd.api.types.is_unsigned_integer_dtype(table[column])]
    return table.astype(dict.fromkeys(counters, np.float64))


def _placed(table: pd.DataFrame, traces: Traces) -> pd.DataFrame:
    """The table with an index that identifies matching samples of the two sides."""
    if traces.sampling == "ack":
        return _by_ack(table)
    t = nanoseconds(table)
    number = np.rint(t / traces.interval_ns).astype(np.int64)
    # A side that was also sampled at each ACK has several samples; take the one closest to the interval's time.
    away = np.abs(t - number * traces.interval_ns)
    nearest = table.assign(place=number, away=away).sort_values("away", kind="stable")
    return nearest.drop_duplicates(PLACE).set_index(PLACE)


def _by_ack(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that acknowledge something; samples at intervals repeat the values of the ACK before them."""
    acknowledged = [column for column in ("bytes_acked", "sacked") if column in table]
    changed = table.groupby("flow")[acknowledged].diff().ne(0).any(axis=1)
    acks = table[changed]
    repeated = acks.groupby(["flow", *acknowledged]).cumcount()
    return acks.assign(repeated=repeated).set_index(["flow", *acknowledged, "repeated"], drop=False)


def _numbered(joined: pd.DataFrame) -> pd.DataFrame:
    """Numbers the ACKs of each flow by the earlier of their two times."""
    flows = joined.index.get_level_values("flow").to_numpy()
    times = joined[[of_side(TIME, side) for side in SIDES]].min(axis=1).to_numpy()
    order = pd.DataFrame({"flow": flows, "t": times}).sort_values(["flow", "t"], kind="stable").index.to_numpy()
    names = pd.Series(flows[order])
    index = pd.MultiIndex.from_arrays([names, names.groupby(names).cumcount()], names=PLACE)
    return joined.iloc[order].set_axis(index, axis=0)


def _both_sides(samples: pd.DataFrame, column: str) -> tuple[pd.Series, pd.Series]:
    return samples[of_side(column, REFERENCE)], samples[of_side(column, CANDIDATE)]


def _numbers(samples: pd.DataFrame, column: str) -> tuple[Values, Values]:
    """A column of both sides; unknown values are NaN."""
    reference, candidate = (side.to_numpy(dtype=np.float64, na_value=np.nan) for side in _both_sides(samples, column))
    return reference, candidate


def _differs(samples: pd.DataFrame, column: str, threshold: Threshold) -> Mask:
    """Whether each value differs. A value that is unknown on one side (infinite ssthresh) differs from a known one."""
    return _apart(*_numbers(samples, column), column, threshold)


def _apart(reference: Values, candidate: Values, column: str, threshold: Threshold) -> Mask:
    allowed = np.maximum(np.abs(reference) * threshold.share, threshold.slack[column])
    with np.errstate(invalid="ignore"):
        away = np.abs(candidate - reference) > allowed
    return np.asarray(away | (np.isnan(reference) != np.isnan(candidate)))


def _firsts(differing: pd.DataFrame, column: str, order: int) -> list[tuple[object, ...]]:
    """The rows of `first_divergences` for the first of these samples of each flow, which differ in `column`."""
    found = differing[~differing.index.get_level_values("flow").duplicated()]
    times = np.fmin(*_numbers(found, TIME))
    values = (side.tolist() for side in _numbers(found, TIME if column == ACK else column))
    rows = zip(found.index, times.tolist(), *values, strict=True)
    return [(str(flow), column, int(place), t, *pair, order) for (flow, place), t, *pair in rows]


def _of_flow(samples: pd.DataFrame, flow: str) -> pd.DataFrame:
    return samples[samples.index.get_level_values("flow") == flow].droplevel("flow")


def _row_of(of_flow: pd.DataFrame, place: int) -> int:
    return int(np.searchsorted(of_flow.index.to_numpy(), place))

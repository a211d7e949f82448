"""The first divergence of two runs of one experiment: the first `TCP_INFO` sample that differs, flow by flow.

Samples taken at intervals are matched by their number, round(t / interval), because a kernel takes each some
microseconds late. Samples taken at each ACK are matched by what the ACK acknowledged: `bytes_acked`, `sacked`, and
its place among those that say the same; an ACK that only one side has seen is a difference of its own (`ack`).

A value differs when it is away by more than a share of the reference's *and* by more than a slack, because a relative
difference of small numbers says nothing. At intervals the default is 10 % and a segment or two; at each ACK any
difference counts, and the first is where the two machines decided differently.

One chaotic system started twice with a difference of one nanosecond parts too. What happens *at* the first
divergence tells a defect from that, not how far apart the traces are later.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tailback.analysis.window import NANOSECONDS, nanoseconds

Sampling = Literal["interval", "ack"]

JUDGED = ("snd_cwnd", "snd_ssthresh", "unacked", "bytes_acked", "total_retrans")
"""In the order in which a divergence at the same sample is told."""

CONTEXT = ("rtt", "sacked", "lost", "retrans", "pacing_rate", "wmem_alloc", "ca_state")
"""Shown beside them."""

ACK = "ack"
"""As a column: the sample itself is on one side only."""

ROWS_AROUND = 5
"""Samples shown before and after a divergence."""

PLACE = ["flow", "place"]
TIME = "t"
REFERENCE, CANDIDATE = "reference", "candidate"
SIDES = (REFERENCE, CANDIDATE)


@dataclass(frozen=True)
class Threshold:
    """From where on two values differ."""

    share: float
    slack: Mapping[str, float]


SLACK = {"snd_cwnd": 1.0, "snd_ssthresh": 1.0, "unacked": 2.0, "bytes_acked": 3000.0, "total_retrans": 2.0}
"""Always forgiven in samples at intervals."""

AT_INTERVALS = Threshold(0.1, SLACK)
AT_EACH_ACK = Threshold(0.0, dict.fromkeys(JUDGED, 0.0))


def default_threshold(sampling: Sampling) -> Threshold:
    """See the head of this file."""
    return AT_EACH_ACK if sampling == "ack" else AT_INTERVALS


@dataclass(frozen=True)
class Traces:
    """`TCP_INFO` of one run on both sides, and how it was sampled."""

    reference: pd.DataFrame
    candidate: pd.DataFrame
    sampling: Sampling
    interval_ns: int


def aligned(traces: Traces) -> pd.DataFrame:
    """Samples of both sides side by side: index `flow`, `place` (number of the sample, or of the ACK), columns
    `COLUMN reference`, `COLUMN candidate`. A sample that only one side has is not a number on the other.
    """
    sides = [_placed(_signed(table), traces) for table in (traces.reference, traces.candidate)]
    common = [column for column in (TIME, *JUDGED, *CONTEXT) if all(column in side for side in sides)]
    named = [
        part[common].rename(columns={column: of_side(column, side) for column in common})
        for side, part in zip(SIDES, sides, strict=True)
    ]
    joined = pd.concat(named, axis=1, join="inner" if traces.sampling == "interval" else "outer")
    ordered = joined[[of_side(column, side) for column in common for side in SIDES]]
    return ordered.sort_index() if traces.sampling == "interval" else _numbered(ordered)


def of_side(column: str, side: str) -> str:
    """The name that a column of one side has in `aligned`."""
    return f"{column} {side}"


def differing(samples: pd.DataFrame, threshold: Threshold) -> pd.DataFrame:
    """Which judged columns of which sample of `aligned` differ, in the order of `JUDGED`."""
    reference, candidate = _both(samples, TIME)
    one_sided = reference.isna() | candidate.isna()
    marks = {ACK: one_sided} if bool(one_sided.any()) else {}
    for column in JUDGED:
        if of_side(column, REFERENCE) in samples:
            marks[column] = _differs(samples, column, threshold) & ~one_sided
    return pd.DataFrame(marks, index=samples.index)


def first_divergences(samples: pd.DataFrame, threshold: Threshold) -> pd.DataFrame:
    """One row per flow and column that ever differs: `flow`, `column`, `place`, `t` (s), `reference`, `candidate`;
    of each flow the earliest first, and of one sample in the order of `JUDGED`.
    """
    marks = differing(samples, threshold)
    flows = marks.index.get_level_values("flow")
    rows = [
        _first(samples[flows == flow], column, marks.loc[flows == flow, column], order)
        for flow in dict.fromkeys(flows)
        for order, column in enumerate(marks.columns)
        if bool(marks.loc[flows == flow, column].any())
    ]
    columns = ["flow", "column", "place", "t", *SIDES, "order"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["flow", "t", "place", "order"]).drop(columns="order").reset_index(drop=True)


def around(samples: pd.DataFrame, flow: str, place: int, rows: int = ROWS_AROUND) -> pd.DataFrame:
    """The samples of `flow` up to `rows` before and after `place`, with `place` as a column."""
    of_flow = _of_flow(samples, flow)
    at = _row_of(of_flow, place)
    return of_flow.iloc[max(0, at - rows) : at + rows + 1].reset_index()


def interval_before(samples: pd.DataFrame, flow: str, place: int) -> tuple[float, float]:
    """The times in s between which the cause lies: the last sample of `flow` before `place`, and the one at `place`."""
    of_flow = _of_flow(samples, flow)
    at = _row_of(of_flow, place)
    times = of_flow[[of_side(TIME, side) for side in SIDES]].to_numpy(dtype=np.float64)
    return (float(np.nanmin(times[at - 1])) if at else 0.0), float(np.nanmax(times[at]))


def events_between(events: pd.DataFrame, flow: str, between: tuple[float, float]) -> pd.DataFrame:
    """What happened to `flow` from just after `between[0]` to `between[1]` (s): `t`, `what`, `where`, `reason`."""
    low, high = (round(edge * NANOSECONDS) for edge in between)
    t = nanoseconds(events)
    inside = events[(t > low) & (t <= high)]
    theirs = inside[inside["flow"] == flow] if "flow" in inside else inside
    columns = [column for column in ("t", "what", "where", "reason", "value") if column in theirs]
    return theirs[columns].reset_index(drop=True)


def _signed(table: pd.DataFrame) -> pd.DataFrame:
    """Counters are unsigned in the tables, and the difference of two unsigned numbers is never negative."""
    counters = [column for column in table if pd.api.types.is_unsigned_integer_dtype(table[column])]
    return table.astype(dict.fromkeys(counters, np.float64))


def _placed(table: pd.DataFrame, traces: Traces) -> pd.DataFrame:
    """Indexed by what tells that a sample is the same on the other side."""
    if traces.sampling == "ack":
        return _by_ack(table)
    t = nanoseconds(table)
    number = np.rint(t / traces.interval_ns).astype(np.int64)
    # A side that was sampled at each ACK too has several: the one nearest to the instant counts.
    away = np.abs(t - number * traces.interval_ns)
    nearest = table.assign(place=number, away=away).sort_values("away", kind="stable")
    return nearest.drop_duplicates(PLACE).set_index(PLACE)


def _by_ack(table: pd.DataFrame) -> pd.DataFrame:
    """Rows at which something was acknowledged: those taken at intervals in between repeat the ACK before them."""
    said = [column for column in ("bytes_acked", "sacked") if column in table]
    changed = table.groupby("flow")[said].diff().ne(0).any(axis=1)
    acks = table[changed]
    repeated = acks.groupby(["flow", *said]).cumcount()
    return acks.assign(repeated=repeated).set_index(["flow", *said, "repeated"], drop=False)


def _numbered(joined: pd.DataFrame) -> pd.DataFrame:
    """ACKs numbered per flow in the order in which the earlier side saw them."""
    flows = joined.index.get_level_values("flow").to_numpy()
    times = joined[[of_side(TIME, side) for side in SIDES]].min(axis=1).to_numpy()
    order = pd.DataFrame({"flow": flows, "t": times}).sort_values(["flow", "t"], kind="stable").index.to_numpy()
    names = pd.Series(flows[order])
    index = pd.MultiIndex.from_arrays([names, names.groupby(names).cumcount()], names=PLACE)
    return joined.iloc[order].set_axis(index, axis=0)


def _both(samples: pd.DataFrame, column: str) -> tuple[pd.Series, pd.Series]:
    return samples[of_side(column, REFERENCE)], samples[of_side(column, CANDIDATE)]


def _differs(samples: pd.DataFrame, column: str, threshold: Threshold) -> pd.Series:
    """A value unknown on one side (a threshold that is infinite) differs from any known one."""
    reference, candidate = _both(samples, column)
    allowed = (reference.abs() * threshold.share).clip(lower=threshold.slack[column])
    return (candidate - reference).abs().gt(allowed) | (reference.isna() != candidate.isna())


def _first(of_flow: pd.DataFrame, column: str, mark: pd.Series, order: int) -> tuple[object, ...]:
    """The row of `first_divergences` for the first sample that `mark` marks."""
    at = int(np.argmax(mark.to_numpy()))
    flow, place = of_flow.index[at]
    times, values = (
        [float(side.iloc[at]) for side in _both(of_flow, shown)] for shown in (TIME, TIME if column == ACK else column)
    )
    return str(flow), column, int(place), float(np.nanmin(times)), *values, order


def _of_flow(samples: pd.DataFrame, flow: str) -> pd.DataFrame:
    return samples[samples.index.get_level_values("flow") == flow].droplevel("flow")


def _row_of(of_flow: pd.DataFrame, place: int) -> int:
    return int(np.searchsorted(of_flow.index.to_numpy(), place))

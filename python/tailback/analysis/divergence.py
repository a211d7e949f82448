"""Where two runs of the same experiment part: the first `TCP_INFO` sample that differs, flow by flow.

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


@dataclass(frozen=True)
class Threshold:
    """From where on two values differ."""

    share: float
    slack: Mapping[str, float]


AT_INTERVALS = Threshold(
    0.1, {"snd_cwnd": 1.0, "snd_ssthresh": 1.0, "unacked": 2.0, "bytes_acked": 3000.0, "total_retrans": 2.0}
)
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
    (`reference` or `candidate`, column). A sample that only one side has is not a number on the other.
    """
    sides = [_placed(table, traces) for table in (traces.reference, traces.candidate)]
    common = [column for column in ("t", *JUDGED, *CONTEXT) if all(column in side for side in sides)]
    joined = pd.concat([side[common] for side in sides], axis=1, keys=["reference", "candidate"], join="outer")
    if traces.sampling == "interval":
        both = joined["reference", "t"].notna() & joined["candidate", "t"].notna()
        return joined[both].sort_index()
    return _numbered(joined)


def differing(samples: pd.DataFrame, threshold: Threshold) -> pd.DataFrame:
    """Which judged columns of which sample of `aligned` differ, in the order of `JUDGED`."""
    reference, candidate = samples["reference"], samples["candidate"]
    one_sided = reference["t"].isna() != candidate["t"].isna()
    marks = {ACK: one_sided} if bool(one_sided.any()) else {}
    for column in JUDGED:
        if column in reference:
            marks[column] = _differs(reference[column], candidate[column], threshold, column) & ~one_sided
    return pd.DataFrame(marks, index=samples.index)


def first_divergences(samples: pd.DataFrame, threshold: Threshold) -> pd.DataFrame:
    """One row per flow and column that ever differs: `flow`, `column`, `place`, `t` (s), `reference`, `candidate`;
    of each flow the earliest first, and of one sample in the order of `JUDGED`.
    """
    marks = differing(samples, threshold)
    rows = [
        _first(samples, str(column), mark[mark].index[0], order)
        for _, of_flow in marks.groupby(level="flow", sort=True)
        for order, (column, mark) in enumerate(of_flow.items())
        if mark.any()
    ]
    columns = ["flow", "column", "place", "t", "reference", "candidate", "order"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["flow", "t", "place", "order"]).drop(columns="order").reset_index(drop=True)


def around(samples: pd.DataFrame, flow: str, place: int, rows: int = ROWS_AROUND) -> pd.DataFrame:
    """The samples of `flow` up to `rows` before and after `place`: `t`, then each column as `COLUMN reference` and
    `COLUMN candidate`.
    """
    of_flow = samples.xs(flow, level="flow")
    at = int(np.searchsorted(of_flow.index.to_numpy(), place))
    near = of_flow.iloc[max(0, at - rows) : at + rows + 1]
    table = pd.DataFrame({"t": _earlier(near)})
    for column in near["reference"].columns.drop("t"):
        for side in ("reference", "candidate"):
            table[f"{column} {side}"] = near[side, column]
    return table.rename_axis("place").reset_index()


def interval_before(samples: pd.DataFrame, flow: str, place: int) -> tuple[float, float]:
    """Seconds between which the cause lies: the last sample of `flow` before `place`, and the one at `place`."""
    of_flow = samples.xs(flow, level="flow")
    at = int(np.searchsorted(of_flow.index.to_numpy(), place))
    times = _earlier(of_flow)
    return (float(times.iloc[at - 1]) if at else 0.0), float(_later(of_flow).iloc[at])


def _placed(table: pd.DataFrame, traces: Traces) -> pd.DataFrame:
    """Indexed by what tells that a sample is the same on the other side."""
    if traces.sampling == "ack":
        return _by_ack(table)
    number = np.rint(nanoseconds(table) / traces.interval_ns).astype(np.int64)
    return table.assign(place=number).drop_duplicates(PLACE, keep="last").set_index(PLACE)


def _by_ack(table: pd.DataFrame) -> pd.DataFrame:
    """Rows at which something was acknowledged: those taken at intervals in between repeat the ACK before them."""
    said = [column for column in ("bytes_acked", "sacked") if column in table]
    changed = table.groupby("flow")[said].diff().ne(0).any(axis=1)
    acks = table[changed]
    repeated = acks.groupby(["flow", *said]).cumcount()
    return acks.assign(repeated=repeated).set_index(["flow", *said, "repeated"], drop=False)


def _numbered(joined: pd.DataFrame) -> pd.DataFrame:
    """ACKs numbered per flow in the order in which the earlier side saw them."""
    flows = joined.index.get_level_values("flow")
    order = pd.DataFrame({"flow": flows, "t": _earlier(joined).to_numpy()})
    sorted_ = joined.iloc[order.sort_values(["flow", "t"], kind="stable").index.to_numpy()]
    names = sorted_.index.get_level_values("flow")
    places = pd.Series(names).groupby(names.to_numpy()).cumcount()
    sorted_.index = pd.MultiIndex.from_arrays([names, places], names=PLACE)
    return sorted_


def _differs(reference: pd.Series, candidate: pd.Series, threshold: Threshold, column: str) -> pd.Series:
    """A value unknown on one side (a threshold that is infinite) differs from any known one."""
    allowed = (reference.abs() * threshold.share).clip(lower=threshold.slack[column])
    return (candidate - reference).abs().gt(allowed) | (reference.isna() != candidate.isna())


def _first(
    samples: pd.DataFrame, column: str, at: tuple[str, int], order: int
) -> tuple[str, str, int, float, float, float, int]:
    row = samples.loc[at]
    shown = "t" if column == ACK else column
    values = float(row["reference", shown]), float(row["candidate", shown])
    times = (row["reference", "t"], row["candidate", "t"])
    return str(at[0]), column, int(at[1]), float(np.nanmin(times)), *values, order


def _earlier(samples: pd.DataFrame) -> pd.Series:
    return samples.xs("t", axis=1, level=1).min(axis=1)


def _later(samples: pd.DataFrame) -> pd.Series:
    return samples.xs("t", axis=1, level=1).max(axis=1)


def events_between(events: pd.DataFrame, flow: str, between: tuple[float, float]) -> pd.DataFrame:
    """What happened to `flow` from just after `between[0]` to `between[1]` (s): `t`, `what`, `where`, `reason`."""
    low, high = (round(edge * NANOSECONDS) for edge in between)
    t = nanoseconds(events)
    inside = events[(t > low) & (t <= high)]
    theirs = inside[inside["flow"] == flow] if "flow" in inside else inside
    columns = [column for column in ("t", "what", "where", "reason", "value") if column in theirs]
    return theirs[columns].reset_index(drop=True)

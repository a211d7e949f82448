"""How flows share: fairness over time, how long it takes a newcomer to get its share, how long transfers last.

Sources: Jain's index [jain1984]; convergence and response times as [rfc5166 §2.2, §2.3].
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tailback.analysis.metrics import jain_index
from tailback.analysis.rates import WIDTH_NS, sliding_throughput
from tailback.analysis.window import NANOSECONDS, Window, nanoseconds

FAIR = 0.9
"""Jain's index from which flows are said to share."""

HOLD_S = 5.0
"""How long they must."""

WIDTH_S = WIDTH_NS / NANOSECONDS
"""Of a sliding window."""


def jain_over_time(flows: pd.DataFrame, window: Window, bin_ns: int) -> pd.DataFrame:
    """Jain's index (no unit) of the flows present in each sliding window of 2 s each 0.5 s: `t` (s, end of the window),
    `flows` (how many), `jain`. A flow is present from the first byte its receiver read to the last.
    """
    shares = sliding_throughput(flows, window, bin_ns)
    first, last = _present(flows)
    names = shares["flow"]
    # A window that a flow was there for only in part would call a newcomer unfair.
    present = (shares["t"] - WIDTH_S >= names.map(first)) & (shares["t"] <= names.map(last))
    rows = [(t, len(each), jain_index(each.tolist())) for t, each in shares[present].groupby("t")["mbps"]]
    return pd.DataFrame(rows, columns=["t", "flows", "jain"]).dropna().reset_index(drop=True)


def convergence_times(flows: pd.DataFrame, end_ns: int, bin_ns: int) -> dict[str, float]:
    """Convergence time in s of each flow that joined others which had been there for 2 s: from the first byte its
    receiver read to the end of the first sliding window from which on Jain's index of all flows present is at least 0.9
    for 5 s (or until the next flow comes or goes, if that is sooner). A flow that never gets there has none.
    """
    first, last = _present(flows)
    joining = {flow for flow, at in first.items() if any(first[o] + WIDTH_S < at < last[o] for o in first)}
    if not joining:
        return {}
    fairness = jain_over_time(flows, Window(0, end_ns), bin_ns)
    changes = np.array(sorted({*first.values(), *last.values()}))
    found = {}
    for flow, joined in first.items():
        if flow not in joining:
            continue
        until = changes[changes > joined + bin_ns / NANOSECONDS].min(initial=end_ns / NANOSECONDS)
        at = _fair_from(fairness[(fairness["t"] > joined) & (fairness["t"] <= until)])
        if at is not None:
            found[flow] = at - joined
    return found


def _present(flows: pd.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    """First and last moment of each flow, in s."""
    times = flows.groupby("flow", sort=True)["t"]
    first, last = times.min(), times.max()
    return {str(k): float(v) for k, v in first.items()}, {str(k): float(v) for k, v in last.items()}


def _fair_from(fairness: pd.DataFrame) -> float | None:
    """From when on it is fair for `HOLD_S`, or to the end."""
    t, jain = fairness["t"].to_numpy(dtype=np.float64), fairness["jain"].to_numpy(dtype=np.float64)
    for place in np.flatnonzero(jain >= FAIR):
        held = jain[(t >= t[place]) & (t <= t[place] + HOLD_S)]
        if (held >= FAIR).all():
            return float(t[place])
    return None


def completion_times(events: pd.DataFrame, sized: Collection[str], window: Window) -> dict[str, float]:
    """Flow completion times in s of the transfers of a given size that began in the window and ended: from `connect()`
    to the acknowledgement of the last byte. One that did not end in the run has none.
    """
    of_flows = events[events["flow"].isin(list(sized))]
    at = nanoseconds(of_flows)
    inside = (at >= window.start_ns) & (at < window.end_ns)
    starts = of_flows[(of_flows["what"] == "flow_start") & inside].groupby("flow")["t"].min()
    ends = of_flows[of_flows["what"] == "flow_end"].groupby("flow")["t"].max()
    lasted = (ends - starts).dropna()
    return {str(flow): float(seconds) for flow, seconds in lasted.items()}

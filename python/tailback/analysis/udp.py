"""Loss and one-way delay of UDP flows.

Sources: definitions of [rfc5166 §2.1, §2.2].
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tailback.analysis.metrics import Samples
from tailback.analysis.window import Window


def udp_loss(udp: pd.DataFrame, window: Window) -> dict[str, float]:
    """Share of the datagrams sent in the window that did not arrive in it, by flow, no unit. Datagrams in flight at the
    start of the window compensate for those in flight at its end.
    """
    counts = window.samples(udp).groupby("flow", observed=True)[["sent", "received"]].sum()
    return dict(_losses(counts))


def _losses(counts: pd.DataFrame) -> Iterator[tuple[str, float]]:
    for flow, sent, received in counts.reset_index().itertuples(index=False):
        if sent:
            yield str(flow), max(0.0, 1.0 - float(received) / float(sent))


def udp_delay_samples(udp: pd.DataFrame, window: Window) -> dict[str, Samples]:
    """One-way delays in ms of each flow: for each bin of the window, the mean over the datagrams that arrived in it."""
    groups = window.samples(udp).dropna(subset=["delay_ms"]).groupby("flow", sort=True, observed=True)["delay_ms"]
    return {str(flow): values.to_numpy(dtype=np.float64) for flow, values in groups}

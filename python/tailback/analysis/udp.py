"""Loss and one-way delay of UDP flows.

Sources: definitions of [rfc5166 §2.1, §2.2].
"""

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import Samples
from tailback.analysis.table import Columns
from tailback.analysis.window import Window


def udp_loss(udp: Columns, window: Window) -> dict[str, float]:
    """Share of the datagrams sent in the window that did not arrive in it, by flow, no unit. Datagrams in flight at the
    start of the window compensate for those in flight at its end.
    """
    inside = window.samples(udp)
    flows = grouped(inside.words("flow"))
    sent, received = flows.sums(inside.numbers("sent")), flows.sums(inside.numbers("received"))
    return {flow: max(0.0, 1.0 - received[flow] / sent[flow]) for flow in flows.names if sent[flow]}


def udp_delay_samples(udp: Columns, window: Window) -> dict[str, Samples]:
    """One-way delays in ms of each flow: for each bin of the window, the mean over the datagrams that arrived in it."""
    arrived = window.samples(udp).known("delay_ms")
    return grouped(arrived.words("flow")).split(arrived.numbers("delay_ms"))

"""Loss and one-way delay of UDP flows.

Sources: definitions of [rfc5166 §2.1, §2.2].
"""

from collections.abc import Mapping

import numpy as np

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import Alike
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import Window


def udp_loss(udp: Columns, window: Window, bin_ns: int) -> dict[str, float]:
    """Share of the datagrams sent in the window that did not arrive in it, by flow, no unit. Datagrams in flight at the
    start of the window compensate for those in flight at its end. A bin that lies partly in the window counts in
    proportion. If more are in flight at the end than at the start, these count as lost. Those of a call or a game are
    known one by one, and none in flight counts.
    """
    table = Table.of(udp)
    inside, flows = window.share_of_bins(table, bin_ns), grouped(table.words("flow"))
    sent, received = (flows.sums(table.numbers(column) * inside) for column in ("sent", "received"))
    return {flow: max(0.0, 1.0 - received[flow] / sent[flow]) for flow in flows.names if sent[flow]}


def udp_delays(tables: Mapping[str, Columns], window: Window) -> dict[str, Alike]:
    """One-way delays in ms of the datagrams of each flow that arrived in the window, whatever `measure.interval` is.
    Those of a call or a game are known one by one. Of other flows, datagrams that arrived in the same 10 ms with the
    same delay to 1/128 were counted together: mean, minimum and maximum are exact, percentiles too up to 100 datagrams
    per second, and within 0.8 % of the delay above. A window whose edge is no multiple of 10 ms may have some datagrams
    more or less at it.

    Results from before the table `delays` have only the means over sampling intervals. Percentiles of these are smaller
    in the tail than those of datagrams: such a summary has `intervals`, the number of the means, beside them. Its mean
    and maximum are those of the datagrams.
    """
    found: dict[str, Alike] = {}
    if "datagrams" in tables:
        arrived = window.samples(tables["datagrams"])
        each = grouped(arrived.words("flow")).split(arrived.numbers("delay_ms"))
        found |= {flow: Alike.each(delays) for flow, delays in each.items()}
    if "delays" in tables:
        found |= _counted(window.samples(tables["delays"]), ("packets", "delay_ms", "shortest_ms", "longest_ms"))
    return found


def of_intervals(udp: Columns, window: Window, bin_ns: int) -> dict[str, Alike]:
    """The mean delays in ms over the sampling intervals of the window, of results without the delays of datagrams."""
    table = Table.of(udp).known("delay_ms")
    arrived = table.where(window.share_of_bins(table, bin_ns) > 0)
    return _counted(arrived, ("received", "delay_ms", "delay_ms", "longest_ms"))


def _counted(rows: Table, columns: tuple[str, str, str, str]) -> dict[str, Alike]:
    """The groups of datagrams of each flow; the columns are their number, their mean, and their extremes."""
    flows = grouped(rows.words("flow"))
    counts, means, least, most = (flows.split(np.asarray(rows.numbers(column))) for column in columns)
    return {flow: Alike(counts[flow], means[flow], least[flow], most[flow]) for flow in flows.names}

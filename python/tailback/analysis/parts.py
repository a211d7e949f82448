"""The numbers of a run for parts of its flows: each flow, each direction, or each group (the `group` of an entry of
`traffic`, or the entry).

A part has a summary with the keys of `summary.json` that make sense for it, so tables and means over repetitions are
made as for whole runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tailback.analysis import metrics
from tailback.analysis.metric import Summary
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import Window


def group_of(flow: str, measure: Mapping[str, Any]) -> str:
    """The group of a flow, given `measure` of its run: that of its entry, else its entry (`upload` for `upload.3`)."""
    return str(measure.get("groups", {}).get(flow) or flow.partition(".")[0])


def parts(flows: Sequence[str], measure: Mapping[str, Any], by: str) -> dict[str, list[str]]:
    """The flows of each part; `by` is `flow`, `direction` or `group`. Flows without a direction are `across`."""
    found: dict[str, list[str]] = {}
    for flow in flows:
        direction = measure["directions"].get(flow, "across")
        name = {"flow": flow, "direction": direction, "group": group_of(flow, measure)}[by]
        found.setdefault(name, []).append(flow)
    return found


def summary_of(flows: Sequence[str], whole: Summary, tcp_info: Columns | None, window: Window) -> dict[str, Any]:
    """The summary of these flows, given that of the whole run."""
    of_flows = whole.get("goodput_mbps", {}).get("flows", {})
    shares = [float(of_flows[flow]) for flow in flows if flow in of_flows]
    found: dict[str, Any] = {"goodput_mbps": {"total": sum(shares)}} if shares else {}
    jain = metrics.jain_index(shares) if len(shares) > 1 else None
    windows = {flow: each for flow, each in whole.get("cwnd_segments", {}).items() if flow in flows}
    found |= {} if jain is None else {"jain": jain}
    found |= {"cwnd_segments": windows} if windows else {}
    if tcp_info is not None:
        table = Table.of(tcp_info)
        theirs = table.where(table.words("flow").among(flows))
        rtt = metrics.percentiles(metrics.tcp_rtt_samples(theirs, window)) if len(theirs) else None
        found |= {} if rtt is None else {"tcp_rtt_ms": rtt}
        if len(theirs) and "total_retrans" in theirs:
            found["retransmits"] = metrics.retransmits(theirs, window)
    return found

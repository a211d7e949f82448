"""The numbers of a run for parts of its flows: each flow, each direction, or each group (the `group` of an entry of
`traffic`, or the entry).

A part has a summary with the keys of `summary.json` that make sense for it, so tables and means over repetitions are
made as for whole runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tailback.analysis import metrics, values
from tailback.analysis.measured import Measure, Measured
from tailback.analysis.metric import Summary
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import Window
from tailback.resolved import Scenario, competing

TABLES = ("flows", "tcp_info", "events", "completions")
"""The tables from which a part is summarised."""


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


def measured(scenario: Scenario, tables: Mapping[str, Columns], window: Window, flows: Sequence[str]) -> Measured:
    """What the parts of a run are made from; `flows` are all that have a goodput."""
    sizes = {flow.name: flow.bytes for flow in scenario.tcp if flow.bytes is not None}
    # Without hosts, the results are imported and their paths unknown.
    groups = competing(scenario, (window.start_ns, window.end_ns)) if scenario.hosts else (tuple(flows),)
    measure = Measure(
        window, scenario.record.interval_ns, tuple(flows), (), {}, groups, sized_flows=tuple(sizes), sizes_bytes=sizes
    )
    return Measured({name: Table.of(table) for name, table in tables.items()}, {}, measure)


def summary_of(flows: Sequence[str], whole: Summary, run: Measured) -> dict[str, Any]:
    """The summary of these flows, given that of the whole run. A single flow has the goodput that it has in `flows`."""
    shares = [run.own_goodput[flows[0]]] if len(flows) == 1 else [run.goodput[flow] for flow in flows]
    found: dict[str, Any] = {"goodput_mbps": {"total": sum(shares)}} if run.goodput else {}
    members = frozenset(flows)
    jain = values.jain_among([[flow for flow in group if flow in members] for group in run.measure.competing], run)
    windows = {flow: each for flow, each in whole.get("cwnd_segments", {}).items() if flow in members}
    found |= {} if jain is None else {"jain": jain}
    found |= {"cwnd_segments": windows} if windows else {}
    if "tcp_info" in run.tables:
        table = run.tables["tcp_info"]
        theirs = table.where(table.words("flow").among(flows))
        rtt = metrics.percentiles(metrics.tcp_rtt_samples(theirs, run.window)) if len(theirs) else None
        found |= {} if rtt is None else {"tcp_rtt_ms": rtt}
        if len(theirs) and "total_retrans" in theirs:
            found["retransmits"] = metrics.retransmits(theirs, run.window)
    return found

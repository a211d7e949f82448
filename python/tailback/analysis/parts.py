"""The numbers of a run for parts of its traffic: each flow or ping, each direction, each group (the `group` of an entry
of `traffic`, or the entry), or each host.

The host of a flow is that of its user: the sender of an upload, the receiver of a download; above Wi-Fi, the station.
That of a ping is the end that is also the host of a flow, or its sender.

A part has a summary with the keys of `summary.json` that make sense for it, so tables and means over repetitions are
made as for whole runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tailback.analysis import metrics, sockets, values
from tailback.analysis.measured import Measure, Measured
from tailback.analysis.metric import Column, Summary, at
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import Window
from tailback.resolved import Flow, Page, Ping, Request, Scenario, Video, competing

TABLES = ("flows", "tcp_info", "events", "completions", "ping")
"""The tables from which a part is summarised."""


AIRTIME = Column("airtime", "", at("airtime_share"), decimals=3)
"""The share of a station in the time of its channel."""

HOSTS = ("host", "station")
"""Two words for the same parts."""


class Members(Struct, frozen=True):
    """The traffic of a part."""

    flows: list[str]
    pings: list[str]
    host: str | None = None
    """The host, if the part is one."""


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


def members(scenario: Scenario, flows: Sequence[str], measure: Mapping[str, Any], by: str) -> dict[str, Members]:
    """The traffic of each part; `by` is as for `parts`, or `host`, `station` or `ping`. Of flows, each ping is a part,
    too.
    """
    if by in HOSTS:
        return _of_hosts(scenario, flows, measure["directions"])
    pings = [each.name for each in scenario.flows if isinstance(each, Ping)] if by in ("flow", "ping") else []
    found = {} if by == "ping" else {name: Members(theirs, []) for name, theirs in parts(flows, measure, by).items()}
    return found | {ping: Members([], [ping]) for ping in pings}


def _of_hosts(scenario: Scenario, flows: Sequence[str], directions: Mapping[str, str]) -> dict[str, Members]:
    entries = {each.name: each for each in scenario.flows}
    found: dict[str, Members] = {}
    for flow in flows:
        # A connection of a program is of no entry.
        if flow not in entries:
            continue
        sender, receiver = _of_data(entries[flow])
        _of(scenario.hosts[receiver if directions.get(flow) == "down" else sender].name, found).flows.append(flow)
    for each in scenario.flows:
        if isinstance(each, Ping):
            source, target = (scenario.hosts[end].name for end in (each.source, each.target))
            _of(target if target in found and source not in found else source, found).pings.append(each.name)
    return found


def _of(host: str, found: dict[str, Members]) -> Members:
    return found.setdefault(host, Members([], [], host))


def _of_data(flow: Flow) -> tuple[int, int]:
    """Sender and receiver of the data of a flow: an answer goes back to the host that asks."""
    return (flow.target, flow.source) if isinstance(flow, Request | Page | Video) else (flow.source, flow.target)


def measured(scenario: Scenario, tables: Mapping[str, Columns], window: Window, flows: Sequence[str]) -> Measured:
    """What the parts of a run are made from; `flows` are all that have a goodput."""
    sizes = {flow.name: flow.bytes for flow in scenario.tcp if flow.bytes is not None}
    # Without hosts, the results are imported and their paths unknown.
    groups = competing(scenario, (window.start_ns, window.end_ns)) if scenario.hosts else (tuple(flows),)
    measure = Measure(
        window,
        scenario.record.interval_ns,
        tuple(flows),
        (),
        {},
        groups,
        sized_flows=tuple(sizes),
        sizes_bytes=sizes,
        writes={flow.name: flow.writes for flow in scenario.tcp if flow.writes is not None},
        tcp_info=scenario.record.tcp_info,
    )
    return Measured({name: Table.of(table) for name, table in tables.items()}, {}, measure)


def summary_of(theirs: Members, whole: Summary, run: Measured) -> dict[str, Any]:
    """The summary of a part, given that of the whole run. A single flow has the goodput that it has in `flows`."""
    flows = theirs.flows
    shares = [run.own_goodput[flows[0]]] if len(flows) == 1 else [run.goodput[flow] for flow in flows]
    found: dict[str, Any] = {"goodput_mbps": {"total": sum(shares)}} if run.goodput and flows else {}
    own = frozenset(flows)
    jain = values.jain_among([[flow for flow in group if flow in own] for group in run.measure.competing], run)
    windows = {flow: each for flow, each in whole.get("cwnd_segments", {}).items() if flow in own}
    airtime = whole.get("airtime_share", {}).get(theirs.host)
    found |= {} if jain is None else {"jain": jain}
    found |= {"cwnd_segments": windows} if windows else {}
    holds = {flow: each for flow, each in whole.get("held", {}).items() if flow in own}
    found |= {"held": holds} if holds else {}
    delays = {flow: each for flow, each in whole.get("udp_delay_ms", {}).items() if flow in own}
    found |= {"udp_delay_ms": delays} if delays else {}
    found |= {} if airtime is None else {"airtime_share": airtime}
    return found | _of_sockets(flows, run) | _of_pings(theirs.pings, run)


def _of_sockets(flows: Sequence[str], run: Measured) -> dict[str, Any]:
    table = run.sockets
    if table is None:
        return {}
    theirs = table.where(table.words("flow").among(flows))
    rtt = metrics.percentiles(metrics.tcp_rtt_samples(theirs, run.window)) if len(theirs) else None
    found: dict[str, Any] = {} if rtt is None else {"tcp_rtt_ms": rtt}
    whole = run.tables.get("exchanges")
    exchanges = None if whole is None else whole.where(whole.words("flow").among(flows))
    if (len(theirs) or exchanges) and "total_retrans" in theirs:
        found["retransmits"] = metrics.retransmits(theirs, run.window, exchanges)
        if "bytes_sent" in theirs and (sent := sockets.retransmission_rates(theirs, run.window, exchanges)):
            found["retransmission_rate"] = {"total": metrics.rounded(sockets.together(sent.values()).rate)}
    return found


def _of_pings(pings: Sequence[str], run: Measured) -> dict[str, Any]:
    if "ping" not in run.tables or not pings:
        return {}
    table = run.tables["ping"]
    rtt = metrics.percentiles(metrics.ping_samples(table.where(table.words("ping").among(pings)), run.window))
    return {} if rtt is None else {"ping_ms": rtt}

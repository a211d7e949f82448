"""Warnings about ECN and L4S: marks that nobody makes or asks for, and scalable controls where L4S cannot work."""

from __future__ import annotations

from collections.abc import Iterator

from tailback import qdiscs
from tailback.resolved import Qdisc
from tailback.scenario.case import Case, Mistake
from tailback.scenario.packets import control_of, data_of

#: The controls that turn ECN on by themselves, because marks are what they answer. [linux-6.12 TCP_CONG_NEEDS_ECN]
NEED_MARKS = ("dctcp", "prague")

#: The controls that answer marks as L4S asks.
SCALABLE = ("prague",)

#: Values of the sysctl with which a host has AccECN.
ACCURATE = (3, 4, 5)

#: The sysctl by which a host requests ECN.
ECN = "net.ipv4.tcp_ecn"


def unmarked(case: Case) -> Iterator[Mistake]:
    """A control that answers marks, where nobody marks. Queues of Wi-Fi stations mark by themselves."""
    for flow in case.over_tcp:
        hops = case.network.links_on(*data_of(flow))
        if control_of(flow).kind not in NEED_MARKS or any(case.network.hops[link].radio for link, _ in hops):
            continue
        roots = [case.devices[case.network.device(*hop)].root for hop in hops]
        if not any(_marks(case, stage) for root in roots if root is not None for stage in root.tree):
            text = f"`{control_of(flow).kind}` answers marks, and no queue discipline marks packets on the path of "
            text += f"`{flow.names[0]}`"
            remedy = "let the bottleneck mark, such as `codel ecn`, `codel ce_threshold 1ms` or `fq_codel`"
            yield Mistake("no-marks", "warning", flow.loc, text, remedy)


def _marks(case: Case, stage: Qdisc) -> bool:
    told = case.option(stage, "ecn") == 1 or "ce_threshold" in stage.options
    return told or qdiscs.of(stage.kind).marks == "always"


def scalable(case: Case) -> Iterator[Mistake]:
    """A scalable control where L4S cannot work: a classic queue with marks, or a sender that does not pace."""
    for flow in case.over_tcp:
        if control_of(flow).kind not in SCALABLE:
            continue
        hops = case.network.links_on(*data_of(flow))
        roots = [case.devices[case.network.device(*hop)].root for hop in hops]
        kind, flow_name = control_of(flow).kind, flow.names[0]
        for stage in (stage for root in roots if root is not None for stage in root.tree):
            if qdiscs.of(stage.kind).law_of == "all flows" and case.option(stage, "ecn") == 1:
                text = f"`{stage.kind}` marks the packets of `{flow_name}` as a classic queue, and `{kind}` cuts little"
                remedy = "use a dual queue (`tailback explain l4s`), or a queue per flow such as `fq_codel`"
                yield Mistake("scalable-in-classic-queue", "warning", flow.loc, text, remedy)
        first = roots[0] if roots else None
        if first is not None and any(stage.kind == "fq" and stage.options.get("pacing") == 0 for stage in first.tree):
            text = f"`{kind}` needs pacing, and the `fq` of the sender of `{flow_name}` does not pace"
            yield Mistake("scalable-unpaced", "warning", flow.loc, text, "remove `nopacing`")


def accurate_at_one_end(case: Case) -> Iterator[Mistake]:
    hosts = case.keys.hosts or {}

    def value(host: str) -> int:
        given = hosts[host].sysctl.get(ECN, 2) if host in hosts else 2
        return int(given) if isinstance(given, int | str) else 2

    for flow in case.over_tcp:
        source, target = data_of(flow)
        asked = [host for host in (source, target) if value(host) in ACCURATE]
        if len(asked) == 1 and control_of(flow).kind not in SCALABLE:
            text = f"`{asked[0]}` has AccECN and its peer has not, so `{flow.names[0]}` does not use it"
            remedy = f"give both hosts `stack: linux-7.3` and `sysctl: {{{ECN}: 3}}`"
            yield Mistake("accecn-at-one-end", "warning", flow.loc, text, remedy)


def ecn_not_requested(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    """A discipline that is told to mark, in a file that does not say which hosts request ECN."""
    told = any(stage.options.get("ecn") == 1 for stage in root.tree)
    said = any(ECN in host.sysctl for host in (case.keys.hosts or {}).values())
    flows = case.over_tcp_through(device)
    if told and not said and flows and not any(control_of(flow).kind in NEED_MARKS for flow in case.over_tcp):
        sender = flows[0].direction.source
        text = "no host requests ECN, so `ecn` marks nothing"
        remedy = f"give the hosts that connect the sysctl: hosts: {{{sender}: {{sysctl: {{{ECN}: 1}}}}}}"
        yield Mistake("ecn-not-requested", "warning", ("qdiscs", device), text, remedy)

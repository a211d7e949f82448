"""The disciplines of a scenario on Linux: what stands above them on a device, their commands, and their changes.

The rate of a link is an HTB above the discipline of the scenario, unless that is a shaper; a trace is the discipline
`opportunities` of our kernel.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from tailback import qdiscs
from tailback.backends.linux.hops import families_of, hops_of, radio_hops
from tailback.backends.linux.late_options import configure, unknown_in
from tailback.backends.linux.links import FRAMING, PREAMBLE_AND_GAP, SHORTEST_FRAME, Hop, rewire, states, wire
from tailback.backends.linux.sockets import with_sockets
from tailback.backends.linux.steps import TC, Json, run
from tailback.backends.linux.trees import NOTHING, Matches, Socket, Tree
from tailback.qdiscs import words_of
from tailback.resolved import Qdisc, Scenario

OPPORTUNITIES = "opportunities"
"""The discipline of our kernel that follows a trace."""


def is_shaper(root: Qdisc | None) -> bool:
    """Whether a discipline tree contains a shaper."""
    chained = root
    while chained is not None:
        row = qdiscs.of(chained.kind)
        if row.shaper in chained.options or (row.class_rates and chained.classes):
            return True
        chained = chained.child
    return False


def root_of(scenario: Scenario, hop: Hop) -> Qdisc | None:
    """The root discipline of a device, including the default one; `None` if it has none."""
    given = scenario.root(hop.host, hop.link)
    if given is not None:
        return given
    link = scenario.links[hop.link]
    holds = link.rate_bps[hop.end] is not None or link.trace[hop.end] is not None
    return Qdisc(kind="pfifo_fast") if holds else None


def attached(scenario: Scenario, hops: Sequence[Hop]) -> Iterator[Json]:
    """The steps that attach the disciplines and build the links behind them."""
    matches = matches_of(scenario)
    for hop in hops:
        link = scenario.links[hop.link]
        root = tree_of(root_of(scenario, hop), link.rate_bps[hop.end])
        if link.trace[hop.end] is not None:
            yield run(hop.host, TC, "qdisc", "add", "dev", hop.device, "root", "handle", "1:", OPPORTUNITIES)
        if root is not None:
            depth = int(link.trace[hop.end] is not None)
            yield from attach_tree(hop, root, matches, depth, unknown_in(root))
        yield from wire(hop, link)


def changes(scenario: Scenario, hops: Sequence[Hop]) -> Iterator[Json]:
    """The steps during the run."""
    for hop in hops:
        rate_bps = scenario.links[hop.link].rate_bps[hop.end]
        hidden = _is_hidden(root_of(scenario, hop), rate_bps)
        for at_ns, state in states(scenario.links[hop.link], hop.end)[1:]:
            steps = [*rewire(hop, state)]
            if hidden and state.rate_bps is not None and state.rate_bps != rate_bps:
                place = ["parent", "1:", "classid", "1:1", "htb", *words_of("htb", _link_shaper(state.rate_bps))]
                steps.append(run(hop.host, TC, "class", "change", "dev", hop.device, *place))
            rate_bps = state.rate_bps
            yield {"at_ns": at_ns, "steps": steps}


def _is_hidden(root: Qdisc | None, rate_bps: int | None) -> bool:
    """Whether the rate of a link needs a shaper that the scenario does not have."""
    return rate_bps is not None and not is_shaper(root)


def hidden_of(scenario: Scenario, hop: Hop) -> int:
    """The number of disciplines above those of the scenario on a device."""
    link = scenario.links[hop.link]
    follows = link.trace[hop.end] is not None
    return int(follows or _is_hidden(root_of(scenario, hop), link.rate_bps[hop.end]))


def _link_shaper(rate_bps: int) -> dict[str, int]:
    # A frame, and the data of 10 µs, because the timer may be a little late.
    burst = 1600 + rate_bps // 800_000
    frames = {"overhead": FRAMING, "mpu": SHORTEST_FRAME + PREAMBLE_AND_GAP}
    return {"rate": rate_bps, "burst": burst, "cburst": burst, "quantum": 1514, **frames}


def tree_of(root: Qdisc | None, rate_bps: int | None) -> Qdisc | None:
    """The disciplines of a device on a link of that rate: those of the scenario, below a shaper if they have none."""
    if rate_bps is None or not _is_hidden(root, rate_bps):
        return root
    return Qdisc(kind="htb", options=_link_shaper(rate_bps), child=root)


def attach(hop: Hop, depth: int, kind: str, options: Mapping[str, int]) -> Iterator[Json]:
    """The steps that attach a discipline at `depth` below the root, to the only class of its parent."""
    place = ["root"] if depth == 0 else ["parent", f"{depth}:1"]
    for command in Tree(hop.device, NOTHING).commands(Qdisc(kind=kind, options=options), depth, place):
        yield run(hop.host, TC, *command)


def attach_tree(
    hop: Hop, root: Qdisc, matches: Matches, depth: int = 0, unknown: Container[str] = ()
) -> Iterator[Json]:
    """The steps that attach a discipline and its children, at `depth` below the root. `tc` does not know the options of
    `unknown` kinds.
    """
    place = ["root"] if depth == 0 else ["parent", f"{depth}:1"]
    tree = Tree(hop.device, matches, unknown)
    for command in tree.commands(root, depth, place):
        yield run(hop.host, TC, *command)
    for handle, node in tree.untold:
        yield configure(hop, handle, node)


def traces(scenario: Scenario, hops: Sequence[Hop]) -> Json:
    """The devices that deliver at the times of a trace, for the agent."""
    found = []
    for hop in hops:
        index = scenario.links[hop.link].trace[hop.end]
        if index is not None:
            stamps_ms = list(scenario.traces[index].stamps_ms)
            found.append({"host": hop.host, "device": hop.device, "stamps_ms": stamps_ms})
    return {"traces": found} if found else {}


def matches_of(scenario: Scenario) -> Matches:
    """The values that filters of this scenario may match."""
    addresses: dict[int, list[str]] = {}
    for hop in (*hops_of(scenario), *radio_hops(scenario)):
        own = (family.address(hop.link, hop.end) for family in families_of(scenario))
        addresses.setdefault(hop.host, []).extend(own)
    sockets: dict[str, list[Socket]] = {}
    for flow, socket in with_sockets(scenario):
        for name in {flow.name, flow.name.rpartition(".")[0] or flow.name}:
            sockets.setdefault(name, []).append(socket)
    return Matches(addresses, sockets, tuple(family.version for family in families_of(scenario)))

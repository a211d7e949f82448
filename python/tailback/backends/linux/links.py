"""Emulates a link: a netem behind an ifb on the receiving host, and its changes during the run.

    rate       netem adds the transmission time (length / rate); an HTB on the sending device limits the rate
               (`disciplines.py`). The length of a frame includes its preamble, frame check sequence and gap. Where the
               sending device cuts skbs, HTB has counted them once for each skb: netem then leaves them out, or it
               would be slower than HTB, and packets would queue in it
    jitter     applies after the transmission time and therefore needs a second netem below that of the rate. netem
               keeps the order of packets if it has a rate; that of the second is the highest possible
    reorder    applies after the transmission time too: in a single netem, a packet that overtakes would skip it
    loss, duplicate                netem's own
    corrupt    a loss, in a netem above the other if the link also has `loss`
    down       netem drops all packets
    police     an action before the ifb, so that a packet that exceeds meets none of the above

A frame check finds every corrupted frame. netem's own `corrupt` spares a fifth of the packets here: it flips a bit of
the linear part, which is the headers once a router has forwarded the packet, and behind an ifb nobody looks at the
Ethernet header any more. [linux-6.12 sch_netem.c netem_enqueue, drivers/net/ifb.c]

A change is a `tc qdisc change` of that netem, and a `tc class change` of the HTB, at its time of the run. It gives all
options, because netem keeps those that a change does not name. [linux-6.12 sch_netem.c netem_change]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tailback.backends.linux.steps import IP, TC, Json, Words, run
from tailback.resolved import Change, Link, Policer, Scenario
from tailback.tc.writing import time_word

PREAMBLE_AND_GAP = 20
"""Bytes on the wire around each frame: 8 of preamble, 12 of gap."""

FRAMING = PREAMBLE_AND_GAP + 4
"""Bytes on the wire that are not part of the length of an skb: preamble, gap and frame check sequence."""

SHORTEST_FRAME = 64
"""Minimum length of a frame in bytes, with its frame check sequence."""

LARGEST_LIMIT = 1_000_000
"""Limit in packets of a netem that must not drop."""

IN_ORDER_BPS = 10**13
"""A rate with practically no transmission time, which makes netem keep the order."""

WHOLE = 2**32 - 1
DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
"""The values of `distribution` in netem's row of the registry."""


@dataclass(frozen=True)
class Hop:
    """One direction of a link, from the sender's view."""

    link: int
    end: int
    host: int
    neighbour: int
    cell: int | None = field(default=None, kw_only=True)
    """The Wi-Fi cell, if the link is that of a station to its access point."""
    framing: int = field(default=FRAMING, kw_only=True)
    """Bytes that the netem on the receiving host adds to each frame: none if the sending device cuts skbs."""

    @property
    def device(self) -> str:
        """The name of the sending device, and of the receiving device on the other host."""
        return f"l{self.link}" if self.cell is None else f"w{self.cell}"

    @property
    def behind(self) -> str:
        """The ifb behind the receiving device."""
        return f"i{self.link}"


def device_name(scenario: Scenario, hop: Hop) -> str:
    """The name of a device in tables and captures."""
    return f"{scenario.hosts[hop.host].name} -> {scenario.hosts[hop.neighbour].name}"


@dataclass(frozen=True)
class State:
    """The state of one direction of a link."""

    rate_bps: int | None
    delay_ns: int
    netem: Mapping[str, int]
    up: bool
    keeps_order: bool
    """Whether the link has jitter at any time of the run, so that netem must keep the order."""
    reorders: bool
    """Whether the link reorders packets at any time of the run."""
    corrupts_and_loses: bool
    """Whether the link both corrupts and loses packets at any time of the run."""

    @property
    def loses(self) -> bool:
        """Whether packets are lost: by chance, because they are corrupted, or because the link is down."""
        return not self.up or bool(_loss_words(self.netem) or _corruption_words(self.netem))

    @property
    def takes_two(self) -> bool:
        """Whether the transmission time or corruption needs a netem of its own."""
        wire_first = self.rate_bps is not None and (self.keeps_order or self.reorders)
        return wire_first or self.corrupts_and_loses


def lowest_rate(link: Link, end: int) -> int | None:
    """The lowest rate of an end over the run."""
    rates = [link.rate_bps[end], *(change.rate_bps for change in link.changes(end))]
    return min((rate for rate in rates if rate is not None), default=None)


def states(link: Link, end: int) -> list[tuple[int, State]]:
    """The states of one direction, each with the time in ns from which it applies; the first from 0."""
    changes = link.changes(end)
    all_of_run = (link.netem[end], *(change.netem or {} for change in changes))
    keeps_order, reorders, corrupts = (
        any(netem.get(name) for netem in all_of_run) for name in ("jitter", "reorder", "corrupt")
    )
    loses = any(_loss_words(netem) for netem in all_of_run)
    now = State(
        link.rate_bps[end], link.delay_ns[end], link.netem[end], True, keeps_order, reorders, corrupts and loses
    )
    found = [(0, now)]
    for change in changes:
        now = _changed(now, change)
        found.append((change.at_ns, now))
    return found


def _changed(now: State, change: Change) -> State:
    return replace(
        now,
        rate_bps=now.rate_bps if change.rate_bps is None else change.rate_bps,
        delay_ns=now.delay_ns if change.delay_ns is None else change.delay_ns,
        netem=now.netem if change.netem is None else change.netem,
        up=now.up if change.up is None else change.up,
    )


def is_emulated(hop: Hop, link: Link) -> bool:
    """Whether a direction of a link has effects, for which there is an ifb on the receiving host."""
    found = [state for _, state in states(link, hop.end)]
    policed = link.police[hop.end] is not None
    return policed or len(found) > 1 or bool(found[0].delay_ns or found[0].rate_bps is not None or found[0].netem)


def wire(hop: Hop, link: Link) -> Iterator[Json]:
    """The steps that emulate a link on the receiving host; none for a link without effects."""
    if not is_emulated(hop, link):
        return
    _, first = states(link, hop.end)[0]
    receiver, device = hop.neighbour, hop.behind
    yield run(receiver, IP, "link", "add", device, "type", "ifb")
    yield run(receiver, IP, "link", "set", device, "up")
    yield run(receiver, TC, "qdisc", "add", "dev", hop.device, "handle", "ffff:", "ingress")
    redirect = [
        "matchall",
        *police_words(link.police[hop.end]),
        "action",
        "mirred",
        "egress",
        "redirect",
        "dev",
        device,
    ]
    yield run(receiver, TC, "filter", "add", "dev", hop.device, "parent", "ffff:", *redirect)
    for place, words in netems(first, hop.framing):
        yield run(receiver, TC, "qdisc", "add", "dev", device, *place, *words)


def police_words(policer: Policer | None) -> Words:
    """The action that drops what exceeds and hands the rest on."""
    if policer is None:
        return []
    words = ["action", "police", "rate", f"{policer.rate_bps}bit", "burst", f"{policer.burst}b"]
    if policer.peakrate_bps is not None:
        words += ["peakrate", f"{policer.peakrate_bps}bit"]
    if policer.mtu is not None:
        words += ["mtu", f"{policer.mtu}b"]
    return [*words, "conform-exceed", "drop/pipe"]


def rewire(hop: Hop, state: State) -> Iterator[Json]:
    """The steps that change the state of a link."""
    for place, words in netems(state, hop.framing, whole=True):
        yield run(hop.neighbour, TC, "qdisc", "change", "dev", hop.behind, *place, *words)


def netems(state: State, framing: int, *, whole: bool = False) -> Iterator[tuple[Words, Words]]:
    """The disciplines that emulate a link, each with its parent. With `whole`, also options that are off, to reset
    earlier ones.
    """
    in_order = IN_ORDER_BPS if state.keeps_order else None
    if not state.takes_two:
        yield ["root"], _netem_words(state, _rate_words(state.rate_bps or in_order, framing), whole=whole)
        return
    corrupted = _corruption_words(state.netem) if state.corrupts_and_loses else []
    first = [*_rate_words(state.rate_bps, framing), *corrupted]
    yield ["root", "handle", "1:"], ["netem", "limit", str(LARGEST_LIMIT), *first]
    yield ["parent", "1:1", "handle", "2:"], _netem_words(state, _rate_words(in_order, framing), whole=whole)


def _netem_words(state: State, rate: Words, *, whole: bool) -> Words:
    given = state.netem
    words = ["netem", "limit", str(LARGEST_LIMIT), *_delay_words(state), *rate]
    if not state.up:
        words += ["loss", "100%"]
    elif state.corrupts_and_loses:
        words += _loss_words(given)
    else:
        words += _loss_words(given) or _corruption_words(given)
    for name in ("duplicate", "reorder"):
        if name in given or (whole and name != "reorder"):
            words += [name, _share(given.get(name, 0)), _share(given.get(f"{name}_correlation", 0))]
    return words + (["gap", str(given["gap"])] if "gap" in given else [])


def _rate_words(rate_bps: int | None, framing: int) -> Words:
    return [] if rate_bps is None else ["rate", f"{rate_bps}bit", str(framing)]


def _delay_words(state: State) -> Words:
    given = state.netem
    if not given.get("jitter"):
        return ["delay", time_word(state.delay_ns)]
    words = ["delay", time_word(state.delay_ns), time_word(given["jitter"]), _share(given.get("delay_correlation", 0))]
    shape = DISTRIBUTIONS[given.get("distribution", 0)]
    return words if shape == DISTRIBUTIONS[0] else [*words, "distribution", shape]


def _loss_words(given: Mapping[str, int]) -> Words:
    model = given.get("loss_model", 0)
    ecn = ["ecn"] if given.get("ecn") else []
    if model == 0:
        own = [_share(given[name]) for name in ("loss", "loss_correlation") if name in given]
        return ["loss", "random", *own, *ecn] if own else []
    names = ("p13", "p31", "p32", "p23", "p14") if model == 1 else ("p", "r", "1-h", "1-k")
    own = [_share(given[name]) for name in names if name in given]
    return ["loss", "state" if model == 1 else "gemodel", *own, *ecn]


def _corruption_words(given: Mapping[str, int]) -> Words:
    own = [_share(given[name]) for name in ("corrupt", "corrupt_correlation") if name in given]
    return ["loss", "random", *own] if own else []


def _share(value: int) -> str:
    return f"{value / WHOLE * 100:.9f}%"


def cuts_segments(scenario: Scenario, link: Link, host: int) -> bool:
    """Whether the sending device must segment skbs of several segments, because either end is not `on`."""
    return _offloads(scenario, host) != "off" and any(_offloads(scenario, end) != "on" for end in link.ends)


def sends_one_segment(scenario: Scenario, link: Link, host: int) -> bool:
    """Whether no skb that the sending device takes has several segments."""
    return _offloads(scenario, host) == "off" or cuts_segments(scenario, link, host)


def most_segments(scenario: Scenario, host: int) -> Words:
    """The option of `ip link` that keeps skbs at one segment, if the offloads of the host are `off`."""
    return ["gso_max_segs", "1"] if _offloads(scenario, host) == "off" else []


def _offloads(scenario: Scenario, host: int) -> str:
    return scenario.hosts[host].offloads

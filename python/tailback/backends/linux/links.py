"""Emulates a link between its two ends: a netem behind an ifb on the receiving host, and its changes.

    rate       netem adds the time on the wire (length / rate); what holds packets back is an HTB on the device that
               sends (`job.py`)
               A frame counts with its preamble, frame check sequence and gap
    jitter     comes after the wire, so it takes a second netem inside that of the rate. netem keeps the order of
               packets where it has a rate; the second has the highest rate there is
    reorder    comes after the wire too: in one netem, a packet that overtakes would skip the wire
    loss, duplicate, corrupt       netem's own
    down       netem loses everything

`corrupt` differs from the simulator's: netem flips a bit of the headers, and a fifth of those are Ethernet's, which
nobody looks at again here. On a link a frame check would find it, as the simulator has it.

A change is `tc qdisc change` of that netem, and `tc class change` of the HTB, at its instant of the run. netem keeps
what a change does not name, so that each names everything. [linux-6.12 sch_netem.c netem_change]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tailback.backends.linux.steps import IP, TC, Json, Words, run
from tailback.resolved import Change, Link
from tailback.tc.writing import time_word

PREAMBLE_AND_GAP = 20
"""Bytes on the wire around each frame: preamble 8, gap 12. """

FRAMING = PREAMBLE_AND_GAP + 4
"""Bytes on the wire that the length of an skb does not count: also the frame check sequence."""

SHORTEST_FRAME = 64
"""Bytes of a frame with its frame check sequence, at least."""

LARGEST_LIMIT = 1_000_000
"""Packets of a netem that must never drop."""

IN_ORDER_BPS = 10**13
"""A rate that takes no time, and has netem keep the order."""

WHOLE = 2**32 - 1
DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
"""Of the registry's row of netem, `distribution`."""


@dataclass(frozen=True)
class Hop:
    """One direction of a link, seen by who sends."""

    link: int
    end: int
    host: int
    neighbour: int

    @property
    def device(self) -> str:
        """The device that sends, and on the other host the one that receives."""
        return f"l{self.link}"

    @property
    def behind(self) -> str:
        """The ifb behind the device that receives."""
        return f"i{self.link}"


@dataclass(frozen=True)
class State:
    """One direction of a link at a moment."""

    rate_bps: int | None
    delay_ns: int
    netem: Mapping[str, int]
    up: bool
    keeps_order: bool
    """It has jitter at some time of the run."""
    reorders: bool
    """It reorders at some time of the run."""

    @property
    def takes_two(self) -> bool:
        """The time on the wire needs a netem of its own."""
        return self.rate_bps is not None and (self.keeps_order or self.reorders)


def lowest_rate(link: Link, end: int) -> int | None:
    """The lowest it ever sends at."""
    rates = [link.rate_bps[end], *(change.rate_bps for change in link.changes(end))]
    return min((rate for rate in rates if rate is not None), default=None)


def states(link: Link, end: int) -> list[tuple[int, State]]:
    """How one end's packets fare from which ns of the run on; the first from its start."""
    changes = link.changes(end)
    all_of_run = (link.netem[end], *(change.netem or {} for change in changes))
    keeps_order, reorders = (any(netem.get(name) for netem in all_of_run) for name in ("jitter", "reorder"))
    now = State(link.rate_bps[end], link.delay_ns[end], link.netem[end], True, keeps_order, reorders)
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


def wire(hop: Hop, link: Link) -> Iterator[Json]:
    """The emulation of a link, on the receiving host; nothing for a link without any effect."""
    found = [state for _, state in states(link, hop.end)]
    if len(found) == 1 and found[0].delay_ns == 0 and found[0].rate_bps is None and not found[0].netem:
        return
    receiver, device = hop.neighbour, hop.behind
    yield run(receiver, IP, "link", "add", device, "type", "ifb")
    yield run(receiver, IP, "link", "set", device, "up")
    yield run(receiver, TC, "qdisc", "add", "dev", hop.device, "handle", "ffff:", "ingress")
    redirect = ["matchall", "action", "mirred", "egress", "redirect", "dev", device]
    yield run(receiver, TC, "filter", "add", "dev", hop.device, "parent", "ffff:", *redirect)
    for place, words in netems(found[0]):
        yield run(receiver, TC, "qdisc", "add", "dev", device, *place, *words)


def rewire(hop: Hop, state: State) -> Iterator[Json]:
    """The steps that put a link into another state."""
    for place, words in netems(state, whole=True):
        yield run(hop.neighbour, TC, "qdisc", "change", "dev", hop.behind, *place, *words)


def netems(state: State, *, whole: bool = False) -> Iterator[tuple[Words, Words]]:
    """The disciplines that emulate a link, each with its place; with `whole` also the options that are off, to undo
    earlier ones.
    """
    in_order = IN_ORDER_BPS if state.keeps_order else None
    if not state.takes_two:
        yield ["root"], _netem_words(state, state.rate_bps or in_order, whole=whole)
        return
    yield ["root", "handle", "1:"], ["netem", "limit", str(LARGEST_LIMIT), *_rate_words(state.rate_bps)]
    yield ["parent", "1:1", "handle", "2:"], _netem_words(state, in_order, whole=whole)


def _netem_words(state: State, rate_bps: int | None, *, whole: bool) -> Words:
    given = state.netem
    words = ["netem", "limit", str(LARGEST_LIMIT), *_delay_words(state)]
    words += _rate_words(rate_bps)
    words += _loss_words(given) if state.up else ["loss", "100%"]
    for name in ("duplicate", "corrupt", "reorder"):
        if name in given or (whole and name != "reorder"):
            words += [name, _share(given.get(name, 0)), _share(given.get(f"{name}_correlation", 0))]
    return words + (["gap", str(given["gap"])] if "gap" in given else [])


def _rate_words(rate_bps: int | None) -> Words:
    return [] if rate_bps is None else ["rate", f"{rate_bps}bit", str(FRAMING)]


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


def _share(value: int) -> str:
    return f"{value / WHOLE * 100:.9f}%"

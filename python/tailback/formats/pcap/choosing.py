"""Which flows of a capture are measured, which are left out and why, and over which time.

Left out are flows without data, the control connections of measurement programs, and flows of a few kilobytes beside
large ones. `--flow` names flows, which then count whatever they are; `--port` leaves only those of a port.
The window is by default from the first to the last data of the bulk flows: those with at least a tenth of the largest.
"""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tailback.analysis.acks import Samples
from tailback.analysis.conversations import SYN, Conversations, Ints, Mask
from tailback.formats.errors import NotReadable
from tailback.formats.pcap.tap import Positions

TINY = 10_000
"""Bytes of a flow that is left out beside flows of ten times as much."""
MUCH_MORE = 10
BULK = 0.1
"""The share of the largest flow that makes a bulk flow."""

COOKIE = 37
"""Bytes with which each connection of iperf3 begins. [iperf3 iperf.h COOKIE_SIZE]"""

CONTROL_PORTS = {22: "SSH", 12865: "netperf's control connection"}

LISTED = 5


@dataclass(frozen=True)
class Choice:
    """What the user asks for."""

    flows: Sequence[str] = ()
    """Names, or one end (`10.0.0.1`, `10.0.0.1:5201`), or patterns with `*`; of both directions."""
    ports: Sequence[int] = ()
    window_ns: tuple[int, int] | None = None
    """In time of the capture; None: that of the bulk flows."""


@dataclass(frozen=True, eq=False)
class Found:
    """The directions of a capture, each with its data and what became of it."""

    packets: Conversations
    data: Samples
    """Bytes of each direction: acknowledged ones, or those that passed."""
    positions: Positions
    totals: Ints
    begins_ns: Ints
    """The first data of each direction."""
    ends_ns: Ints
    reasons: list[str]
    """Why each is left out; empty if it is taken."""
    trips: Samples
    again: Samples
    forwards: bool = False
    """Whether the host of the capture forwards the packets, so that it has them on two interfaces."""
    notes: list[str] = field(default_factory=list)

    @property
    def taken(self) -> Ints:
        """The directions that are measured."""
        return np.flatnonzero(np.array([not reason for reason in self.reasons], dtype=bool))


def chosen(found: Found, choice: Choice) -> None:
    """Says of each direction whether it is taken."""
    data, fits = found.totals > 0, np.ones(len(found.totals), dtype=bool)
    for each in np.flatnonzero(~data).tolist():
        found.reasons[each] = "no data"
    if choice.ports:
        fits = _has_port(found.packets, choice.ports)
        _leave(found, ~fits, f"not of port {', '.join(map(str, choice.ports))}")
    if choice.flows:
        # A name counts whatever the flow is.
        fits &= _named(found.packets.names, choice.flows)
        _leave(found, ~fits, "not named by --flow")
    else:
        _leave_small(found)
    if (choice.flows or choice.ports) and not (fits & data).any():
        raise NotReadable(_none_named(found, [*choice.flows, *(f"port {port}" for port in choice.ports)]))


def _leave_small(found: Found) -> None:
    """Leaves out what belongs to the programs, and small flows beside large ones."""
    answers = [each for each in range(len(found.totals)) if found.totals[each] and _is_answer(found, each)]
    told = _controls(found) | dict.fromkeys(answers, "a few bytes, in a connection whose data goes the other way")
    for each, what in told.items():
        found.reasons[each] = found.reasons[each] or what
    sizes = found.totals[found.taken]
    if len(sizes) and sizes.max() >= MUCH_MORE * TINY:
        _leave(found, found.totals < TINY, f"less than {TINY // 1000} kB, beside flows of much more")


def _leave(found: Found, which: Mask, reason: str) -> None:
    for each in np.flatnonzero(which & (found.totals > 0)).tolist():
        if not found.reasons[each]:
            found.reasons[each] = reason


def _is_answer(found: Found, each: int) -> bool:
    other = found.packets.back[each]
    return bool(other >= 0 and found.totals[each] < TINY and found.totals[other] >= MUCH_MORE * found.totals[each])


def _has_port(packets: Conversations, ports: Sequence[int]) -> Mask:
    first = packets.first
    return np.isin(packets.columns["sport"][first], ports) | np.isin(packets.columns["dport"][first], ports)


def _named(names: Sequence[str], wanted: Sequence[str]) -> Mask:
    found = np.zeros(len(names), dtype=bool)
    for word in wanted:
        plain = " ".join(word.split())
        for place, name in enumerate(names):
            source, _, target = name.partition(" > ")
            ends = (source, target.partition(" (")[0])
            hosts = tuple(host_of(end) for end in ends)
            if plain in (name, *ends, *hosts) or (
                "*" in plain and any(fnmatch.fnmatchcase(each, plain) for each in (name, *ends))
            ):
                found[place] = True
    return found


def host_of(end: str) -> str:
    """The host of an end such as `10.0.0.1:5201` or `[fd00::1]:5201`."""
    return end.rpartition(":")[0].strip("[]")


def _none_named(found: Found, wanted: Sequence[str]) -> str:
    largest = [
        found.packets.names[each] for each in np.argsort(-found.totals, kind="stable")[:LISTED] if found.totals[each]
    ]
    what = f"no flow with data is {' or '.join(f'`{word}`' for word in wanted)}"
    return f"{what}\n  hint: the largest are {', '.join(largest) or 'none'}"


def _controls(found: Found) -> dict[int, str]:
    """The control connections of measurement programs, and of SSH beside larger flows."""
    packets = found.packets
    told: dict[int, str] = {}
    largest = int(found.totals.max(initial=0))
    for port, what in CONTROL_PORTS.items():
        for each in np.flatnonzero(_has_port(packets, (port,))).tolist():
            if found.totals[each] < BULK * largest:
                told[each] = what
    return told | _of_iperf3(found)


def _of_iperf3(found: Found) -> dict[int, str]:
    """The first connection to a port, if it and later ones of the same hosts begin with iperf3's cookie."""
    packets = found.packets
    # With -u the data is UDP to the same port.
    cookie = np.where(packets.tcp, _first_payloads(packets) == COOKIE, found.totals > 0)
    groups: dict[tuple[int, int, int], list[int]] = {}
    for each in np.flatnonzero(cookie).tolist():
        row = packets.first[each]
        source, target, port = (int(packets.columns[name][row]) for name in ("source", "target", "dport"))
        groups.setdefault((source, target, port), []).append(each)
    told: dict[int, str] = {}
    for members in groups.values():
        if not packets.tcp[members].any():
            continue
        # Each run has a control connection, which opens first, and closes after the others.
        both = [_total_of(found, each) + _total_of(found, int(packets.back[each])) for each in members]
        for each, total in zip(members, both, strict=True):
            if packets.tcp[each] and total * MUCH_MORE < max(both):
                told[each] = "iperf3's control connection"
                if packets.back[each] >= 0:
                    told[int(packets.back[each])] = "iperf3's control connection"
    return told


def _total_of(found: Found, each: int) -> int:
    return int(found.totals[each]) if each >= 0 else 0


def _first_payloads(packets: Conversations) -> Ints:
    """The bytes of the first packet with data of each direction."""
    payload = packets.columns["payload"]
    rows = np.flatnonzero((payload > 0) & ((packets.columns["flags"] & SYN) == 0))
    found = np.zeros(len(packets), dtype=np.int64)
    codes, first = np.unique(packets.code[rows], return_index=True)
    found[codes] = payload[rows[first]]
    return found


def window(found: Found, asked: tuple[int, int] | None, span_ns: tuple[int, int]) -> tuple[tuple[int, int], str]:
    """The measurement window in time of the capture, and what it is."""
    start, last = span_ns
    length = last - start
    if asked is not None:
        if asked[0] >= length:
            what = f"--window begins at {asked[0] / 1e9:g} s, and the capture has {length / 1e9:.3f} s"
            raise NotReadable(f"{what}\n  hint: times are counted from the first packet")
        return (asked[0], min(asked[1], length + 1)), "as --window says"
    taken = found.taken
    if not len(taken):
        return (0, length + 1), "the whole capture"
    bulk = taken[found.totals[taken] >= BULK * found.totals[taken].max()]
    begins, ends = int(found.begins_ns[bulk].min()) - start, int(found.ends_ns[bulk].max()) - start
    return (begins, max(ends, begins) + 1), "from the first to the last data of the bulk flows"

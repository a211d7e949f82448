"""Expands presets and defaults in traffic entries: the flows with their names and start times.

Entries without a `name` that would have one name are numbered in the order of the file, `upload.1` and `upload.2`; a
preset that shares a name with another entry is named after its test, `rrul.ping`.

`flows: 4` remains one entry here (`Bulk.names` has the four names); presets, which are tests of Flent, become `Bulk`,
`Echo` and `Datagrams` entries.   [flent tests/tcp_nup.conf, tcp_ndown.conf, tcp_bidirectional.conf, rrul.conf,
rrul_be.conf, udp_flood.conf, ping.conf]

`responsiveness` is the test of the IETF's draft [responsiveness]: one load-generating connection more per second each
way, and probes that open a connection, ask once and close. The draft ends when goodput and RPM are stable over four
seconds each; here the number of connections is fixed.

`voip` is a G.711 call in both directions, where Flent sends one stream with D-ITG; `http` loads a page every 5 s, where
Flent fetches a list of addresses again and again.   [flent tests/voip.conf, voip-1up.conf, voip-rrul.conf,
http.conf, http-1up.conf, http-rrul.conf]

RRUL, realtime response under load: four TCP flows each way, marked BE, BK (CS1), CS5 and EF, a ping, and pings over UDP
marked EF, BK and BE; `rrul_be` has the same without marks, and so have `voip-rrul` and `http-rrul`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tailback import qdiscs
from tailback.resolved import BroughtFile, ControlSource, Offloads, SmallQueue
from tailback.scenario import sides, traffic
from tailback.scenario.arrivals import Sizes
from tailback.scenario.cache import cached
from tailback.scenario.defaults import (
    DATAGRAM,
    DSCP,
    FLOOD,
    IP,
    JITTER,
    PING_SIZE,
    STACK,
    STACK_CC,
    STACKS_WITHOUT_WIFI_TSQ,
    START,
    UDP_PING_SIZE,
    WIFI_TSQ,
)
from tailback.scenario.hops import begins_on_air, network_of, wires
from tailback.scenario.names import Claims, Index
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Keys, Preset
from tailback.scenario.traffic import Flow
from tailback.scenario.traffic.kind import numbered
from tailback.scenario.traffic.ping import Echo
from tailback.scenario.traffic.program import Program
from tailback.scenario.traffic.tcp import PLAIN_SOCKET, Bulk
from tailback.scenario.tsq import small_queue
from tailback.scenario.values import Direction, Section, direction
from tailback.scenario.words import Algorithm
from tailback.tc import units

if TYPE_CHECKING:
    from tailback.scenario.traffic.udp import Datagrams

PRESETS: Mapping[str, str] = {
    "tcp_upload": "One TCP flow from the first host to the second, and a ping.",
    "tcp_nup": "`flows` TCP flows from the first host to the second, and a ping.",
    "tcp_download": "One TCP flow from the second host to the first, and a ping.",
    "tcp_ndown": "`flows` TCP flows from the second host to the first, and a ping.",
    "tcp_bidirectional": "One TCP flow each way, and a ping.",
    "rrul": (
        "Realtime response under load: four TCP flows each way, marked BE, BK (CS1), CS5 and EF, while a ping and "
        "three pings over UDP, marked EF, BK and BE, measure the latency. It shows what a busy line does to calls "
        "and games."
    ),
    "rrul_be": "RRUL without marks: four TCP flows each way, a ping, and three pings over UDP, all best effort.",
    "udp_flood": "UDP datagrams at `rate` from the first host to the second, and a ping.",
    "ping": "Only a ping from the first host to the second.",
    **{
        f"tcp_{count}up": f"{count} TCP flows from the first host to the second, and a ping."
        for count in (2, 4, 6, 8, 12)
    },
    **{f"tcp_{count}down": f"{count} TCP flows the other way, and a ping." for count in (2, 4, 6, 8, 12)},
    "tcp_1up": "One TCP flow from the first host to the second, and a ping.",
    "tcp_1down": "One TCP flow from the second host to the first, and a ping.",
    "voip": "A G.711 call in both directions, and a ping.",
    "voip-1up": "A G.711 call beside one TCP flow from the first host to the second, and a ping.",
    "voip-rrul": "A G.711 call beside the flows and pings of RRUL without marks.",
    "rrul_voip": "Another name of voip-rrul.",
    "http": "The median home page of 2024 over HTTP/2 every 5 s, and a ping.",
    "http-1up": "The pages of `http` beside one TCP flow from the first host to the second.",
    "http-1down": "The pages of `http` beside one TCP flow from the second host to the first.",
    "http-rrul": "The pages of `http` beside the flows and pings of RRUL without marks.",
    "responsiveness": (
        "Responsiveness under working conditions, by the IETF's draft: from `start` on, one TCP flow more per second "
        "each way, up to `flows`; and every `interval`, during the whole run, a connection that asks once and closes. "
        "`summary.json` has `rpm`, the round trips per minute, under load and before it (`idle`): let the load begin "
        "at 5s."
    ),
}
"""What each preset does, for `tailback explain`."""


@cached
def flows(keys: Keys) -> list[Flow]:
    """All flows of an experiment, in the order of the file."""
    found = [_flows_of(keys, index, entry) for index, entry in enumerate(keys.traffic)]
    for apart in (_presets_apart, _kinds_apart):
        for index, name in apart(keys.traffic, found).items():
            found[index] = _flows_of(keys, index, keys.traffic[index].model_copy(update={"name": name}))
    return [flow for of_entry in found for flow in of_entry]


def _flows_of(keys: Keys, index: int, entry: Section) -> list[Flow]:
    loc: Loc = ("traffic", index)
    if isinstance(entry, Program):
        return []
    if isinstance(entry, Preset):
        return [_of_preset(flow, entry) for flow in _preset(keys, loc, entry)]
    return [kind_of(entry).flow(entry, loc, _File(keys))]


def _of_preset(flow: Flow, entry: Preset) -> Flow:
    """A flow of a preset, whose name begins with that of the entry, if it has one."""
    return flow if entry.name is None else replace(flow, names=tuple(f"{entry.name}.{name}" for name in flow.names))


Made = Sequence[Sequence[Flow]]
"""The flows of each entry of `traffic`."""


def _presets_apart(entries: Sequence[Section], made: Made) -> dict[int, str]:
    """Names for presets without one, by index, some of whose flows have names that others have: those of the tests."""
    clashing = [index for index in _clashing(entries, made) if isinstance(entries[index], Preset)]
    tests = [entry.preset for index in clashing if isinstance(entry := entries[index], Preset)]
    return _numbered_apart(dict(zip(clashing, tests, strict=True)), None)


def _kinds_apart(entries: Sequence[Section], made: Made) -> dict[int, str]:
    """Names for entries without one, by index, that would have those of others: `upload.1`, `upload.2`."""
    clashing = [index for index in _clashing(entries, made) if not isinstance(entries[index], Preset)]
    if not clashing:
        return {}
    named = {index: _base(made[index][0].names) for index in clashing}
    others = Index([Claims.of(of_entry) for index, of_entry in enumerate(made) if index not in named])
    # Where another entry has NAME.1, NAME.2, ... without end no number is left: the check refuses that.
    bases = {index: base for index, base in named.items() if not others.numbers_all(base)}

    def taken(index: int, name: str) -> bool:
        return others.clashes(_renamed(Claims.of(made[index]), bases[index], name), None)

    return _numbered_apart(bases, taken)


def _renamed(claims: Claims, before: str, after: str) -> Claims:
    """The names of an entry as it would have them under another name, and that name."""
    names, endless = (
        frozenset(after + name.removeprefix(before) for name in each) for each in (claims.names, claims.endless)
    )
    return Claims(names | {after}, endless)


def _numbered_apart(bases: Mapping[int, str], taken: Callable[[int, str], bool] | None) -> dict[int, str]:
    """Each base with the next number that is not taken; without `taken`, only those that more than one has."""
    counts, numbers = Counter(bases.values()), dict.fromkeys(bases.values(), 0)
    found = {}
    for index, base in bases.items():
        if taken is None and counts[base] == 1:
            found[index] = base
            continue
        following = itertools.count(numbers[base] + 1)
        numbers[base] = next(number for number in following if taken is None or not taken(index, f"{base}.{number}"))
        found[index] = f"{base}.{numbers[base]}"
    return found


def _clashing(entries: Sequence[Section], made: Made) -> list[int]:
    """The entries without a name that have a name of another entry."""
    unnamed = {index for index, entry in enumerate(entries) if "name" not in entry.model_fields_set}
    if not unnamed:
        return []
    return [index for index in Index([Claims.of(of_entry) for of_entry in made]).clashing() if index in unnamed]


def _base(names: Sequence[str]) -> str:
    """The name of an entry without one, from those of its flows."""
    return names[0] if len(names) == 1 else names[0].rpartition(".")[0]


def kind_of(entry: Section) -> traffic.Kind:
    """The kind of an entry that is not a preset."""
    row = traffic.with_keys(type(entry))
    if row is None:
        raise traffic.NotListed(f"{type(entry).__name__} is no kind of traffic")
    return row


class _File(Struct, frozen=True):
    """The parts of the file that entries depend on (`traffic.File`)."""

    keys: Keys

    @property
    def duration(self) -> int:
        return self.keys.duration

    @property
    def client(self) -> str:
        return sides.clients(network_of(self.keys))[0]

    def control(self, sender: str) -> Algorithm:
        return _file_control(self.keys, sender)

    def device_rate(self, device: str) -> int | None:
        ends = direction(device)
        rates = [shaped(root) for name, root in self.keys.qdiscs.items() if direction(name) == ends]
        for wire in wires(self.keys):
            if set(wire.link.ends) == set(ends):
                rates.append(wire.link.rate[wire.link.ends.index(ends.source)])
        return min((rate for rate in rates if rate is not None), default=None)

    def small_queue(self, ends: Direction) -> SmallQueue:
        return _host_tsq(self.keys, ends.source) or _file_tsq(self.keys, ends)


def shaped(root: Algorithm) -> int | None:
    """The rate that the shapers of a chain of disciplines allow; `None` without one, or with classes."""
    if root.classes:
        return None
    own = root.options.get(qdiscs.of(root.kind).shaper)
    below = None if root.child is None else shaped(root.child)
    return min((rate for rate in (own, below) if rate is not None), default=None)


def _preset(keys: Keys, loc: Loc, entry: Preset) -> Iterator[Flow]:
    here, there = entry.hosts
    up, down = Direction(here, there), Direction(there, here)
    ups, downs = _loads(entry)
    if ups:
        yield _bulk(keys, loc, entry, up, numbered("upload", ups))
    if downs:
        yield _bulk(keys, loc, entry, down, numbered("download", downs))
    if entry.preset in RRUL:
        yield from _rrul(keys, loc, entry)
    if entry.preset in VOIP:
        yield _entry(keys, loc, "call", {"call": f"{here} -> {there}"})
    if entry.preset in WEB:
        yield _entry(keys, loc, "page", {"page": f"{here} -> {there}", "every": PAGES_EVERY})
    if entry.preset == "udp_flood":
        yield _flood(keys, loc, entry, up)
    if entry.preset == "responsiveness":
        yield from _responsiveness(keys, loc, entry)
    start, jitter, size = units.time(START), units.time(JITTER), units.size(PING_SIZE)
    ping = Echo(
        loc=loc,
        names=("ping",),
        direction=up,
        start_ns=start,
        stop_ns=keys.duration,
        jitter_ns=jitter,
        interval_ns=entry.interval,
        size=size,
        dscp=DSCP,
    )
    yield ping
    for mark in _UDP_PINGS.get(entry.preset, ()):
        dscp = _MARKS.get(mark, DSCP)
        yield replace(ping, names=(f"udp-ping.{mark}",), size=units.size(UDP_PING_SIZE), protocol="udp", dscp=dscp)


def _entry(keys: Keys, loc: Loc, kind: str, written: Mapping[str, str]) -> Flow:
    """The flow of an entry of this kind with these keys."""
    row = traffic.of(kind)
    return row.flow(row.keys.model_validate(written), loc, _File(keys))


def _loads(entry: Preset) -> tuple[int, int]:
    """The numbers of plain TCP flows up and down."""
    if entry.preset == "tcp_bidirectional":
        return 1, 1
    if entry.preset in ("tcp_upload", "tcp_nup"):
        return entry.flows, 0
    if entry.preset in ("tcp_download", "tcp_ndown"):
        return 0, entry.flows
    found = re.fullmatch(r"(?:tcp_|voip-|http-)(\d+)(up|down)", entry.preset)
    if found is None:
        return 0, 0
    return (int(found[1]), 0) if found[2] == "up" else (0, int(found[1]))


VOIP = ("voip", "voip-1up", "voip-rrul", "rrul_voip")
WEB = ("http", "http-1up", "http-1down", "http-rrul")
RRUL = ("rrul", "rrul_be", "voip-rrul", "rrul_voip", "http-rrul")
UNMARKED = ("rrul_be", "voip-rrul", "rrul_voip", "http-rrul")

PAGES_EVERY = "5s"
"""Interval of the pages of `http`; Flent asks for its list of addresses again as soon as it has them."""


#: Flent's marks in RRUL, and their code points in netperf.
_MARKS = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}
_UDP_PINGS = {"rrul": ("EF", "BK", "BE"), **dict.fromkeys(UNMARKED, ("BE1", "BE2", "BE3"))}


def _rrul(keys: Keys, loc: Loc, entry: Preset) -> Iterator[Flow]:
    """Flows of `rrul` are named by their marks; those without marks are numbered."""
    here, there = entry.hosts
    for name, ends in (("upload", Direction(here, there)), ("download", Direction(there, here))):
        if entry.preset in UNMARKED:
            yield _bulk(keys, loc, entry, ends, numbered(name, len(_MARKS)))
            continue
        for mark, dscp in _MARKS.items():
            yield replace(_bulk(keys, loc, entry, ends, (f"{name}.{mark}",)), dscp=dscp)


def _responsiveness(keys: Keys, loc: Loc, entry: Preset) -> Iterator[Flow]:
    # Imported here, as in `_flood`, because most experiments have no such flows.
    from tailback.scenario.traffic.request import Pauses, Requests

    here, there = entry.hosts
    for name, ends in (("upload", Direction(here, there)), ("download", Direction(there, here))):
        for number in range(entry.flows):
            start_ns = entry.start + number * RAMP_NS
            one = _bulk(keys, loc, entry, ends, (f"{name}.{number + 1}",))
            if start_ns < (one.stop_ns or 0):
                yield replace(one, start_ns=start_ns)
    file, up = _File(keys), Direction(here, there)
    yield Requests(
        loc=loc,
        names=("probe",),
        direction=up,
        start_ns=units.time(START),
        stop_ns=keys.duration,
        jitter_ns=0,
        dscp=DSCP,
        size=PROBE_BYTES,
        answer=Sizes("constant", PROBE_BYTES),
        think=Pauses(0),
        every_ns=entry.interval,
        cc=file.control(here),
        tsq=file.small_queue(up),
    )


RAMP_NS = 10**9
"""One connection more per interval of the draft. [responsiveness, INC and ID]"""

PROBE_BYTES = 100
"""Bytes of a request and of its answer: a byte of content, and headers as HTTP/2 compresses them."""


def _flood(keys: Keys, loc: Loc, entry: Preset, direction: Direction) -> Datagrams:
    from tailback.scenario.traffic.udp import Datagrams

    return Datagrams(
        loc=loc,
        names=("udp",),
        direction=direction,
        start_ns=entry.start,
        stop_ns=keys.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        rate_bps=units.rate(FLOOD) if entry.rate is None else entry.rate,
        size=units.size(DATAGRAM),
        sndbuf=None,
        dscp=DSCP,
    )


def _bulk(keys: Keys, loc: Loc, entry: Preset, direction: Direction, names: tuple[str, ...]) -> Bulk:
    file = _File(keys)
    return Bulk(
        loc=loc,
        names=names,
        direction=direction,
        start_ns=entry.start,
        stop_ns=keys.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        bytes=None,
        cc=entry.cc or file.control(direction.source),
        tsq=entry.tsq or file.small_queue(direction),
        socket=PLAIN_SOCKET,
        dscp=DSCP,
        ip=IP,
    )


def own_sources(keys: Keys) -> tuple[ControlSource, ...]:
    """The files of controls that the user wrote, each once."""
    found = [flow.cc.source for flow in flows(keys) if isinstance(flow, Bulk) and flow.cc.source is not None]
    return tuple({(source.name, source.sha256): source for source in found}.values())


def own_endpoints(keys: Keys) -> tuple[BroughtFile, ...]:
    """The files of endpoints that the user wrote, each once."""
    named = (getattr(entry, "endpoint", None) for entry in keys.traffic)
    found = [file for file in named if isinstance(file, BroughtFile)]
    return tuple({(each.name, each.sha256): each for each in found}.values())


def _file_control(keys: Keys, sender: str) -> Algorithm:
    """The file's congestion control; if the file has none, the default of the sender's stack."""
    host = (keys.hosts or {}).get(sender)
    if host is None or "cc" in keys.model_fields_set or host.stack not in STACK_CC:
        return keys.cc
    return Algorithm(STACK_CC[host.stack])


def _host_tsq(keys: Keys, host: str) -> SmallQueue | None:
    found = (keys.hosts or {}).get(host)
    return found.tsq if found is not None else None


def offloads_of(keys: Keys, host: str) -> Offloads:
    """The segmentation offloads of a host."""
    found = (keys.hosts or {}).get(host)
    return (found.offloads if found is not None else None) or keys.offloads


def _file_tsq(keys: Keys, direction: Direction) -> SmallQueue:
    """The file's setting, else that of the sender's device. [linux-6.12 sock.h sk_pacing_shift_update]"""
    if "tsq" in keys.model_fields_set or not begins_on_air(network_of(keys), direction):
        return keys.tsq
    sender = (keys.hosts or {}).get(direction.source)
    stack = STACK if sender is None else sender.stack
    return keys.tsq if stack in STACKS_WITHOUT_WIFI_TSQ else small_queue(WIFI_TSQ)

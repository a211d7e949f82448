"""Writes a discipline tree as commands of `tc`: chains, bands, class trees and filters.

Handles encode the depth: the lower eight bits of a major number are the depth, starting at 1; the upper bits number the
disciplines of one depth. So the agent and `qdisc_stats.py` can derive the depth of a discipline from its parent.

A filter of the experiment file becomes a classifier of the kernel: `all` is matchall, the others are flower on
addresses, ports or the code point. The identifier of echo requests of ICMP, which flower cannot read, is matched by u32
behind an IP header without options.                                   [tc flower(8)] [tc matchall(8)] [tc u32(8)]
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal, TypeAlias

from tailback import qdiscs
from tailback.qdiscs import words_of
from tailback.resolved import Fits, Qdisc
from tailback.resolved.traffic import Transport

Command: TypeAlias = list[str]

DEPTH_BITS = 8

PROTOCOLS = {4: "ip", 6: "ipv6"}

IDENTIFIER_AT = 24
"""Offset of the identifier of an echo request: an IP header without options, and four bytes of ICMP. [rfc792]"""


@dataclass(frozen=True)
class Socket:
    """What distinguishes the packets of a flow: the port of its receiver, or the identifier of its echo requests."""

    transport: Transport
    port: int


@dataclass(frozen=True)
class Matches:
    """The values that filters can match: addresses by host, sockets by traffic entry."""

    addresses: Mapping[int, Sequence[str]] = field(default_factory=dict)
    sockets: Mapping[str, Sequence[Socket]] = field(default_factory=dict)
    versions: Sequence[int] = (4,)
    """The versions of IP of the flows."""


NOTHING = Matches()


class Tree:
    """The commands for one device (without the word `tc`)."""

    def __init__(self, device: str, matches: Matches, unknown: Container[str] = ()) -> None:
        """`unknown`: kinds whose options `tc` does not know; these are left out of the commands."""
        self._device = device
        self._matches = matches
        self._unknown = unknown
        self.untold: list[tuple[int, Qdisc]] = []
        """The disciplines whose options were left out, with their handles."""
        self._used: dict[int, int] = {}

    def commands(self, root: Qdisc, depth: int = 0, place: Sequence[str] = ("root",)) -> Iterator[Command]:
        """The commands for a discipline at `depth` below the root, and its children."""
        number = self._used.get(depth, 0)
        self._used[depth] = number + 1
        handle = f"{number << DEPTH_BITS | depth + 1:x}:"
        table = [] if root.stab is None else root.stab.words
        own = _discipline(root)
        if root.options and root.kind in self._unknown:
            self.untold.append((int(handle[:-1], 16) << 16, root))
            own = own[:1]
        yield ["qdisc", "add", "dev", self._device, *place, "handle", handle, *table, *own]
        for command in self._classes(root, handle):
            yield ["class", "add", "dev", self._device, *command]
        for command in self._filters(root, handle):
            yield ["filter", "add", "dev", self._device, "parent", handle, *command]
        for minor, child in root.children:
            yield from self.commands(child, depth + 1, ["parent", f"{handle}{minor:x}"])

    def _classes(self, root: Qdisc, handle: str) -> Iterator[Command]:
        kind = root.kind
        row = qdiscs.of(kind)
        if row.classes_by:
            return
        for each in root.classes:
            parent = f"{handle}{each.parent:x}" if each.parent else handle
            own = words_of(kind, each.options)
            yield ["parent", parent, "classid", f"{handle}{each.minor:x}", kind, *own]
        of_class = _of_only_class(root)
        if of_class:
            yield ["parent", handle, "classid", f"{handle}1", kind, *words_of(kind, of_class)]

    def _filters(self, root: Qdisc, handle: str) -> Iterator[Command]:
        versions = len(self._matches.versions)
        for place, each in enumerate(root.filters):
            for protocol, classifier in self._classifiers(each.fits):
                # The classifiers of one priority have one protocol.
                priority = place * versions + 1 + int(protocol == PROTOCOLS[6])
                head = ["protocol", protocol, "prio", str(priority)]
                yield [*head, *classifier, "classid", f"{handle}{each.minor:x}"]

    def _classifiers(self, fits: Fits | Literal["all"]) -> Iterator[tuple[str, Command]]:
        """The protocol and the words of each classifier."""
        protocols = [PROTOCOLS[version] for version in self._matches.versions]
        match fits:
            case "all":
                yield "all", ["matchall"]
            case Fits(dscp=int(code_point)):
                for protocol in protocols:
                    yield protocol, ["flower", "ip_tos", f"{code_point << 2:#x}/0xfc"]
            case Fits(traffic=str(name)):
                for socket in self._matches.sockets[name]:
                    # Echo requests of ICMP always go over IPv4.
                    for protocol in protocols if socket.transport != "icmp" else protocols[:1]:
                        yield from ((protocol, words) for words in _packets_of(socket))
            case Fits(source=int(host)):
                yield from self._packets_at("src_ip", host)
            case Fits(target=int(host)):
                yield from self._packets_at("dst_ip", host)

    def _packets_at(self, end: str, host: int) -> Iterator[tuple[str, Command]]:
        for address in self._matches.addresses[host]:
            yield PROTOCOLS[ip_address(address).version], ["flower", end, address]


def _packets_of(socket: Socket) -> Iterator[Command]:
    port = str(socket.port)
    if socket.transport == "icmp":
        icmp = ["match", "ip", "protocol", "1", "0xff"]
        yield ["u32", *icmp, "match", "u16", port, "0xffff", "at", str(IDENTIFIER_AT)]
    else:
        for end in ("dst_port", "src_port"):
            yield ["flower", "ip_proto", socket.transport, end, port]


def _of_only_class(root: Qdisc) -> dict[str, int]:
    """The options of the only class, of a discipline that is written with it in one line; empty if it has others."""
    above = qdiscs.of(root.kind).above_classes
    given = {name: value for name, value in root.options.items() if name not in above}
    return given if above and not root.classes else {}


def _discipline(root: Qdisc) -> Command:
    kind, options = root.kind, root.options
    above = qdiscs.of(kind).above_classes
    if not above:
        return [kind, *words_of(kind, options)]
    own = {name: options[name] for name in above if name in options and name != "default"}
    default = 1 if _of_only_class(root) else options.get("default", 0)
    return [kind, *(["default", f"{default:x}"] if default else []), *words_of(kind, own)]

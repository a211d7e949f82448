"""Hosts, subnets and the testbed of a TEACUP configuration."""

from __future__ import annotations

import ast
import copy
import ipaddress
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.formats.errors import NotReadable
from tailback.formats.teacup.notes import Effect
from tailback.formats.teacup.reading import Reading, our_name
from tailback.formats.teacup.systems import stack_of, system_of
from tailback.limits.arithmetic import Value

LINK_RATE = "1gbit"
"""The network cards of TEACUP's hosts, unless the file sets their speed."""

SPEEDS = {"10": "10mbit", "100": "100mbit", "1000": "1gbit", "10000": "10gbit"}


@dataclass(frozen=True)
class Hosts:
    """Hosts by our name, with TEACUP's name, their addresses, and the switch of each subnet."""

    names: Mapping[str, str]
    addresses: Mapping[str, Sequence[ipaddress.IPv4Interface]]
    routers: Sequence[str]
    switches: Mapping[ipaddress.IPv4Network, str]

    def of_address(self, word: str) -> str | None:
        """Our name of the host with this name or address."""
        if word in self.names:
            return self.names[word]
        held = {str(address.ip): host for host, addresses in self.addresses.items() for address in addresses}
        return held.get(word)

    def network_of(self, word: str) -> ipaddress.IPv4Network | None:
        """The addresses that a host, an address or a network stands for; of a host, TEACUP takes the first."""
        host = self.names.get(word)
        if host is not None:
            return ipaddress.IPv4Network(self.addresses[host][0].ip)
        try:
            return ipaddress.IPv4Network(word, strict=False)
        except ValueError:
            return None

    def first_address(self, host: str) -> ipaddress.IPv4Interface:
        """The address of a host that traffic of its name uses."""
        return self.addresses[host][0]

    def original(self, host: str) -> str:
        """TEACUP's name of a host of ours."""
        return next((word for word, name in self.names.items() if name == host), "")


def read_hosts(reading: Reading) -> Hosts:
    """The hosts and routers with an address on the test network."""
    internal = reading.get("TPCONF_host_internal_ip", dict)
    routers = reading.get("TPCONF_router", (list, tuple, str))
    router_names = [str(name) for name in ([routers] if isinstance(routers, str) else routers)]
    wanted = [*(str(name) for name in reading.get("TPCONF_hosts", (list, tuple))), *router_names]
    names: dict[str, str] = {}
    addresses: dict[str, list[ipaddress.IPv4Interface]] = {}
    for word in dict.fromkeys(wanted):
        found = _interfaces(internal.get(word))
        if not found:
            reading.note("TPCONF_host_internal_ip", f"`{word[:60]}` has no address on the test network: left out")
            continue
        names[word] = our_name(word, set(names.values()))
        addresses[names[word]] = found
    networks = sorted({address.network for own in addresses.values() for address in own})
    if len(addresses) < 2:
        lost = "".join(f"; {name}: {reading.module.lost[name]}" for name in ADDRESSED if name in reading.module.lost)
        hint = "is it a configuration of TEACUP, with the files that it includes beside it?"
        raise NotReadable(f"TPCONF_hosts and TPCONF_host_internal_ip name fewer than two hosts{lost}\n  hint: {hint}")
    switches = {network: f"lan{number}" for number, network in enumerate(networks, 1)}
    routers = [names[word] for word in router_names if word in names]
    return Hosts(names, addresses, routers, switches)


ADDRESSED = ("TPCONF_hosts", "TPCONF_router", "TPCONF_host_internal_ip")


def misprint(reading: Reading, word: str) -> str:
    """What is wrong with a host that has no address, in words."""
    line, file = reading.module.place("TPCONF_host_internal_ip")
    internal = reading.get("TPCONF_host_internal_ip", dict)
    listed = {str(name) for name in reading.get("TPCONF_hosts", (list, tuple))}
    routers = reading.get("TPCONF_router", (list, tuple, str))
    listed |= {routers} if isinstance(routers, str) else {str(name) for name in routers}
    spare = [str(name) for name in internal if str(name) not in listed]
    place = f"{file}, line {line}" if file else f"line {line}"
    if not internal:
        return f"`{word[:60]}` has no address"
    beside = f", which has `{spare[0][:60]}` that no list of hosts has: one of the two is a misprint" if spare else ""
    return f"`{word[:60]}` has no address in TPCONF_host_internal_ip ({place}){beside}"


def _interfaces(value: Value) -> list[ipaddress.IPv4Interface]:
    """The interfaces of addresses; TEACUP assumes /24 for all test networks."""
    found = []
    for word in value if isinstance(value, list | tuple) else [value]:
        try:
            found.append(ipaddress.IPv4Interface(f"{word}/24"))
        except ValueError:
            continue
    return found


def links(reading: Reading, hosts: Hosts) -> list[dict[str, Any]]:
    """A shared segment per subnet, and links between parts of the network that nothing connects."""
    members: dict[str, list[str]] = {switch: [] for switch in hosts.switches.values()}
    for host, own in hosts.addresses.items():
        for each in own:
            if host not in members[hosts.switches[each.network]]:
                members[hosts.switches[each.network]].append(host)
    segments = {switch: each for switch, each in members.items() if len(each) > 1}
    found: list[dict[str, Any]] = [
        {"lan": each, "name": switch, "rate": _speed(reading)} for switch, each in segments.items()
    ]
    parts = _parts(list(segments.values()))
    for one, other in itertools.pairwise(parts):
        ends = [next((host for host in hosts.routers if host in part), part[0]) for part in (one, other)]
        what = f"no test network connects {ends[0]} with {ends[1]}: a link without traffic does, as one network must be"
        reading.note("TPCONF_host_internal_ip", what, Effect.CHANGED)
        found.append({"ends": ends, "rate": LINK_RATE})
    return found


def _parts(segments: list[list[str]]) -> list[list[str]]:
    """Hosts that are connected, part by part."""
    parts: list[list[str]] = []
    for segment in segments:
        touched = [part for part in parts if set(part) & set(segment)]
        merged = list(dict.fromkeys([*(host for part in touched for host in part), *segment]))
        parts = [*(part for part in parts if part not in touched), merged]
    return parts


def _speed(reading: Reading) -> str:
    speed = str(reading.module.values.get("TPCONF_linkspeed", "")).strip()
    if "TPCONF_linkspeed" in reading.module.values and speed not in SPEEDS:
        reading.note("TPCONF_linkspeed", f"the speed is not a number that TEACUP takes: {LINK_RATE}", Effect.CHANGED)
    return SPEEDS.get(speed, LINK_RATE)


def host_entries(reading: Reading, hosts: Hosts) -> dict[str, Any]:
    """The settings of hosts: the stack of their system, and what TEACUP sets on Linux."""
    common: dict[str, Any] = {
        "net.ipv4.tcp_rmem": [4096, 87380, 6291456],
        "net.ipv4.tcp_wmem": [4096, 65535, 4194304],
        "net.ipv4.tcp_moderate_rcvbuf": 0,
    }
    ecn = _ecn(reading)
    common |= {} if ecn is None else {"net.ipv4.tcp_ecn": int(ecn) if ecn.isdigit() else ecn}
    entries: dict[str, Any] = {}
    for word, name in hosts.names.items():
        if name in hosts.routers:
            entries[name] = {}
            continue
        settings = {"sysctl": copy.deepcopy(common)} if system_of(reading, word) == "Linux" else {}
        entries[name] = {**stack_of(reading, word, name), **settings}
    return entries


def _ecn(reading: Reading) -> str | None:
    known = "V_ecn" in reading.defaults or any("V_ecn" in axis.variables for axis in reading.axes)
    return reading.word("ecn", variable("V_ecn"), _ecn_value) if known else "0"


def variable(name: str) -> Any:
    """The tree of one V_ variable."""
    return ast.Name(name)


def _ecn_value(value: Value) -> str:
    word = str(value).strip()
    if word not in ("0", "1", "2"):
        raise ValueError(word)
    return word


def testbed(reading: Reading, hosts: Hosts) -> dict[str, Any]:
    """The testbed. TEACUP's host names are those on the management network."""
    user = reading.module.values.get("env.user")
    access = {"user": user} if isinstance(user, str) and user.isidentifier() else {}
    machines = {
        name: {
            "address": word,
            "interfaces": {hosts.switches[each.network]: {"address": str(each)} for each in hosts.addresses[name]},
        }
        for word, name in hosts.names.items()
    }
    switches = dict.fromkeys(hosts.switches.values(), "switch")
    return {"title": "imported from TEACUP", **({"ssh": access} if access else {}), "hosts": {**machines, **switches}}

"""Reads facts about a machine before a run, which also records them.

[iproute2 ip -json, tc -json; ethtool(8) -k -i; sysfs-class-net]
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.backends.ssh.session import Session
from tailback.testbed import DEVICE, Interface

TCP_SYSCTLS = "/proc/sys/net/ipv4"
CORE_SYSCTLS = (
    "net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default",
    "net.core.netdev_max_backlog", "net.core.default_qdisc", "net.ipv4.ip_forward", "net.ipv4.ping_group_range",
)  # fmt: skip

OFFLOADS = {
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
    "lro": "large-receive-offload",
}
"""Names of offloads in `ethtool -K`, and in the output of `ethtool -k`."""

PROGRAMS = ("ip", "tc", "ss", "ethtool", "ping", "make", "gcc")


@dataclass(frozen=True)
class Device:
    """A network device of the test network."""

    name: str
    up: bool
    mtu: int
    gso_max_segs: int
    addresses: tuple[ipaddress.IPv4Interface, ...]
    speed_mbit: int | None
    """Speed as reported by the driver; `None` if it reports none."""
    driver: str
    wireless: bool
    offloads: Mapping[str, bool]
    """Offloads that can be changed, by their name in `ethtool -K`."""
    qdiscs: Sequence[Mapping[str, Any]]

    @property
    def root(self) -> Mapping[str, Any] | None:
        """The root discipline of the device if it was configured; default disciplines have no handle."""
        own = [qdisc for qdisc in self.qdiscs if qdisc.get("handle") != "0:" and qdisc["kind"] != "noqueue"]
        return own[0] if own else None


@dataclass(frozen=True)
class Facts:
    """Facts about a machine."""

    host: str
    management: str
    release: str
    devices: Mapping[str, Device]
    routes: Sequence[Mapping[str, Any]]
    sysctls: Mapping[str, str]
    modules: frozenset[str]
    """Loaded and built-in modules."""
    loadable: bool
    """Whether modules can be loaded."""
    controls: frozenset[str]
    programs: frozenset[str]
    free_kb: int | None
    left: Sequence[str] = field(default=())
    """Changes of a killed run that were undone."""
    interfaces: Mapping[str, str] = field(default_factory=dict)
    """Device by neighbour, as far as found."""
    has_headers: bool = False
    """Whether modules can be built for its kernel."""
    tunable: frozenset[str] = frozenset()
    """The settings of TCP Small Queues that the kernel supports; they need our changes (`kernel/README.md`)."""

    def document(self) -> dict[str, Any]:
        """The facts for the manifest of a run."""
        return {
            "kernel": self.release,
            "management": self.management,
            "sysctl": dict(sorted(self.sysctls.items())),
            "modules": sorted(self.modules),
            "devices": {
                name: {
                    "driver": device.driver,
                    "speed_mbit": device.speed_mbit,
                    "mtu": device.mtu,
                    "addresses": [str(address) for address in device.addresses],
                    "offloads": dict(device.offloads),
                    "gso_max_segs": device.gso_max_segs,
                    "qdiscs": list(device.qdiscs),
                }
                for name, device in self.devices.items()
            },
        }


def sysctl_path(name: str) -> str:
    """The file of a sysctl."""
    return f"/proc/sys/{name.replace('.', '/')}"


def gather(session: Session) -> Facts:
    """Reads the facts of a machine."""
    links = {link["ifname"]: link for link in _json(session.tried("ip", "-j", "-d", "address", "show"))}
    found = {neighbour: _device_of(each, links) for neighbour, each in session.machine.interfaces.items()}
    wanted = [name for name in found.values() if name is not None]
    disciplines = qdiscs(session)
    files = session.read(
        ["/proc/sys/kernel/osrelease", "/proc/modules", f"{TCP_SYSCTLS}/tcp_available_congestion_control"]
    )
    release = (files["/proc/sys/kernel/osrelease"] or "").strip()
    builtin = f"/lib/modules/{release}/modules.builtin"
    makefile = f"/lib/modules/{release}/build/Makefile"
    read = session.read([builtin, makefile])
    built = read[builtin]
    controls = files[f"{TCP_SYSCTLS}/tcp_available_congestion_control"] or ""
    return Facts(
        host=session.host,
        management=session.management,
        release=release,
        devices={name: _device(session, links[name], disciplines) for name in wanted if name in links},
        routes=_json(session.tried("ip", "-j", "route", "show", "table", "main")),
        sysctls=_sysctls(session),
        modules=frozenset(_loaded(files["/proc/modules"]) | _built_in(built)),
        loadable=built is not None,
        controls=frozenset(controls.split()),
        programs=frozenset(program for program in PROGRAMS if session.tried("which", program) is not None),
        free_kb=_free_kb(session.tried("df", "-Pk", "/")),
        left=tuple(session.left),
        interfaces={neighbour: name for neighbour, name in found.items() if name is not None},
        has_headers=read[makefile] is not None,
        tunable=_tunable(session),
    )


def _device_of(interface: Interface, links: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The device that the testbed file gives by name or by address."""
    if interface.device is not None:
        return interface.device if interface.device in links else None
    wanted = ipaddress.IPv4Interface(str(interface.address)).ip
    # Names that begin with `-`, which Linux allows, would be options of `ip` and `tc`.
    plain = {name: link for name, link in links.items() if re.fullmatch(DEVICE, name)}
    held = (name for name, link in plain.items() if str(wanted) in {each["local"] for each in _ipv4(link)})
    return next(held, None)


def qdiscs(session: Session) -> Sequence[Mapping[str, Any]]:
    """All disciplines of a machine, with their counters."""
    return _json(session.tried("tc", "-s", "-j", "qdisc", "show"))


def _json(text: str | None) -> Sequence[Mapping[str, Any]]:
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [each for each in found if isinstance(each, dict) and each] if isinstance(found, list) else []


def _device(session: Session, link: Mapping[str, Any], disciplines: Sequence[Mapping[str, Any]]) -> Device:
    name = link["ifname"]
    folder = f"/sys/class/net/{name}"
    content = session.read([f"{folder}/speed", f"{folder}/phy80211/name"])
    driver = _value(session.tried("ethtool", "-i", name), "driver")
    speed = (content[f"{folder}/speed"] or "").strip()
    addresses = [ipaddress.IPv4Interface(f"{each['local']}/{each['prefixlen']}") for each in _ipv4(link)]
    return Device(
        name=name,
        up="UP" in link.get("flags", ()),
        mtu=int(link.get("mtu", 0)),
        gso_max_segs=int(link.get("gso_max_segs", 65535)),
        addresses=tuple(addresses),
        # The driver of veth reports 10 Gbit/s, although a veth has no speed.
        speed_mbit=int(speed) if speed.isdigit() and driver != "veth" else None,
        driver=driver,
        wireless=content[f"{folder}/phy80211/name"] is not None,
        offloads=offloads_of(session.tried("ethtool", "-k", name) or ""),
        qdiscs=[discipline for discipline in disciplines if discipline.get("dev") == name],
    )


def _ipv4(link: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return [
        each for each in link.get("addr_info", ()) if each.get("family") == "inet" and each.get("scope") == "global"
    ]


def offloads_of(text: str) -> dict[str, bool]:
    """The offloads in the output of `ethtool -k` that are not fixed."""
    found = {}
    for word, name in OFFLOADS.items():
        value = _value(text, name)
        if value in ("on", "off"):
            found[word] = value == "on"
    return found


def _value(text: str | None, key: str) -> str:
    for line in (text or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _loaded(text: str | None) -> set[str]:
    return {line.split()[0] for line in (text or "").splitlines() if line.split()}


def _built_in(text: str | None) -> set[str]:
    """The names of modules in modules.builtin (`kernel/net/sched/sch_htb.ko`), with `_` for `-`."""
    return {line.rsplit("/", 1)[-1].split(".ko")[0].replace("-", "_") for line in (text or "").split()}


def _sysctls(session: Session) -> dict[str, str]:
    names: list[str] = session.ask("reading sysctls", "list", path=TCP_SYSCTLS)
    tcp = [f"net.ipv4.{name}" for name in names if name.startswith("tcp_") and not name.startswith("tcp_fastopen_key")]
    paths = {sysctl_path(name): name for name in [*tcp, *CORE_SYSCTLS]}
    values = session.read(paths).items()
    return {paths[path]: " ".join(value.split()) for path, value in values if value is not None}


def _free_kb(text: str | None) -> int | None:
    lines = (text or "").splitlines()
    words = lines[1].split() if len(lines) > 1 else []
    return int(words[3]) if len(words) > 3 and words[3].isdigit() else None


SMALL_QUEUE = "/sys/module/tcp_output/parameters"
PACING_SHIFT = "/sys/module/sock/parameters/pacing_shift"


def _tunable(session: Session) -> frozenset[str]:
    paths = {f"{SMALL_QUEUE}/small_queue_{name}": name for name in ("shift", "bytes", "packets")}
    held = session.read([*paths, PACING_SHIFT])
    found = {name for path, name in paths.items() if held[path] is not None}
    return frozenset(found | ({"pacing_shift"} if held[PACING_SHIFT] is not None else set()))

"""The words of scripts around `tc`: what is ignored, and what to write in the experiment file instead."""

from __future__ import annotations

from collections.abc import Mapping

BACKGROUND = "&"

_NEUTRAL = """
echo printf set exit return true : modprobe insmod depmod logger date uname id clear cat ulimit umask unset wait export
lsmod which shift source . { }
"""

IGNORED = frozenset(_NEUTRAL.split())
"""Commands that change nothing here."""

_CARRIERS = """
docker podman kubectl nsenter ssh lxc lxc-attach chroot env nice time timeout mininet>
"""

CARRIERS = frozenset(_CARRIERS.split())
"""Programs that run a command elsewhere or otherwise, besides `ip netns exec`."""

PROMPTS = frozenset(("RTNETLINK", "Error:", "Command"))
"""How the errors of `tc` begin in the transcript of a terminal."""

_PROGRAM = "nothing of a script is executed: write the commands of `tc` that it leads to, one on each line"

_CONTROL_FLOW = """
if then else elif fi for while until do done case esac function local eval trap select
"""

SHELL: Mapping[str, str] = dict.fromkeys(_CONTROL_FLOW.split(), _PROGRAM)
"""Words of the shell's language, with remedies."""

_LINK = "links, their rate, delay and `mtu` are in `links`: links: [{ends: [client, router], rate: 1gbit, mtu: 1500}]"
_SYSCTL = "write it as a setting of the host: hosts: {client: {sysctl: {net.ipv4.tcp_ecn: 1}}}"
_OFFLOADS = "write `offloads: off`, `gso` or `on`, for the experiment or a host"
_MARK = (
    "packets have no marks here: send the traffic to a class by `filter flow NAME flowid 1:10`, or give it a `dscp` "
    "and write `filter dscp EF flowid 1:10`"
)
_TRAFFIC = "programs are not run: describe their traffic in `traffic`: traffic: [{tcp: client -> server}]"

FOREIGN: Mapping[str, Mapping[str, str]] = {
    "ip": {
        "ifb": "there are no ifb devices: `tailback explain ifb` shows how to shape what arrives",
        "txqueuelen qlen": "give the discipline a `limit`: pfifo limit 1000",
        "mtu": "write `mtu` at the link: links: [{ends: [client, router], mtu: 1500}]",
        "route initcwnd quickack rto_min": "routes are in `routes`; `ssthresh` and sysctls are settings of `hosts`",
        "": _LINK,
    },
    "ifconfig": {
        "txqueuelen": "give the discipline a `limit`: pfifo limit 1000",
        "": _LINK,
    },
    "ethtool": {
        "-G --set-ring": "write `ring` at the link or in `nic` of the host: nic: {ring: 64}",
        "-C --coalesce": "write `interrupts` at the link or in `nic` of the host: nic: {interrupts: 50us}",
        "-s --change speed": "write `rate` at the link: links: [{ends: [client, router], rate: 100mbit}]",
        "": _OFFLOADS,
    },
    **{name: {"": _MARK} for name in ("iptables", "ip6tables", "nft", "ebtables", "iptables-restore")},
    "sysctl": {
        "net.core.default_qdisc": "write the discipline of each device in `qdiscs`",
        "net.ipv4.tcp_congestion_control": "write `cc`, for the experiment or an entry of `traffic`",
        "": _SYSCTL,
    },
    "sleep": {"": "what changes during a run is a `schedule` of the link: schedule: [{at: 10s, rate: 20mbit}]"},
    **{name: {"": _TRAFFIC} for name in ("iperf", "iperf3", "netperf", "ping", "flent", "curl", "wget", "netserver")},
}
"""What to write instead of another command, by a word of it; without a word, for all others."""

"""Converts a TEACUP configuration to an experiment and a testbed.

The conversion follows what TEACUP does on Linux (Zander and Armitage, TEACUP v1.0, CAIA technical report 150529A):

    subnets /24 of TPCONF_host_internal_ip   a switch each, lan1, lan2, ..., with its hosts and routers
    TPCONF_router_queues                     on the router's device towards `dest`: htb with the queue, followed by
                                             netem with delay and loss (after the bottleneck)
    TPCONF_traffic_gens                      start_iperf and start_ping; all start 5 s later, and the run ends 5 s after
                                             the last one
    TPCONF_vary_parameters                   axes, the first the outermost; the variables of an axis vary together;
                                             `runs` are repetitions

Parts without a counterpart are reported with their line, also at the top of the experiment file. Passwords are never
imported.
"""

from __future__ import annotations

import copy
import functools
import ipaddress
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback import qdiscs
from tailback.formats.errors import NotReadable
from tailback.formats.teacup.evaluate import Module, Note, NotEvaluated, arguments, names_in, read
from tailback.limits.arithmetic import Value

CONTROLS = {"newreno": "reno", "reno": "reno", "cubic": "cubic", "htcp": "htcp", "vegas": "vegas", "bbr": "bbr",
            "cdg": "cdg", "scalable": "scalable", "illinois": "illinois", "westwood": "westwood", "bic": "bic",
            "yeah": "yeah", "veno": "veno", "hybla": "hybla", "highspeed": "highspeed", "dctcp": "dctcp"}  # fmt: skip
"""Ours by TEACUP's; FreeBSD's `hd` and `chd` and Windows' `compound` are not Linux's."""

SYSTEMS = {"Linux": "cubic", "FreeBSD": "newreno", "Darwin": "newreno", "CYGWIN": "compound"}
"""The control that `default` stands for, by operating system."""

LEAD_S = 5
LATEST_S = 1e6
MAX_RUNS = 1000
IPERF_DATAGRAM = "1470b"
PACKET_BYTES = 600
"""TEACUP's mean packet size, which it uses for `bdp`."""

SILENT = {
    "TPCONF_script_path", "TPCONF_tftpserver", "TPCONF_tftpboot_dir", "TPCONF_force_reboot", "TPCONF_boot_timeout",
    "TPCONF_do_power_cycle", "TPCONF_host_power_ctrlport", "TPCONF_power_admin_name", "TPCONF_power_admin_pw",
    "TPCONF_os_partition", "TPCONF_linux_kern_router", "TPCONF_linux_kern_hosts", "TPCONF_check_config",
    "TPCONF_check_connectivity", "TPCONF_debug_level", "TPCONF_config_topology", "TPCONF_topology_switch",
    "TPCONF_topology_switch_port_prefix", "TPCONF_topology_switch_port_offset", "TPCONF_linkspeed",
    "TPCONF_max_time_diff", "TPCONF_test_id", "TPCONF_web10g_poll_interval", "TPCONF_linux_tcp_logger",
    "TPCONF_pcap_snaplen", "TPCONF_bc_ping_enable", "TPCONF_bc_ping_rate", "TPCONF_bc_ping_address",
}  # fmt: skip
"""Variables about the laboratory and TEACUP's measurements, which are not needed."""

READ = {
    "TPCONF_router", "TPCONF_hosts", "TPCONF_host_internal_ip", "TPCONF_host_os", "TPCONF_router_queues",
    "TPCONF_traffic_gens", "TPCONF_duration", "TPCONF_runs", "TPCONF_ECN", "TPCONF_TCP_algos",
    "TPCONF_host_TCP_algos", "TPCONF_parameter_list", "TPCONF_variable_defaults", "TPCONF_variables",
    "TPCONF_variable_list", "TPCONF_vary_parameters", "TPCONF_delays", "TPCONF_loss_rates", "TPCONF_bandwidths",
    "TPCONF_aqms", "TPCONF_buffer_sizes", "TPCONF_durations",
}  # fmt: skip

VALUES = (
    "TPCONF_ECN", "TPCONF_delays", "TPCONF_loss_rates", "TPCONF_bandwidths", "TPCONF_aqms", "TPCONF_buffer_sizes",
)  # fmt: skip
"""Lists that configurations use for the values of variables."""


@dataclass(frozen=True)
class Imported:
    """The result of converting a configuration."""

    experiment: Mapping[str, Any]
    testbed: Mapping[str, Any]
    notes: Sequence[Note]


@dataclass(frozen=True)
class Axis:
    """One varied parameter: its labels, each with its values of V_ variables."""

    name: str
    values: Mapping[str, dict[str, Value]]

    @functools.cached_property
    def variables(self) -> frozenset[str]:
        """The V_ variables that it varies."""
        return frozenset(name for each in self.values.values() for name in each)


@dataclass
class _Reading:
    module: Module
    notes: list[Note]
    axes: list[Axis] = field(default_factory=list)
    repeat: int = 1
    let: dict[str, str] = field(default_factory=dict)
    patches: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Our variables by axis and label."""

    def get(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """A value of the file if it has this type, else an empty one."""
        empty = kind[0]() if isinstance(kind, tuple) else kind()
        if name not in self.module.values:
            return empty
        value = self.module.values[name]
        if not isinstance(value, kind):
            self.note(name, f"`{name}` does not have the type that TEACUP expects")
            return empty
        return value

    @functools.cached_property
    def defaults(self) -> dict[str, Value]:
        """The values of V_ variables that are not varied."""
        found: dict[str, Value] = {"V_duration": self.get("TPCONF_duration", (int, float)) or 60}
        for name in ("TPCONF_variables", "TPCONF_variable_list", "TPCONF_variable_defaults"):
            found |= {str(key): value for key, value in self.get(name, dict).items()}
        return found

    @functools.cached_property
    def firsts(self) -> dict[str, Value]:
        """The V_ variables with the first value of each axis."""
        first = {name: value for axis in self.axes for name, value in next(iter(axis.values.values())).items()}
        return {**self.defaults, **first}

    def note(self, name: str, what: str) -> None:
        """Adds a note with the line where `name` was set."""
        self.notes.append(Note(self.module.lines.get(name, 1), what))


def convert(text: str) -> Imported:
    """The experiment and the testbed of a configuration."""
    module = read(text)
    reading = _Reading(module, module.notes)
    hosts = _hosts(reading)
    reading.axes = _axes(reading)
    queues = _queues(reading, hosts)
    flows, end = _traffic(reading, hosts)
    if not flows:
        raise NotReadable(
            "it has no start_iperf and no start_ping that can be read\n  hint: TPCONF_traffic_gens lists them"
        )
    _unread(reading)
    experiment: dict[str, Any] = {"title": "imported from TEACUP"}
    experiment |= {"let": reading.let} if reading.let else {}
    experiment |= {"hosts": _host_entries(reading, hosts), "links": _links(hosts)}
    experiment |= {"qdiscs": queues} if queues else {}
    experiment |= {"traffic": flows, "duration": f"{end}s"}
    vary = {
        axis.name: {label: {"let": values} for label, values in reading.patches[axis.name].items()}
        for axis in reading.axes
        if axis.name in reading.patches
    }
    experiment |= {"vary": vary} if vary else {}
    experiment |= {"repeat": reading.repeat} if reading.repeat > 1 else {}
    return Imported(experiment, _testbed(reading, hosts), sorted(set(reading.notes), key=lambda note: note.line))


# -- hosts and networks


@dataclass(frozen=True)
class _Hosts:
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

    def switch_of(self, word: str) -> str | None:
        """The switch of a host, an address or a network."""
        host = self.of_address(word)
        if host is not None:
            return self.switches[self.addresses[host][0].network]
        try:
            network = ipaddress.IPv4Network(word, strict=False)
        except ValueError:
            return None
        inside = (switch for own, switch in self.switches.items() if own.overlaps(network))
        return next(inside, None)


def _hosts(reading: _Reading) -> _Hosts:
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
        names[word] = _our_name(word, set(names.values()))
        addresses[names[word]] = found
    networks = sorted({address.network for own in addresses.values() for address in own})
    if len(addresses) < 2:
        hint = "is it a configuration of TEACUP? Lists that code makes cannot be read"
        raise NotReadable(f"TPCONF_hosts and TPCONF_host_internal_ip name fewer than two hosts\n  hint: {hint}")
    switches = {network: f"lan{number}" for number, network in enumerate(networks, 1)}
    routers = [names[word] for word in router_names if word in names]
    return _Hosts(names, addresses, routers, switches)


def _interfaces(value: Value) -> list[ipaddress.IPv4Interface]:
    """The interfaces of addresses; TEACUP assumes /24 for all test networks."""
    found = []
    for word in value if isinstance(value, list | tuple) else [value]:
        try:
            found.append(ipaddress.IPv4Interface(f"{word}/24"))
        except ValueError:
            continue
    return found


def _our_name(word: str, taken: set[str]) -> str:
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-.") else "-" for letter in word)[
        :50
    ]
    name = plain if plain[:1].isalpha() else f"h{plain}"
    while name in taken or name.startswith("lan"):
        name = f"h-{name}"
    return name


def _links(hosts: _Hosts) -> list[dict[str, Any]]:
    members: dict[str, dict[str, None]] = {switch: {} for switch in hosts.switches.values()}
    for host, own in hosts.addresses.items():
        members |= {hosts.switches[each.network]: {**members[hosts.switches[each.network]], host: None} for each in own}
    return [{"lan": list(each), "name": switch} for switch, each in members.items() if len(each) > 1]


def _host_entries(reading: _Reading, hosts: _Hosts) -> dict[str, Any]:
    """The settings of hosts: buffer sizes of Linux, the stack of FreeBSD."""
    systems = reading.get("TPCONF_host_os", dict)
    common: dict[str, Any] = {"net.ipv4.tcp_rmem": [4096, 87380, 6291456], "net.ipv4.tcp_wmem": [4096, 65535, 4194304]}
    ecn = _varied(reading, "ecn", "V_ecn", _ecn)
    common |= {} if ecn is None else {"net.ipv4.tcp_ecn": int(ecn) if ecn.isdigit() else ecn}
    entries: dict[str, Any] = {}
    for word, name in hosts.names.items():
        system = systems.get(word, "Linux")
        if name in hosts.routers:
            entries[name] = {}
        elif system == "Linux":
            entries[name] = {"sysctl": copy.deepcopy(common)}
        elif system == "FreeBSD":
            entries[name] = {"stack": "freebsd-9"}
        else:
            reading.note("TPCONF_host_os", f"`{name}` has {str(system)[:30]}, which is not modelled: it becomes Linux")
            entries[name] = {}
    return entries


def _testbed(reading: _Reading, hosts: _Hosts) -> dict[str, Any]:
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


# -- axes


def _axes(reading: _Reading) -> list[Axis]:
    known = reading.get("TPCONF_parameter_list", dict)
    axes = []
    for name in dict.fromkeys(map(str, reading.get("TPCONF_vary_parameters", (list, tuple)))):
        axis = _axis(name, known.get(name))
        if name == "runs":
            count = len(known["runs"][2]) if axis is not None else reading.get("TPCONF_runs", int)
            reading.repeat = min(max(1, count), MAX_RUNS)
        elif axis is None:
            reading.note("TPCONF_vary_parameters", f"the parameter `{name[:60]}` cannot be read and is not varied")
        else:
            axes.append(axis)
    return axes


def _axis(name: str, entry: Value) -> Axis | None:
    if (
        not isinstance(entry, tuple | list)
        or len(entry) < 3
        or not all(isinstance(part, list | tuple) for part in entry[:3])
    ):
        return None
    variables, _, values = entry[:3]
    labels: dict[str, dict[str, Value]] = {}
    for value in values:
        parts = value if isinstance(value, tuple | list) else (value,)
        if len(parts) != len(variables) or not all(isinstance(part, str | int | float) for part in parts):
            return None
        labels["_".join(map(str, parts))] = dict(zip(map(str, variables), parts, strict=True))
    return Axis(_our_name(name, set()), labels) if labels else None


def _varied(reading: _Reading, ours: str, expression: Any, shown: Any) -> str | None:
    """The words for an expression of V_ variables: a constant, or a variable of ours that an axis sets.

    `expression` is a tree, or the name of a variable; `shown` makes our word of a value. None where it has no value.
    Raises `NotReadable` where `shown` takes none of its values.
    """
    tree = expression if not isinstance(expression, str) else next(iter(arguments(expression).values()))
    used = set(names_in(tree))
    turning = [axis for axis in reading.axes if axis.variables & used]

    def word(values: dict[str, Value]) -> str | None:
        try:
            value = reading.module.value_of(tree, ChainMap(values, reading.firsts))
        except NotEvaluated:
            return None
        try:
            return str(shown(value))
        except (ValueError, TypeError, ArithmeticError) as error:
            what = f"line {_line_of(reading, value)}: `{str(value)[:60]}` is no value for `{ours}`"
            raise NotReadable(f"{what}\n  hint: write there what TEACUP would give to Linux") from error

    if len(turning) != 1:
        if turning:
            names = ", ".join(axis.name for axis in turning)
            reading.note(
                "TPCONF_vary_parameters", f"`{ours}` depends on {names} at once: it has the first value of each"
            )
        return word({})
    axis = turning[0]
    words: dict[str, str] = {}
    for label, values in axis.values.items():
        each = word(values)
        if each is None:
            return None
        words[label] = each
    for label, each in words.items():
        reading.let.setdefault(ours, each)
        reading.patches.setdefault(axis.name, {}).setdefault(label, {})[ours] = each
    return f"${{{ours}}}"


def _line_of(reading: _Reading, value: Value) -> int:
    """The line of a value of a variable: that of the list with the value, else that of the assignment of variables."""
    module = reading.module
    lists = (name for name in VALUES if _holds(module.values.get(name), value))
    places = (*lists, "TPCONF_variable_defaults", "TPCONF_router_queues", "TPCONF_parameter_list")
    return next((module.lines[name] for name in places if name in module.lines), 1)


def _holds(held: Value, value: Value) -> bool:
    """Whether a list contains a value, or a tuple with it (an axis may set several variables)."""
    return isinstance(held, list | tuple) and any(
        value == each or (isinstance(each, list | tuple) and value in each) for each in held
    )


# -- queues


def _queues(reading: _Reading, hosts: _Hosts) -> dict[str, Any]:
    entries = reading.get("TPCONF_router_queues", (list, tuple, dict))
    if isinstance(entries, dict):
        per_router = {str(router): list(each) for router, each in entries.items() if isinstance(each, list | tuple)}
    else:
        per_router = {word: list(entries) for word, name in hosts.names.items() if name in hosts.routers[:1]}
    found: dict[str, Any] = {}
    for router, each in per_router.items():
        for entry in each:
            found |= _queue(reading, hosts, (router, entry), found)
    return found


def _queue(reading: _Reading, hosts: _Hosts, place: tuple[str, Value], found: Mapping[str, Any]) -> dict[str, Any]:
    router, entry = place
    try:
        number, words = entry
        given = arguments(str(words))
        target = hosts.switch_of(str(reading.module.value_of(given["dest"], {})))
    except (NotEvaluated, KeyError, ValueError, TypeError) as reason:
        reading.note("TPCONF_router_queues", f"the queue `{str(entry)[:60]}` cannot be read ({reason})")
        return {}
    ours = hosts.names.get(router)
    if target is None or ours is None:
        reading.note("TPCONF_router_queues", f"queue {number} leads to no host or network that is known: left out")
        return {}
    device = f"{ours} -> {target}"
    if device in found:
        what = f"queue {number} is another one on {device}: flows of its own queue are not imported, the first holds"
        reading.note("TPCONF_router_queues", what)
        return {}
    for name in ("attach_to_queue", "bidir"):
        if name in given:
            reading.note("TPCONF_router_queues", f"`{name}` of queue {number} is not imported")
    stages = _stages(reading, f"q{str(number)[:8]}", given)
    return {device: stages[0] if len(stages) == 1 else stages}


def _stages(reading: _Reading, label: str, given: Mapping[str, Any]) -> list[str]:
    """The stages of a queue: the shaper with its child, then delay and loss."""
    label = "".join(letter if letter.isalnum() else "_" for letter in label)

    def word(name: str, shown: Any) -> str | None:
        return _varied(reading, f"{label}_{name}", given[name], shown) if name in given else None

    rate = word("rate", _rate) or "1000mbit"
    queue = word("queue_disc", _discipline) or "pfifo"
    size = _size(reading, label, given)
    raw = word("queue_disc_params", _plain) or ""
    stages = [" ".join(f"htb rate {rate} | {queue} {size} {raw}".split())]
    delay, loss = word("delay", _milliseconds), word("loss", _percent)
    parts = [f"delay {delay}"] * (delay not in (None, "0ms")) + [f"loss {loss}"] * (loss not in (None, "0%"))
    return [*stages, " ".join(["netem", *parts, "limit 1000"])] if parts else stages


def _size(reading: _Reading, label: str, given: Mapping[str, Any]) -> str:
    if "queue_size" not in given:
        return "limit 1000"
    kind = _constant(reading, given.get("queue_disc"))
    found = _constant(reading, given["queue_size"])
    if isinstance(found, str) and found.lower() == "bdp":
        return f"limit {_bdp(reading, given, str(kind))}"
    return f"limit {_varied(reading, f'{label}_size', given['queue_size'], _count) or 1000}"


def _constant(reading: _Reading, tree: Any) -> Value:
    """The value of an expression with the first value of each axis."""
    if tree is None:
        return None
    try:
        return reading.module.value_of(tree, reading.firsts)
    except NotEvaluated:
        return None


def _bdp(reading: _Reading, given: Mapping[str, Any], kind: str) -> int:
    """Rate times round-trip time, as TEACUP intended (its code converts `1.4mbit` to 1.4 bit/s)."""
    rate = _bits(_constant(reading, given.get("rate")) or "1000mbit")
    rtt = _constant(reading, given.get("rtt"))
    delay = _constant(reading, given.get("delay"))
    rtt_ms = float(rtt) if rtt is not None else 2 * float(delay or 0)
    times = float(_constant(reading, given.get("queue_size_mult")) or 1)
    size = rate * rtt_ms / 8000 * times
    what = "`bdp` was sized with the first value of each axis, and of the rate that is written"
    reading.note("TPCONF_router_queues", what)
    return (
        max(2048, int(size))
        if kind in qdiscs.KINDS and qdiscs.of(kind).limits_bytes
        else max(1, int(size / PACKET_BYTES))
    )


def _ecn(value: Value) -> str:
    word = str(value).strip()
    if word not in ("0", "1", "2"):
        raise ValueError(word)
    return word


def _plain(value: Value) -> str:
    return " ".join(str(value).split())


def _rate(value: Value) -> str:
    text = str(value).strip().lower()
    _bits(text)
    return text if not text.replace(".", "").isdigit() else f"{text}bit"


def _bits(value: Value) -> float:
    text = str(value).strip().lower()
    if not text.isascii():
        # `isdigit` also accepts digits of other scripts.
        raise ValueError(text)
    for unit, size in (("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * size
    return float(text)


def _discipline(value: Value) -> str:
    word = str(value).strip()
    if not word.replace("_", "").isalnum():
        raise ValueError(word)
    return {"fifo": "pfifo"}.get(word, word)


def _milliseconds(value: Value) -> str:
    return f"{float(value):g}ms"


def _percent(value: Value) -> str:
    return f"{float(value) * 100:g}%"


def _count(value: Value) -> str:
    return str(int(value))


# -- traffic


def _traffic(reading: _Reading, hosts: _Hosts) -> tuple[list[dict[str, Any]], int]:
    """The traffic entries, and the end of the run."""
    flows: list[dict[str, Any]] = []
    try:
        duration = float(reading.defaults["V_duration"])
    except (TypeError, ValueError):
        reading.note("TPCONF_duration", "the duration is not a number: 60 s are used")
        duration = 60.0
    end = duration
    for entry in reading.get("TPCONF_traffic_gens", (list, tuple)):
        try:
            start, number, words = entry
            begin = float(str(start))
            if not 0 <= begin < LATEST_S:
                raise ValueError(f"it starts at {begin:g} s")
            task, _, rest = str(words).strip().partition(",")
            given = arguments(rest)
        except (NotEvaluated, ValueError, TypeError) as reason:
            reading.note("TPCONF_traffic_gens", f"the traffic `{str(entry)[:60]}` cannot be read ({reason})")
            continue
        for flow in _flow(reading, hosts, (task.strip(), str(number)), given, begin):
            flows.append(flow)
            end = max(end, begin + duration)
    return flows, int(end + 2 * LEAD_S)


def _flow(
    reading: _Reading, hosts: _Hosts, place: tuple[str, str], given: Mapping[str, Any], begin: float
) -> Iterator[dict[str, Any]]:
    task, number = place
    source, target = (
        _host(reading, hosts, given.get(name)) for name in ("client", "dest" if task == "start_ping" else "server")
    )
    if task not in ("start_iperf", "start_ping"):
        reading.note("TPCONF_traffic_gens", f"`{task[:60]}` (generator {number}) has no counterpart")
        return
    if source is None or target is None:
        reading.note("TPCONF_traffic_gens", f"generator {number} is not between two hosts that are known: left out")
        return
    name = f"{task.removeprefix('start_')}-{''.join(filter(str.isalnum, number))[:20]}"
    lasts = _constant(reading, given.get("duration"))
    times: dict[str, Any] = {"start": f"{begin + LEAD_S:g}s"}
    if isinstance(lasts, int | float):
        times["stop"] = f"{begin + LEAD_S + lasts:g}s"
    if task == "start_ping":
        rate = _constant(reading, given.get("rate")) or 1
        yield {"ping": f"{source} -> {target}", "name": name, "interval": f"{1000 / float(rate):g}ms", **times}
        return
    if _constant(reading, given.get("proto")) == "udp":
        rate = _iperf_rate(_constant(reading, given.get("rate")))
        yield {"udp": f"{source} -> {target}", "name": name, "rate": rate, "size": IPERF_DATAGRAM, **times}
        return
    for key in ("extra_params_client", "extra_params_server", "condition", "rate", "mss"):
        if key in given:
            reading.note("TPCONF_traffic_gens", f"`{key}` of generator {number} is not taken over")
    control = _control(reading, source, hosts, given.get("congestion_algo"))
    yield {"tcp": f"{source} -> {target}", "name": name, **({"cc": control} if control else {}), **times}


def _iperf_rate(value: Value) -> str:
    """As `iperf -b` takes it: `10M` is 10 Mbit/s, a bare number bit/s, nothing 1 Mbit/s. [iperf 2, iperf(1)]"""
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kKmMgG]?)", str(value).strip())
    if found is None or not float(found[1]):
        return "1mbit"
    unit = {"": "bit", "k": "kbit", "m": "mbit", "g": "gbit"}[found[2].lower()]
    return f"{found[1]}{unit}"


def _host(reading: _Reading, hosts: _Hosts, tree: Any) -> str | None:
    try:
        return hosts.of_address(str(reading.module.value_of(tree, {}))) if tree is not None else None
    except NotEvaluated:
        return None


def _control(reading: _Reading, source: str, hosts: _Hosts, tree: Any) -> str | None:
    """The congestion control of a connection: its own, else that of all hosts, else what its system has."""
    systems = reading.get("TPCONF_host_os", dict)
    own = next((word for word, name in hosts.names.items() if name == source), "")

    def shown(value: Value) -> str:
        word = str(value)
        if found := re.fullmatch("host([0-9]{1,9})", word):
            listed = reading.get("TPCONF_host_TCP_algos", dict).get(own, ())
            place = int(found[1])
            word = str(listed[place if place < len(listed) else 0]) if listed else "default"
        if word == "default":
            word = SYSTEMS.get(str(systems.get(own, "Linux")), "cubic")
        if word not in CONTROLS:
            reading.note("TPCONF_TCP_algos", f"the control `{word[:30]}` is not Linux's: reno stands for it")
        return CONTROLS.get(word, "reno")

    if tree is not None:
        return _varied(reading, f"cc_{source}".replace("-", "_").replace(".", "_"), tree, shown)
    known = "V_tcp_cc_algo" in reading.defaults or any("V_tcp_cc_algo" in axis.variables for axis in reading.axes)
    variable = f"cc_{source}".replace("-", "_").replace(".", "_")
    return _varied(reading, variable, "V_tcp_cc_algo", shown) if known else shown("default")


def _unread(reading: _Reading) -> None:
    for name in reading.module.values:
        if name == "env.password":
            reading.note(name, "the password was not taken over: use a key")
        elif name.startswith("TPCONF_") and name not in READ | SILENT:
            reading.note(name, f"`{name}` is not taken over")

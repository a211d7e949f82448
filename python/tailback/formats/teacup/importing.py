"""Converts a TEACUP configuration to an experiment and a testbed.

The conversion follows what TEACUP does on Linux (Zander and Armitage, TEACUP v1.0, CAIA technical report 150529A):

    subnets /24 of TPCONF_host_internal_ip   a switch each, lan1, lan2, ..., with its hosts and routers
    TPCONF_router_queues                     on the router's devices: htb with the queue, followed by netem with delay
                                             and loss; classes where entries share a device
    TPCONF_traffic_gens                      bulk data, datagrams, pings, videos and requests; all start 5 s later, and
                                             the run ends 5 s after the last one
    TPCONF_vary_parameters                   axes, the first the outermost; the variables of an axis vary together;
                                             `runs` are repetitions
    kernels, systems, TCP_algos              `stack` of hosts, `cc` of senders, the generation of PIE

Whatever is not taken over as it stands has a note with its line, also at the top of the experiment file. Passwords are
never imported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.formats.teacup.evaluate import Beside, NotEvaluated, read
from tailback.formats.teacup.network import host_entries, links, read_hosts, testbed
from tailback.formats.teacup.notes import Effect, Note
from tailback.formats.teacup.queues import Order, read_queues
from tailback.formats.teacup.reading import Reading, read_axes
from tailback.formats.teacup.traffic import conversations, read_traffic

LABORATORY = {
    "TPCONF_script_path", "TPCONF_tftpserver", "TPCONF_tftpboot_dir", "TPCONF_force_reboot", "TPCONF_boot_timeout",
    "TPCONF_do_power_cycle", "TPCONF_host_power_ctrlport", "TPCONF_power_admin_name", "TPCONF_power_admin_pw",
    "TPCONF_power_ctrl_type", "TPCONF_os_partition", "TPCONF_check_config", "TPCONF_check_connectivity",
    "TPCONF_debug_level", "TPCONF_config_topology", "TPCONF_topology_switch", "TPCONF_topology_switch_port_prefix",
    "TPCONF_topology_switch_port_offset", "TPCONF_max_time_diff", "TPCONF_test_id", "TPCONF_remote_dir",
    "TPCONF_web10g_poll_interval", "TPCONF_linux_tcp_logger", "TPCONF_tcpstats_logger", "TPCONF_tcpdump_logger",
    "TPCONF_ttprobe_output_mode", "TPCONF_ttprobe_direction", "TPCONF_pcap_snaplen", "TPCONF_bc_ping_enable",
    "TPCONF_bc_ping_rate", "TPCONF_bc_ping_address",
}  # fmt: skip
"""Variables about the laboratory and TEACUP's measurements, which change no result."""

READ = {
    "TPCONF_router", "TPCONF_hosts", "TPCONF_host_internal_ip", "TPCONF_host_os", "TPCONF_router_queues",
    "TPCONF_traffic_gens", "TPCONF_duration", "TPCONF_runs", "TPCONF_TCP_algos", "TPCONF_host_TCP_algos",
    "TPCONF_parameter_list", "TPCONF_variable_defaults", "TPCONF_variables", "TPCONF_variable_list",
    "TPCONF_vary_parameters", "TPCONF_linux_kern_hosts", "TPCONF_linux_kern_router", "TPCONF_linkspeed",
}  # fmt: skip
"""Variables that the import uses, or notes where they are used."""


@dataclass(frozen=True)
class Imported:
    """The result of converting a configuration."""

    experiment: Mapping[str, Any]
    testbed: Mapping[str, Any]
    notes: Sequence[Note]


def _no_file(name: str) -> str:
    raise NotEvaluated(f"`{name[:60]}` is not beside it")


def convert(text: str, beside: Beside = _no_file, order: Order = Order.RATE_FIRST) -> Imported:
    """The experiment and the testbed of a configuration; `beside` reads the files that it includes."""
    module = read(text, beside)
    reading = Reading(module, module.notes)
    hosts = read_hosts(reading)
    reading.axes = read_axes(reading)
    flows, end = read_traffic(reading, hosts)
    queues = read_queues(reading, hosts, conversations(flows), order)
    experiment: dict[str, Any] = {"title": "imported from TEACUP"}
    entries, segments = host_entries(reading, hosts), links(reading, hosts)
    experiment |= {"let": reading.let} if reading.let else {}
    experiment |= {"hosts": entries, "links": segments}
    experiment |= {"qdiscs": queues} if queues else {}
    experiment |= {"traffic": flows, "duration": f"{end}s"}
    vary = _vary(reading)
    experiment |= {"vary": vary} if vary else {}
    experiment |= {"repeat": reading.repeat} if reading.repeat > 1 else {}
    _unread(reading)
    return Imported(experiment, testbed(reading, hosts), _gathered(reading.notes))


def _vary(reading: Reading) -> dict[str, Any]:
    for axis in reading.axes:
        if axis.name not in reading.patches:
            what = f"`{axis.name}` varies nothing that is imported: it is not an axis"
            reading.note("TPCONF_vary_parameters", what)
    return {
        axis.name: {label: {"let": values} for label, values in reading.patches[axis.name].items()}
        for axis in reading.axes
        if axis.name in reading.patches
    }


def _unread(reading: Reading) -> None:
    """Notes what nothing has used."""
    _own_commands(reading)
    used = READ | _used_in(reading)
    for name in reading.module.values:
        if name == "env.password":
            reading.note(name, "the password was not taken over: use a key")
        elif name in LABORATORY or (name.startswith("env.") and name != "env.user"):
            reading.note(name, f"`{name}`", Effect.NONE)
        elif name == "TPCONF_host_linkspeed":
            reading.note(name, f"`{name}`: speeds of single hosts are not imported; `rate` of a link sets them")
        elif name.startswith("TPCONF_") and name not in used | {"TPCONF_host_TCP_algo_params", *COMMANDS}:
            reading.note(name, f"`{name}` is used by nothing that is imported", Effect.NONE)
    for name in [each for each in reading.module.lost if each in LABORATORY or not each.startswith("TPCONF_")]:
        _soften(reading, name)


def _soften(reading: Reading, name: str) -> None:
    """A name of the laboratory without a value has no effect, and neither has one of Python that nothing uses."""
    told = f"`{name}` is not known: "
    for place, note in enumerate(reading.notes):
        if note.what.startswith(told) and note.effect is Effect.LOST:
            reading.notes[place] = Note(note.line, f"`{name}`", Effect.NONE, note.file)


def _used_in(reading: Reading) -> set[str]:
    """The TPCONF_ variables whose values the axes and defaults hold."""
    held = [axis.values.values() for axis in reading.axes]
    values = [value for each in held for named in each for value in named.values()]
    values += [value for value in reading.defaults.values() if isinstance(value, str | int | float)]
    found = set()
    for name, value in reading.module.values.items():
        if name.startswith("TPCONF_") and any(_among(part, values) for part in _flat(value)):
            found.add(name)
    return found


def _flat(value: Any) -> Iterator[Any]:
    """The elements of a list and of the tuples in it."""
    for each in value if isinstance(value, list | tuple) else [value]:
        yield from each if isinstance(each, list | tuple) else [each]


def _among(part: Any, values: Sequence[Any]) -> bool:
    return isinstance(part, str | int | float) and part in values


COMMANDS = {"TPCONF_host_init_custom_cmds": "it is not run"}


def _own_commands(reading: Reading) -> None:
    """Notes each command and each sysctl of hosts."""
    for host, commands in reading.get("TPCONF_host_init_custom_cmds", dict).items():
        for command in commands if isinstance(commands, list | tuple) else [commands]:
            reading.note("TPCONF_host_init_custom_cmds", f"`{str(command)[:60]}` of {str(host)[:30]} is not run")
    for host, of_controls in reading.get("TPCONF_host_TCP_algo_params", dict).items():
        for name, settings in of_controls.items() if isinstance(of_controls, dict) else []:
            for setting in settings if isinstance(settings, list | tuple) else [settings]:
                what = f"`{str(setting)[:60]}` of {str(host)[:30]} with {str(name)[:20]} is not set"
                reading.note("TPCONF_host_TCP_algo_params", what)


def _gathered(notes: Sequence[Note]) -> list[Note]:
    """Notes of each kind in the order of the file, without repetition; those without effect of one file in one line."""
    kept = sorted(dict.fromkeys(notes), key=lambda note: (list(Effect).index(note.effect), note.file, note.line))
    plain: dict[str, list[Note]] = defaultdict(list)
    for note in kept:
        if note.effect is Effect.NONE and note.what.count("`") == 2 and note.what[0] == note.what[-1] == "`":
            plain[note.file].append(note)
    gathered = {note for each in plain.values() for note in each}
    found = [note for note in kept if note not in gathered]
    for file, each in plain.items():
        words = ", ".join(f"{note.what} ({note.line})" for note in each)
        found.append(Note(each[0].line, f"of the laboratory: {words}", Effect.NONE, file))
    return found

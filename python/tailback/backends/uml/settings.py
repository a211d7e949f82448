"""Settings that apply to the whole kernel of a guest: modules of the user, TCP Small Queues, options of controls.

Our kernel has `tcp_output.small_queue_*` and `sock.pacing_shift` (`kernel/README.md`); a stock kernel has neither.
"""

from collections.abc import Iterator

from tailback.backends.linux import job
from tailback.backends.linux.own_modules import loads
from tailback.backends.linux.small_queues import small_queue
from tailback.backends.linux.steps import Json, write
from tailback.resolved import Scenario, SmallQueue

FOLDER = "/tmp/run"
"""The folder of a run in the guest (`crates/agent/src/guest.rs`)."""

SMALL_QUEUE = "/sys/module/tcp_output/parameters/small_queue_"


def job_of(scenario: Scenario) -> Json:
    """The job for the agent in a guest."""
    plain = job.job_of(scenario)
    shifts = {entry.name: {"pacing_shift": _pacing_shift(entry.tsq)} for entry in scenario.connections}
    traffic = [entry | shifts.get(entry["traffic"]["name"], {}) for entry in plain["traffic"]]
    setup = [*loads(scenario, FOLDER), *plain["setup"], *_tcp(scenario), *_pings(scenario)]
    return plain | {"setup": setup, "traffic": traffic}


def _pacing_shift(tsq: SmallQueue) -> int | None:
    return tsq.shift if tsq.kind == "time" else None


def _pings(scenario: Scenario) -> Iterator[Json]:
    """Programs of any group may send echo requests: their files have no capabilities in a guest."""
    for host in sorted({program.host for program in scenario.programs}):
        yield write(host, "/proc/sys/net/ipv4/ping_group_range", ALL_GROUPS)


def _tcp(scenario: Scenario) -> Iterator[Json]:
    for entry in scenario.connections[:1]:
        for name, value in small_queue(entry.tsq).items():
            yield write(None, SMALL_QUEUE + name, value)


ALL_GROUPS = "0 65534"

FIRST_WITH_SECCOMP = (6, 16)
"""The first Linux whose guests catch the system calls of their processes by seccomp."""


def how_processes_run(version: str) -> list[str]:
    """Lets a guest catch system calls by seccomp where it and this machine can, in two thirds of the time that ptrace
    takes. The results are the same, but for a microsecond of an RTT now and then beside programs with threads.
    """
    series = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    return ["seccomp=auto"] if series >= FIRST_WITH_SECCOMP else []


def boot_parameters(scenario: Scenario) -> list[str]:
    """The options of controls as parameters at boot. A running kernel refuses some (`bic_scale`), and takes others
    without computing anew what follows from them (`beta` of CUBIC).
    """
    controls = [entry.cc for entry in scenario.connections]
    given = {f"tcp_{each.name}.{name}": value for each in controls for name, value in each.options.items()}
    return [f"{name}={value}" for name, value in given.items()]

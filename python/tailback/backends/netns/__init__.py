"""The kernel of this machine, in real time: hosts are network namespaces; root is not required.

A run leaves nothing behind. Everything that it builds is in anonymous namespaces of one process, the agent
(`crates/agent/src/host.rs`). The kernel kills the agent when the thread that started it ends, and then removes the
namespaces with their devices, disciplines and sysctls. Nothing outside of the namespaces is ever changed: settings that
are not per namespace are refused (`suitable.py`). So nothing must be restored after an error, Ctrl-C, SIGTERM or
SIGKILL. Only a temporary folder may remain, which the next run removes (`kernel/scratch.py`). The exception are kernel
modules and BPF programs of the user, which root may load for a run (`modules.py`, `bpf.py`).

A run whose processors could not keep up is invalid (`emulation.py`). Only one run at a time is executed on a machine
(`turn.py`).
"""

import functools
import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

from tailback import columns
from tailback.backends.backend import Clock, Progress, RunFailed, RunInvalid, RunResult
from tailback.backends.linux import captures, own_modules, process, programs
from tailback.backends.linux import shell as linux_shell
from tailback.backends.linux.job import job_of
from tailback.backends.linux.qdisc_stats import of_kernel
from tailback.backends.linux.steps import PROGRAMS, Json
from tailback.backends.linux.tables import read_segments, read_tables, recorded
from tailback.backends.netns import bpf, emulation, modules, shell, suitable
from tailback.backends.netns.probe import Probe
from tailback.backends.netns.turn import Turn
from tailback.kernel import build_agent
from tailback.kernel.checkout import digest
from tailback.resolved import Scenario

FOLDER = "tailback-netns-"
STALL_S = 300.0
"""Time without progress after which a run counts as stuck, in addition to a hundredth of its duration."""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


class Netns:
    """The kernel of this machine as a backend."""

    name = "netns"
    clock = Clock.REAL

    def __init__(self, agent: Path, limits: emulation.Shares = emulation.LIMITS) -> None:
        self.agent = agent
        self.limits = limits
        self._probe = Probe(agent)
        self._turn = Turn()

    @classmethod
    def of_this_machine(cls) -> "Netns":
        """The backend with the agent of this installation, which is built if it is missing."""
        return cls(build_agent())

    @functools.cached_property
    def fingerprint(self) -> str:
        """Digest of the kernel's version, the agent, and iproute2."""
        files = [self.agent, *(Path(program) for program in PROGRAMS if Path(program).is_file())]
        kernel = ("kernel", f"{platform.release()} {platform.version()}".encode())
        return digest([kernel, *((file.name, file.read_bytes()) for file in files)])[:16]

    def fingerprint_with(self, scenario: Scenario) -> str:
        """As `fingerprint`, with the programs of a scenario."""
        return digest([("machine", self.fingerprint.encode()), ("programs", programs.fingerprint(scenario).encode())])[
            :16
        ]

    def new_progress(self) -> Progress:
        """The progress of one run, by wall-clock time."""
        return process.Progress()

    def check(self, scenario: Scenario) -> None:
        """Raises `Unsuitable` if this kernel lacks a feature, which is determined by trying it."""
        suitable.check(scenario, self._probe)
        modules.built_modules(scenario)
        bpf.compiled(scenario)

    def check_without_code(self, scenario: Scenario) -> None:
        """The same, without compiling modules."""
        suitable.check(scenario, self._probe)

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        """Runs the job in namespaces; raises `RunInvalid` if the machine could not keep up."""
        if not isinstance(progress, process.Progress):
            raise TypeError("the backend netns needs a progress object from its own `new_progress()`")
        with self._turn.one(progress), process.run_folder(FOLDER) as folder:
            self._write_inputs(folder, scenario, job_of(scenario))
            made = modules.built_modules(scenario)
            programs_in_bpf = bpf.compiled(scenario)
            with modules.unloaded(made, folder), bpf.registered(programs_in_bpf):
                cost = self._run_agent(folder, scenario.duration_ns, progress)
            stats = of_kernel(scenario, folder)
            found, segments = captures.read(scenario, folder), {"segments": read_segments(folder)}
            log = folder / own_modules.LOG
            text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
            lines = own_modules.of_machine(text, own_modules.own_modules(scenario))
            notes = own_modules.notes({**made, **programs_in_bpf}, {"kernel": f"Linux {platform.release()}"}, lines)
            left = programs.left(scenario, folder, read_tables(folder))
            segments["segments"] += left.segments
            whole = {**own_modules.files_of(lines), **left.files}
            notes = {**notes, **left.notes}
            return RunResult(recorded(left.tables), {**cost, **segments}, found, notes, stats, whole)

    def shell(self, scenario: Scenario, wanted: linux_shell.Wanted) -> int:
        """Runs a shell or a command on a host; returns its status."""
        job = linux_shell.job_of(job_of(scenario), scenario, wanted)
        with self._turn.one(process.Progress()), process.run_folder(FOLDER) as folder:
            self._write_inputs(folder, scenario, job)
            made = modules.built_modules(scenario)
            with modules.unloaded(made, folder), bpf.registered(bpf.compiled(scenario)):
                return shell.run(folder, process.Command(["./agent", "host", str(os.getpid())], ENVIRONMENT), wanted)

    def _write_inputs(self, folder: Path, scenario: Scenario, job: Json) -> None:
        process.place(self.agent, folder)
        job = job | {"setup": [*own_modules.loads(scenario, "."), *job["setup"]]}
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        for name, content in programs.brought(scenario).items():
            (folder / name).write_bytes(content)

    def _run_agent(self, folder: Path, duration_ns: int, progress: process.Progress) -> dict[str, float]:
        looks, started = emulation.Sampler(), time.monotonic()
        command = process.Command(["./agent", "host", str(os.getpid())], ENVIRONMENT)
        watch = process.Watch(duration_ns, progress, duration_ns / 100e9 + STALL_S, _stalled, looks)
        status, usage = process.run(command, folder, watch)
        _judge(folder, status)
        progress.fraction = 1.0
        found = emulation.shares(looks.readings, _late_ns(folder))
        reason = emulation.verdict(found, self.limits)
        if reason is not None:
            hint = "use lower rates, fewer flows, an idle machine with more processors, or virtual time: --backend uml"
            raise RunInvalid(f"the emulation was CPU-bound: {reason}\n  hint: {hint}")
        return process.cost(started, usage, duration_ns) | emulation.as_cost(found)


def _stalled(passed_s: float) -> str:
    hint = "is the machine overloaded? try fewer flows or a shorter run"
    return f"no progress for {STALL_S / 60:g} minutes, after {passed_s:.1f} s of the run\n  hint: {hint}"


def _judge(folder: Path, status: int) -> None:
    """Raises `RunFailed` unless the agent has reported success."""
    if (folder / "done").exists():
        return
    failure = process.failure(folder)
    if failure is not None:
        raise RunFailed(f"in the namespaces: {failure}")
    console = (folder / "console").read_text(encoding="utf-8", errors="replace")[-process.CONSOLE_TAIL :]
    raise RunFailed(f"the agent ended with status {status} before the run did\n{process.shown(console)}")


def _late_ns(folder: Path) -> Sequence[int]:
    late: list[int] = columns.read_csv(folder / "lateness.csv", {"late_ns": columns.SIGNED})["late_ns"].tolist()
    return late

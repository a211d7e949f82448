"""A real Linux kernel in virtual time: user-mode Linux with `time-travel=inf-cpu`, one instance per run.

TCP, disciplines and timers are those of the kernel; processing takes no virtual time, and the same seed gives the same
bytes. It needs neither root nor the host's network. `linux/job.py` describes the emulation of links, `suitable.py` here
and in `linux` the checks of scenarios.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from tailback import _core
from tailback.backends.backend import KERNEL_WARNINGS, Clock, Progress, RunResult, Unsuitable
from tailback.backends.linux import captures, own_modules, process, programs
from tailback.backends.linux import shell as linux_shell
from tailback.backends.linux.qdisc_stats import of_kernel
from tailback.backends.linux.steps import PROGRAMS, Json
from tailback.backends.linux.tables import read_segments, read_tables, recorded
from tailback.backends.uml import instance, shell, state, suitable
from tailback.backends.uml.air import read_air
from tailback.backends.uml.settings import boot_parameters, how_processes_run, job_of
from tailback.kernel import STOCK, CacheUnwritable, Kernel, KernelMissing, build_agent, find_kernel, loadable
from tailback.kernel.checkout import digest
from tailback.kernel.messages import ModuleRefused
from tailback.resolved import Scenario, to_json


class Uml:
    """A kernel as a backend."""

    clock = Clock.VIRTUAL

    def __init__(self, kernel: Kernel, machine: instance.Machine, *, chosen: bool) -> None:
        self.kernel = kernel
        self.machine = machine
        self._chosen = chosen
        self._others: dict[str, Uml] = {}

    @classmethod
    def named(cls, kernel: str | None) -> Uml:
        """The backend `uml:NAME`, or `uml` for `None`, with which an experiment may choose its kernel."""
        found = find_kernel(STOCK if kernel is None else kernel)
        return cls(found, instance.Machine(found.binary, build_agent()), chosen=kernel is not None)

    def of_kernel(self, name: str) -> Uml:
        """This backend with another kernel; both share the processors."""
        if self._chosen:
            hint = "remove `kernel` from the file, or run it with --backend uml and no name behind"
            raise Unsuitable(f"the backend is `{self.name}`, and the file's `kernel` is `{name}`\n  hint: {hint}")
        if name not in self._others:
            kernel = find_kernel(name)
            self._others[name] = Uml(kernel, replace(self.machine, kernel=kernel.binary), chosen=True)
        return self._others[name]

    @property
    def name(self) -> str:
        """`uml`, or `uml:NAME` if the kernel is not the stock one."""
        return "uml" if self.kernel.manifest.name == STOCK else f"uml:{self.kernel.manifest.name}"

    @functools.cached_property
    def fingerprint(self) -> str:
        """Digest of the kernel, the agent, the host's iproute2, and of the simulator if the kernel has radios, because
        their air is the simulator's.
        """
        files = [self.kernel.binary, self.machine.agent, *map(Path, PROGRAMS)]
        parts = [(file.name, file.read_bytes()) for file in files]
        air = [("air", _core.engine().encode())] if self.kernel.has("TAILBACK_WIFI") else []
        return digest([*parts, *air])[:16]

    def fingerprint_with(self, scenario: Scenario) -> str:
        """As `fingerprint`, with the programs of a scenario."""
        return digest([("kernel", self.fingerprint.encode()), ("programs", programs.fingerprint(scenario).encode())])[
            :16
        ]

    def new_progress(self) -> Progress:
        """The progress of one run, in virtual time."""
        return process.Progress()

    def check(self, scenario: Scenario) -> None:
        """Raises `Unsuitable` if the kernel cannot run `scenario`."""
        suitable.check(scenario, self.kernel)
        self._modules(scenario)

    def check_without_code(self, scenario: Scenario) -> None:
        """The same, without compiling modules."""
        suitable.check(scenario, self.kernel)

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        """Boots an instance, gives it the job, and reads the results."""
        if not isinstance(progress, process.Progress):
            raise TypeError("the backend uml needs a progress object from its own `new_progress()`")
        made = self._modules(scenario)
        order = self._order(scenario, job_of(scenario), tuple(made.values()))
        with instance.finished(self.machine, order, progress) as (folder, cost):
            stats = of_kernel(scenario, folder)
            lines = state.printed_in(folder) if made else []
            notes = own_modules.notes(made, self._kernel_words(), lines) | _wrong(folder)
            found, segments = captures.read(scenario, folder), {"segments": read_segments(folder)}
            read = read_tables(folder)
            left = programs.left(scenario, folder, read)
            tables = recorded(left.tables)
            if scenario.cells:
                tables |= read_air(folder, read.get("radios"))
            whole = own_modules.files_of(lines)
            segments["segments"] += left.segments
            return RunResult(
                tables, {**cost, **segments}, found, {**notes, **left.notes}, stats, {**whole, **left.files}
            )

    def shell(self, scenario: Scenario, wanted: linux_shell.Wanted) -> int:
        """Runs a shell or a command on a host; returns its status."""
        files = tuple(self._modules(scenario).values())
        job = linux_shell.job_of(job_of(scenario), scenario, wanted)
        return shell.run(self.machine, self._order(scenario, job, files), wanted)

    def _order(self, scenario: Scenario, job: Json, files: Sequence[Path]) -> instance.Order:
        radio = (
            json.dumps(to_json(structs.replace(scenario, kernel=None, programs=(), clock_ns=None)))
            if scenario.cells
            else None
        )
        boot = [*boot_parameters(scenario), *how_processes_run(self.kernel.manifest.version)]
        owns = {own.name: own for own in own_modules.own_modules(scenario)}
        return instance.Order(
            json.dumps(job), scenario.seed, scenario.duration_ns, modules=files, owns=owns, air=radio, boot=boot,
            files=programs.brought(scenario), has_programs=bool(scenario.programs),
            clock_ns=scenario.clock_ns or instance.START_NS,
        )  # fmt: skip

    def _modules(self, scenario: Scenario) -> Mapping[str, Path]:
        """The modules of the user by their names in the kernel, built for it; raises `Unsuitable` if one cannot be."""
        wanted = own_modules.own_modules(scenario)
        try:
            tree = loadable.Tree.of(self.kernel) if wanted else None
            return {own.name: loadable.built(own.source, own.name, tree) for own in wanted if tree is not None}
        except (ModuleRefused, KernelMissing, CacheUnwritable) as error:
            raise Unsuitable(f"the congestion control cannot be built for this kernel: {error}") from error

    def _kernel_words(self) -> Mapping[str, str]:
        manifest = self.kernel.manifest
        return {"kernel": f"Linux {manifest.version}, {manifest.source}", "digest": manifest.digest}


def _wrong(folder: Path) -> dict[str, list[str]]:
    """What the manifest says if something has gone wrong in the kernel."""
    said = state.warnings_in(folder)
    return {KERNEL_WARNINGS: said} if said else {}

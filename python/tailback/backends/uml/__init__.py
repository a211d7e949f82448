"""A real Linux kernel in virtual time: user-mode Linux with `time-travel=inf-cpu`, one instance per run.

TCP, disciplines and timers are those of the kernel; processing takes no virtual time, and the same seed gives the same
bytes. It needs neither root nor the host's network. `linux/job.py` describes the emulation of links, `suitable.py` here
and in `linux` the checks of scenarios.
"""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path

from tailback.backends import Clock, Progress, RunResult, Unsuitable
from tailback.backends.linux import captures, process
from tailback.backends.linux.steps import PROGRAMS
from tailback.backends.linux.tables import read_segments, read_tables
from tailback.backends.qdisc_stats import of_kernel
from tailback.backends.uml import instance, suitable
from tailback.backends.uml.settings import job_of
from tailback.kernel import STOCK, Kernel, find_agent, find_kernel
from tailback.kernel.checkout import digest
from tailback.resolved import Scenario


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
        return cls(found, instance.Machine(found.binary, find_agent()), chosen=kernel is not None)

    def of_kernel(self, name: str) -> Uml:
        """The same backend with another kernel; both share the processors."""
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
        """Digest of the kernel, the agent, and the host's iproute2."""
        files = [self.kernel.binary, self.machine.agent, *map(Path, PROGRAMS)]
        return digest((file.name, file.read_bytes()) for file in files)[:16]

    def new_progress(self) -> Progress:
        """The progress of one run, in virtual time."""
        return process.Progress()

    def check(self, scenario: Scenario) -> None:
        """Raises `Unsuitable` if the kernel cannot run `scenario`."""
        suitable.check(scenario, self.kernel)

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        """Boots an instance, gives it the job, and reads the results."""
        if not isinstance(progress, process.Progress):
            raise TypeError("the backend uml needs a progress object from its own `new_progress()`")
        order = instance.Order(json.dumps(job_of(scenario)), scenario.seed, scenario.duration_ns)
        with instance.finished(self.machine, order, progress) as (folder, cost):
            stats = of_kernel(scenario, folder)
            found, segments = captures.read(scenario, folder), {"segments": read_segments(folder)}
            return RunResult(read_tables(folder), {**cost, **segments}, found, qdiscs=stats)

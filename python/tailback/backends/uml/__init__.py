"""A real Linux kernel in virtual time: user-mode Linux with `time-travel=inf-cpu`, an instance per run.

The kernel's own TCP, disciplines and timers; processing costs nothing and the same seed gives the same bytes. Neither
root nor the host's network is needed. What stands for links is in `job.py`, what cannot be run in `suitable.py`.
"""

import functools
import json
from pathlib import Path

from tailback.backends import Progress, RunResult, Scenario
from tailback.backends.uml import instance, suitable
from tailback.backends.uml.job import PROGRAMS, job_of
from tailback.backends.uml.tables import read_segments, read_tables
from tailback.kernel import Kernel, find_agent, find_kernel
from tailback.kernel.checkout import digest


class Uml:
    """A kernel as a backend."""

    def __init__(self, kernel: Kernel, agent: Path, stall_s: float = 600.0) -> None:
        self.kernel = kernel
        self.machine = instance.Machine(kernel.binary, agent, stall_s)

    @classmethod
    def named(cls, kernel: str) -> "Uml":
        """The kernel called so, `uml:NAME` on the command line."""
        return cls(find_kernel(kernel), find_agent())

    @property
    def name(self) -> str:
        """`uml`, with the kernel's name unless it is the usual one."""
        return "uml" if self.kernel.manifest.name == "stock" else f"uml:{self.kernel.manifest.name}"

    @functools.cached_property
    def fingerprint(self) -> str:
        """Digest of all that runs inside: kernel, agent, and the host's iproute2."""
        files = [self.kernel.binary, self.machine.agent, *map(Path, PROGRAMS)]
        return digest((file.name, file.read_bytes()) for file in files)[:16]

    def new_progress(self) -> Progress:
        """Progress of one run, in virtual time."""
        return instance.Progress()

    def check(self, scenario: Scenario) -> None:
        """Looks for what a kernel cannot do."""
        suitable.check(scenario, self.kernel)

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        """Boots an instance, has it do the job, and reads what it has written."""
        if not isinstance(progress, instance.Progress):
            raise TypeError("a run in a kernel is watched through its own `new_progress()`")
        order = instance.Order(json.dumps(job_of(scenario)), scenario["seed"], scenario["duration_ns"])
        with instance.finished(self.machine, order, progress) as (folder, cost):
            return RunResult(read_tables(folder), {**cost, "segments": read_segments(folder)})

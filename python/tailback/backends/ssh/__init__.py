"""Runs experiments on your own machines over SSH: the same experiment file, the same tables (`docs/testbed.md`).

The commands for each machine are planned from the scenario and from facts about the machines (`plan.py`), and checked
before a run (`suitable.py`). A small agent executes them on each machine and undoes all changes
(`crates/agent/src/serve.rs`, `guard.rs`): at the end, on an error, if the connection is lost, or if it is killed.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tailback import testbed as testbeds
from tailback.backends.backend import Clock, Progress, RunCancelled, RunResult, Unsuitable
from tailback.backends.ssh import run, suitable
from tailback.backends.ssh.connection import HostFailed, local_agent
from tailback.backends.ssh.layout import Layout, taking_part
from tailback.backends.ssh.plan import Plan, Step, plan_of
from tailback.backends.ssh.suitable import Finding
from tailback.backends.ssh.visit import Known, Visit
from tailback.kernel import build_agent
from tailback.kernel.checkout import digest
from tailback.resolved import Scenario
from tailback.testbed import Machine, Testbed

WAIT_S = 0.2


class Ssh:
    """A testbed as a backend."""

    name = "ssh"
    clock = Clock.REAL

    def __init__(self, testbed: Testbed, agent: Path) -> None:
        self.testbed = testbed
        self._agent = local_agent(agent)
        self._known = Known()
        self._turn = threading.Lock()

    @classmethod
    def of_file(cls, path: str) -> Ssh:
        """The backend for a testbed file."""
        return cls(testbeds.load(path), build_agent())

    @functools.cached_property
    def fingerprint(self) -> str:
        """Digest of the testbed file and of the agent. The manifest of each run lists the kernels."""
        document = json.dumps(self.testbed.document(), sort_keys=True).encode()
        return digest([("testbed", document), ("agent", self._agent.content)])[:16]

    def new_progress(self) -> Progress:
        """The progress of one run, by wall-clock time."""
        return run.TestbedProgress()

    def check(self, scenario: Scenario) -> None:
        """Raises `Unsuitable` if the machines cannot run `scenario`; changes nothing on them."""
        failed = [finding for finding in self.findings(scenario) if finding.verdict == "fail"]
        if failed:
            lines = [f"{_where(finding)}{finding.says}\n  hint: {finding.remedy}" for finding in failed]
            raise Unsuitable(f"the testbed `{self.testbed.path}` cannot run this:\n" + "\n".join(lines))

    def check_without_code(self, scenario: Scenario) -> None:
        """The same: only a run builds and loads modules, on the machines."""
        self.check(scenario)

    def findings(self, scenario: Scenario | None = None) -> Iterator[Finding]:
        """All findings before a run; without a scenario, those that apply to any experiment, for all machines."""
        wrong = [] if scenario is None else list(suitable.written(scenario, self.testbed))
        yield from wrong
        if wrong:
            return
        try:
            with Visit(self.testbed, self._agent, self._known) as visit:
                yield from self._looked_at(scenario, visit)
        except HostFailed as failure:
            yield Finding(failure.host, failure.step, "fail", failure.reason, failure.hint)

    def _looked_at(self, scenario: Scenario | None, visit: Visit) -> Iterator[Finding]:
        facts = visit.facts(self._machines(scenario))
        fatal = False
        for host, own in facts.items():
            for finding in (*suitable.of_machine(own), *suitable.of_devices(own, self.testbed)):
                fatal |= finding.verdict == "fail"
                yield finding
            yield suitable.of_clock(host, visit.offset(host))
        if scenario is None or fatal:
            return
        layout = Layout(scenario, self.testbed, facts)
        yield from suitable.of_scenario(layout)
        yield from suitable.tried(layout, visit)

    def _machines(self, scenario: Scenario | None) -> Mapping[str, Machine]:
        return self.testbed.machines if scenario is None else taking_part(scenario, self.testbed)

    def plan(self, scenario: Scenario) -> Plan:
        """The commands for each machine. Reads facts from the machines, but changes nothing on them."""
        wrong = next(suitable.written(scenario, self.testbed), None)
        if wrong is not None:
            raise Unsuitable(f"{wrong.says}\n  hint: {wrong.remedy}")
        try:
            with Visit(self.testbed, self._agent, self._known) as visit:
                facts = visit.facts(self._machines(scenario))
        except HostFailed as failure:
            raise Unsuitable(str(failure)) from failure
        fatal = [each for own in facts.values() for each in suitable.of_devices(own, self.testbed)]
        for each in fatal:
            if each.verdict == "fail":
                raise Unsuitable(f"{_where(each)}{each.says}\n  hint: {each.remedy}")
        return plan_of(Layout(scenario, self.testbed, facts), "TOKEN")

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        """Runs `scenario` on the machines, and restores them."""
        if not isinstance(progress, run.TestbedProgress):
            raise TypeError("the backend ssh needs a progress object from its own `new_progress()`")
        # Machines execute one run at a time, whatever `--jobs` says.
        while not self._turn.acquire(timeout=WAIT_S):
            if progress.cancelled:
                raise RunCancelled("cancelled")
        try:
            return run.run_scenario(scenario, self.testbed, self._agent, progress)
        finally:
            self._turn.release()


def _where(finding: Finding) -> str:
    return f"host `{finding.host}`, {finding.what}: " if finding.host else ""


__all__ = ["Finding", "Plan", "Ssh", "Step"]

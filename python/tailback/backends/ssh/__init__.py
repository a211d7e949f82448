"""Runs experiments on your own machines over SSH: the same experiment file, the same tables (`docs/testbed.md`).

What is run where is planned from the scenario and the machines as they are (`plan.py`), and looked at before
(`suitable.py`). A small agent does it on each machine and undoes it (`crates/agent/src/serve.rs`, `guard.rs`): at the
end, on an error, when the connection is lost, when it is killed.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tailback import testbed as testbeds
from tailback.backends import Clock, Progress, RunCancelled, RunResult, Unsuitable
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
        """The testbed in a file."""
        return cls(testbeds.load(path), build_agent())

    @functools.cached_property
    def fingerprint(self) -> str:
        """Digest of the testbed file and of the agent. The kernels are in the manifest of each run."""
        said = json.dumps(self.testbed.document(), sort_keys=True).encode()
        return digest([("testbed", said), ("agent", self._agent.content)])[:16]

    def new_progress(self) -> Progress:
        """Progress of one run, by the clock on the wall."""
        return run.TestbedProgress()

    def check(self, scenario: Scenario) -> None:
        """Finds out what the machines cannot do; changes nothing."""
        failed = [finding for finding in self.findings(scenario) if finding.verdict == "fail"]
        if failed:
            lines = [f"{_where(finding)}{finding.says}\n  hint: {finding.remedy}" for finding in failed]
            raise Unsuitable(f"the testbed `{self.testbed.path}` cannot run this:\n" + "\n".join(lines))

    def findings(self, scenario: Scenario | None = None) -> Iterator[Finding]:
        """All findings before a run; without a scenario, those that hold for any experiment, on all machines."""
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
        """The commands for each machine; it reads facts from the machines and changes nothing."""
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
        """Has the machines do it, and restores them."""
        if not isinstance(progress, run.TestbedProgress):
            raise TypeError("a run on a testbed is watched through its own `new_progress()`")
        # The machines have one run at a time, however many were asked for.
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

"""Backends that stand in for a kernel in tests of comparisons: the simulator itself, faithful or with a known fault."""

from msgspec.structs import replace

from tailback.backends import Progress, RunFailed, RunResult, Unsuitable
from tailback.backends.sim import Sim
from tailback.resolved import Control, Scenario, Tcp


class Twin(Sim):
    """The simulator under another name. It refuses or fails runs if the title requests it."""

    name = "twin"

    def check(self, scenario: Scenario) -> None:
        if any(flow.cc.name == "bbr" for flow in scenario.tcp):
            raise Unsuitable("the twin has no bbr")
        super().check(scenario)

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        if scenario.seed == 13:
            raise RunFailed("the twin is unlucky today")
        return super().run(scenario, progress)


class Slower(Twin):
    """A twin whose last link has 5 ms more delay, so that the RTT is 10 ms longer."""

    name = "slower"

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        *others, last = scenario.links
        near, far = (delay + 5_000_000 for delay in last.delay_ns)
        changed = replace(scenario, links=(*others, replace(last, delay_ns=(near, far))))
        return super().run(changed, progress)


class LateCut(Twin):
    """A control with a defect that shows at the first loss: reno runs as cubic, which reduces to 7/10, not 1/2."""

    name = "late-cut"

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        cubic = Control(name="cubic")
        traffic = tuple(replace(flow, cc=cubic) if isinstance(flow, Tcp) else flow for flow in scenario.traffic)
        changed = replace(scenario, traffic=traffic)
        return super().run(changed, progress)


class Eventless(Twin):
    """It records no single packets, as for a kernel."""

    name = "eventless"

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        result = super().run(scenario, progress)
        seen = {name: table for name, table in result.tables.items() if name != "events"}
        return RunResult(seen, result.cost)


STAND_INS = {backend.name: backend for backend in (Sim, Twin, Slower, LateCut, Eventless)}
"""For `monkeypatch.setattr(backends, "_BACKENDS", STAND_INS)`."""

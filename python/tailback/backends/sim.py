"""The simulator: `tailback._core`, compiled from `crates/`. It releases the GIL while it runs."""

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import structs

from tailback import _core
from tailback.backends.backend import Clock, Progress, RunCancelled, RunFailed, RunResult, Unsuitable
from tailback.backends.own_controls import OwnControls
from tailback.resolved import Scenario, to_text, without_controls

if TYPE_CHECKING:
    from tailback.backends.modules import Module

OUT_OF_MEMORY = (
    "record less (a longer `measure.interval`, fewer pings, no `measure.pcap`), shorten the run, "
    "or run fewer at a time: --jobs 1"
)


class Sim:
    """The simulator as a backend."""

    name = "sim"
    clock = Clock.VIRTUAL

    def __init__(self, memory_limit: int | None = None) -> None:
        self.memory_limit = memory_limit

    def with_memory(self, limit: int) -> "Sim":
        """This backend with a memory limit: runs fail if their rows and packets need more than `limit` bytes."""
        limited = copy.copy(self)
        limited.memory_limit = limit
        return limited

    @property
    def fingerprint(self) -> str:
        """Digest of the sources from which it was compiled (`crates/python/build.rs`)."""
        return _core.engine()

    def new_progress(self) -> Progress:
        """The progress of one run, updated by the simulator."""
        return _core.Progress(self.memory_limit)

    def check(self, scenario: Scenario) -> None:
        """Builds the network of `scenario` and discards it; raises `Unsuitable` if that fails."""
        _refuse_programs(scenario)
        controls = OwnControls(scenario)
        if found := _modules(scenario):
            from tailback.backends import modules

            modules.check(scenario, found)
        try:
            with controls.watched():
                _core.check(_text_of(scenario), *_control_arguments(controls))
        except ValueError as error:
            hint = "remove what the message names, or choose another backend"
            raise Unsuitable(f"the simulator cannot run this: {error}\n  hint: {hint}") from error
        except _core.ControlFailed as failed:
            raise Unsuitable(_failure_text(controls, failed)) from failed

    def check_without_code(self, scenario: Scenario) -> None:
        """Checks the network with another control in the place of those of the user."""
        self.check(without_controls(scenario))

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        """Simulates `scenario`."""
        if not isinstance(progress, _core.Progress):
            raise TypeError("the simulator needs a progress object from its own `new_progress()`")
        # Imported here, because `check` does not need it.
        from tailback.backends.qdisc_stats import of_simulator

        _refuse_programs(scenario)
        controls = OwnControls(scenario)
        made = _modules(scenario)
        try:
            found = _simulate(scenario, progress, controls, made)
        except _core.Cancelled as stopped:
            raise RunCancelled(str(stopped)) from stopped
        except MemoryError as error:
            raise RunFailed(f"{error}\n  hint: {OUT_OF_MEMORY}") from error
        except (ValueError, RuntimeError) as error:
            raise RunFailed(str(error)) from error
        except _core.ControlFailed as failed:
            raise RunFailed(_failure_text(controls, failed)) from failed
        stats = of_simulator(scenario, json.loads(found["qdiscs"]))
        notes, files = found.get("notes", {}), found.get("files", {})
        return RunResult(found["tables"], found["cost"], found["captures"], notes, stats, files)


NEAREST = {
    "iperf3": "{tcp: client -> server}", "iperf": "{tcp: client -> server}", "netperf": "{tcp: client -> server}",
    "curl": "{page: client -> server} or {request: client -> server}", "wget": "{page: client -> server}",
    "ping": "{ping: client -> server}", "flent": "{preset: rrul, hosts: [client, server]}",
}  # fmt: skip
"""The traffic of the simulator that comes nearest to a program."""


def _refuse_programs(scenario: Scenario) -> None:
    """Raises `Unsuitable` if the scenario has programs, which need a kernel."""
    for program in scenario.programs:
        word = program.argv[0].rpartition("/")[2]
        near = f"; the simulator's nearest is {NEAREST[word]}" if word in NEAREST else ""
        what = f"the simulator cannot run this: it has no kernel for the program `{program.name}` (`{word}`)"
        raise Unsuitable(f"{what}\n  hint: run it on a real kernel in virtual time, --backend uml{near}")
    if scenario.clock_ns is not None:
        what = "the simulator cannot run this: `clock` is that of a guest, for its programs"
        raise Unsuitable(f"{what}\n  hint: remove `clock`, or use --backend uml")


def _text_of(scenario: Scenario) -> str:
    """What the simulator reads. The kernel of a file is the one whose headers its modules are compiled with; files of
    endpoints are loaded by the process of their run."""
    return to_text(structs.replace(scenario, kernel=None, endpoints=())).decode()


def _modules(scenario: Scenario) -> "Mapping[str, Module]":
    """The kernel modules of a scenario. Most have none, and do not wait for the import of what compiles them."""
    if all(source.language == "python" for source in scenario.controls):
        return {}
    from tailback.backends import modules

    return modules.modules(scenario)


def _simulate(
    scenario: Scenario, progress: _core.Progress, controls: OwnControls, made: "Mapping[str, Module]"
) -> Mapping[str, Any]:
    """What the simulator gives back; with kernel modules or endpoints it runs in a process of its own."""
    text = _text_of(scenario)
    if not made and not scenario.endpoints:
        with controls.watched():
            return _core.run(text, progress, *_control_arguments(controls))
    from tailback.backends import endpoints, modules

    texts = {source.name: source.text for source in scenario.controls}
    task = {"scenario": text, "texts": texts, "endpoints": {each.name: each.content for each in scenario.endpoints}}
    found = modules.run(task, progress, made)
    log = found.get("log", ())
    notes = modules.summary(made, log) if made else {}
    return {**found, "notes": notes, "files": {**modules.files_of(log), **endpoints.files_of(found)}}


def _control_arguments(controls: OwnControls) -> tuple[OwnControls, ...]:
    """The argument of the simulator that builds controls; none if the scenario has no control of the user."""
    return (controls,) if controls else ()


def _failure_text(controls: OwnControls, failed: Exception) -> str:
    return f"the congestion control failed: {controls.described(failed.__cause__ or failed)}"

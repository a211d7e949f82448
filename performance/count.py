"""Counts the instructions of a run with callgrind: the same binary and scenario give the same count on any machine.

    count(extension(), CASES[0].resolved()).per_segment      # instructions per TCP data segment sent

The extension counts `World::run`: the events of the run and the writing of its tables. The program counts its start and
the building of the network too; the cases last long enough that this is little.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

_COST = re.compile(r"events: (\d+), packets: (\d+), segments: (\d+)")
_OWN = re.compile(r"cpu: ([\d.]+) s, memory: (\d+) KiB")
_FUNCTION = re.compile(r"^ *([\d,]+) \([ \d.]+%\)(?: +[\d,]+ \([ \d.]+%\)| +\.)* +[^ :]*:(.*?)(?: \[.*\])?$")
_TOTALS = re.compile(r"^ *([\d,]+) \(100\.0%\)(.*)PROGRAM TOTALS")
_NUMBER = re.compile(r"[\d,]+(?= \()")


@dataclass(frozen=True)
class Counted:
    """What one run cost. Misses are those of callgrind's model of two caches; none where it was not asked for."""

    segments: int
    events: int
    instructions: int
    functions: Mapping[str, float]
    """Instructions per segment of each function, without those of the functions that it calls."""
    first_level_misses: int | None = None
    last_level_misses: int | None = None

    @property
    def per_segment(self) -> float:
        """Instructions per TCP data segment sent."""
        return self.instructions / self.segments


@dataclass(frozen=True)
class Runner:
    """What runs a scenario and prints its cost."""

    words: Sequence[str]
    """The command, without the file of the scenario that it ends in."""
    flags: Sequence[str] = ()
    """What callgrind is told to count."""


RUN = "tailback_world::world::World::run"

_IN_PYTHON = """
import sys, time
from importlib.util import module_from_spec, spec_from_file_location
extension, scenario = sys.argv[1:]
spec = spec_from_file_location("tailback._core", extension)
core = module_from_spec(spec)
spec.loader.exec_module(core)
with open(scenario) as file:
    text = file.read()
def peak():
    # Of this program only; what the kernel adds up of a process begins with the peak of the one that started it.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
held, begun = peak(), time.process_time()
cost = core.run(text, None)["cost"]
spent = time.process_time() - begun
print(f"events: {cost['events']}, packets: {cost['packets']}, segments: {cost['segments']}")
print(f"cpu: {spent:.6f} s, memory: {peak() - held} KiB")
"""


def extension() -> Runner:
    """The extension that users run, which `make` has built, in a Python that imports nothing else of ours."""
    from tailback import _core

    # Without the packages of the environment, and without a name for a bare clone to be found by.
    words = [sys.executable, "-I", "-S", "-c", _IN_PYTHON, str(_core.__file__)]
    return Runner(words, ("--collect-atstart=no", f"--toggle-collect={RUN}"))


def program() -> Runner:
    """The program of the crate `bench`, in the profile `release`."""
    words = ["cargo", "build", "--quiet", "--locked", "--release", "--package", "tailback-bench"]
    subprocess.run([*words, "--bin", "run-scenario"], cwd=ROOT, check=True)
    return Runner([str(Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "release" / "run-scenario")])


def text_of(scenario: Mapping[str, Any]) -> str:
    """What users give the simulator to read (tailback.backends.sim)."""
    return json.dumps(scenario, separators=(",", ":"))


def count(runner: Runner, scenario: Mapping[str, Any], *, caches: bool = False) -> Counted:
    """Runs the scenario below callgrind, some fifty times slower than by itself."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "scenario.json", Path(folder) / "callgrind.out"
        file.write_text(text_of(scenario))
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *runner.flags]
        words += ["--cache-sim=yes"] if caches else []
        done = subprocess.run([*words, *runner.words, file], capture_output=True, text=True, check=True)
        shown = subprocess.run(
            ["callgrind_annotate", "--threshold=99.9", "--show-percs=yes", "--auto=no", "--tree=none", out],
            capture_output=True,
            text=True,
            check=True,
        )
    segments, events = _segments_and_events(done.stdout)
    return _counted(shown.stdout, segments, events)


@dataclass(frozen=True)
class Spent:
    """Processor time and memory of one run by itself. They move with the machine: for reading, never for judging."""

    cpu_s: float
    peak_mib: float
    segments: int
    events: int


def spend(runner: Runner, scenario: Mapping[str, Any]) -> Spent:
    """Runs the scenario as users do. Of the extension only the run itself counts, of the program the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.json"
        file.write_text(text_of(scenario))
        with subprocess.Popen([*runner.words, file], stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            output = running.stdout.read()
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
    segments, events = _segments_and_events(output)
    if own := _OWN.search(output):
        return Spent(float(own[1]), int(own[2]) / 1024, segments, events)
    return Spent(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, segments, events)


def _segments_and_events(output: str) -> tuple[int, int]:
    found = _COST.search(output)
    if found is None:
        raise ValueError(f"the program did not print its cost: {output[:200]}")
    return int(found[3]), int(found[1])


def _counted(shown: str, segments: int, events: int) -> Counted:
    functions: dict[str, float] = {}
    totals: list[int] = []
    for line in shown.splitlines():
        if _TOTALS.match(line):
            totals = [int(number.replace(",", "")) for number in _NUMBER.findall(line)]
        elif found := _FUNCTION.match(line):
            name = _short(found[2])
            functions[name] = functions.get(name, 0) + int(found[1].replace(",", "")) / segments
    if not totals or not totals[0]:
        raise ValueError(f"callgrind has not met {RUN}: the extension has no names of functions; build it with `make`")
    first, last = (totals[3] + totals[4], totals[6] + totals[7]) if len(totals) > 8 else (None, None)
    return Counted(segments, events, totals[0], functions, first, last)


def _short(name: str) -> str:
    """A function without hash and instance."""
    return re.sub(r"::h[0-9a-f]{16}|'\d+$", "", name)

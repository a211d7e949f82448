"""Counts the instructions of a run with callgrind: the same binary and scenario give the same count on any machine.

    count(program(), CASES[0].resolved()).per_segment      # instructions per TCP data segment sent

Counts include building the network and writing the tables; the cases last long enough that this is little.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

_COST = re.compile(r"events: (\d+), packets: (\d+), segments: (\d+)")
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


def program(profile: str = "fast") -> Path:
    """The program of the crate `bench` that runs a scenario, linked of what `make` has compiled."""
    # Named together with the extension, it is built with the same features of the libraries: nothing is compiled twice.
    words = ["cargo", "build", "--quiet", "--locked", "--profile", profile, "--package", "tailback-python"]
    subprocess.run([*words, "--package", "tailback-bench", "--bin", "run-scenario"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / profile / "run-scenario"


def count(built: Path, scenario: Mapping[str, Any], *, caches: bool = False) -> Counted:
    """Runs the scenario below callgrind, some fifty times slower than by itself."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "scenario.json", Path(folder) / "callgrind.out"
        file.write_text(json.dumps(scenario))
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        words += ["--cache-sim=yes"] if caches else []
        done = subprocess.run([*words, built, file], capture_output=True, text=True, check=True)
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


def spend(built: Path, scenario: Mapping[str, Any]) -> Spent:
    """Runs the scenario as users do."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.json"
        file.write_text(json.dumps(scenario))
        with subprocess.Popen([built, file], stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            said = running.stdout.read()
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
    segments, events = _segments_and_events(said)
    return Spent(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, segments, events)


def _segments_and_events(said: str) -> tuple[int, int]:
    found = _COST.search(said)
    if found is None:
        raise ValueError(f"the program did not tell its cost: {said[:200]}")
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
    first, last = (totals[3] + totals[4], totals[6] + totals[7]) if len(totals) > 8 else (None, None)
    return Counted(segments, events, totals[0], functions, first, last)


def _short(name: str) -> str:
    """A function without hash and instance."""
    return re.sub(r"::h[0-9a-f]{16}|'\d+$", "", name)

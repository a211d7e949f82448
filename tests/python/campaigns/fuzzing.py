"""Long runs of fuzz targets: readers in Python under atheris or with mutations by a seed, readers in Rust under
cargo-fuzz.

If a process crashes, hangs or exceeds a limit of libFuzzer, its input is stored as a finding, and another process
continues.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from campaigns import drawn, guard, journal, seeds
from campaigns.seeds import REPOSITORY

STARTS = 10
"""Processes of one target at most; each but the last has left a find."""

LONGEST = 4096
"""Bytes of an input."""

RUST: Mapping[str, Sequence[str]] = {
    "drill": ("conformance/drill",),
    "scenario": (),
    "controls": (),
    "socket": (),
}
"""The targets of `fuzz/`, with the folders of the repository that they begin with."""


UNIT_SECONDS = 900
"""Of an input of a target in Rust, by the wall clock of libFuzzer, and of the end of a process in Python: on a machine
however loaded, what takes as long hangs."""


TARGET = REPOSITORY / "target" / "fuzz"
"""Where cargo-fuzz builds, under one roof with everything that is built."""


class Chosen(Enum):
    """How inputs of readers in Python are chosen."""

    COVERAGE = "coverage"
    """By atheris: those that reach new code are gone on from."""
    SEED = "seed"
    """Drawn: all are near the files they are made of. It needs no library."""


class Missing(Exception):
    """A required tool is not installed."""


@dataclass(frozen=True)
class Fuzzed:
    """The outcome of one target."""

    executions: int
    seconds: float
    finds: Sequence[Path]


@dataclass(frozen=True)
class Wanted:
    """When to stop, whichever comes first, and the seed."""

    runs: int
    minutes: float
    seed: int
    chosen: Chosen


def fuzz(name: str, wanted: Wanted, place: Path) -> Fuzzed:
    """Fuzzes one target in `place`."""
    place.mkdir(parents=True, exist_ok=True)
    began, executions = time.monotonic(), 0
    for start in range(STARTS):
        left_s = int(wanted.minutes * 60 - (time.monotonic() - began))
        if executions >= wanted.runs or left_s <= 0:
            break
        left = _Left(wanted.runs - executions, left_s, wanted.seed + start)
        if name in RUST:
            executions += _cargo(name, left, place)
        elif wanted.chosen is Chosen.SEED:
            executions += _drawn(name, left, place)
        else:
            executions += _guided(name, left, place)
    return Fuzzed(executions, time.monotonic() - began, _finds(place))


@dataclass(frozen=True)
class _Left:
    """The remaining work for one process."""

    runs: int
    seconds: int
    seed: int

    def longest_s(self) -> float:
        """The time after which a process that should have ended counts as hanging."""
        return self.seconds + guard.WAITING_SECONDS + UNIT_SECONDS

    def flags(self) -> list[str]:
        """As options of libFuzzer."""
        limits = [f"-runs={self.runs}", f"-max_total_time={self.seconds}", f"-max_len={LONGEST}"]
        return [*limits, f"-seed={self.seed}", "-print_final_stats=1"]


def _guided(name: str, left: _Left, place: Path) -> int:
    words = [name, str(place), "--", *left.flags()]
    journal.begin(place)
    before = set(_finds(place))
    way = "ended"
    with (place / "log").open("a") as log:
        process = subprocess.Popen([sys.executable, "-m", "campaigns.guided", *words], stdout=log, stderr=log)
        try:
            process.wait(left.longest_s())
        except subprocess.TimeoutExpired:
            way = "hung"
        finally:
            process.kill()
            status = process.wait()
    return _counted(name, place, None if status == os.EX_OK or set(_finds(place)) != before else way)


# Forked from one process that has imported everything, because importing takes longer than a thousand inputs.
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["campaigns.drawn"])


def _drawn(name: str, left: _Left, place: Path) -> int:
    limits = [f"--runs={left.runs}", f"--seconds={left.seconds}", f"--seed={left.seed}"]
    journal.begin(place)
    process = _forks.Process(target=_draw, args=([name, str(place), *limits], place / "log"))
    process.start()
    try:
        process.join(left.longest_s())
        way = "hung" if process.is_alive() else "ended"
    finally:
        process.kill()
        process.join()
    return _counted(name, place, None if process.exitcode == os.EX_OK else way)


def _draw(words: Sequence[str], log: Path) -> None:
    with log.open("a") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    drawn.main(words)


def _counted(name: str, place: Path, way: str | None) -> int:
    """The executions of a process; if it ended unexpectedly (`way`), its last input is stored."""
    executions = journal.executions(place)
    if executions is None:
        raise Missing(f"`{name}` did not begin: see {place / 'log'}; the library is installed by `make campaign-fuzz`")
    # libFuzzer itself stores inputs that exceed its limits.
    if way is not None:
        journal.keep_last(place, way)
    return executions


def _cargo(name: str, left: _Left, place: Path) -> int:
    if shutil.which("cargo-fuzz") is None:
        raise Missing("cargo-fuzz is missing: cargo install cargo-fuzz, and rustup toolchain install nightly")
    corpus = place / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, content in enumerate(seeds.runs() if name == "scenario" else seeds.finds(name)):
        (corpus / f"seed-{number}").write_bytes(content)
    folders = [str(corpus), *(str(REPOSITORY / folder) for folder in RUST[name])]
    limits = [f"-timeout={UNIT_SECONDS}", f"-report_slow_units={UNIT_SECONDS}", f"-artifact_prefix={place}/crash-"]
    build = ["cargo", "+nightly", "fuzz", "run", "--target-dir", str(TARGET), name]
    command = [*build, *folders, "--", *left.flags(), *limits]
    said = _said(command)
    (place / "log").write_text(said[-100_000:])
    counted = re.findall(r"stat::number_of_executed_units: (\d+)", said) or re.findall(r"^#(\d+)", said, re.MULTILINE)
    if not counted:
        raise Missing(f"`{name}` did not begin:\n{said[-2000:]}")
    return int(counted[-1])


def _said(command: Sequence[str]) -> str:
    """What a command has written to stderr. Its children end with it."""
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            return process.communicate()[1]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _finds(place: Path) -> list[Path]:
    kept = [file for file in place.glob("finds/*") if file.suffix != ".txt"]
    return sorted([*kept, *place.glob("crash-*")])

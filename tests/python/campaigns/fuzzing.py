"""The long run of fuzz targets: those of Python under atheris, those of Rust under cargo-fuzz, one after the other.

A process that crashes or runs into a limit of libFuzzer's leaves its input as a find, and another goes on.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaigns import seeds
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


class Missing(Exception):
    """A tool that is not installed."""


@dataclass(frozen=True)
class Fuzzed:
    """What came of one target."""

    executions: int
    seconds: float
    finds: Sequence[Path]


@dataclass(frozen=True)
class Wanted:
    """How long to go on, whichever comes first, and from which seed."""

    runs: int
    minutes: float
    seed: int


def fuzz(name: str, wanted: Wanted, place: Path) -> Fuzzed:
    """Fuzzes one target in `place`."""
    place.mkdir(parents=True, exist_ok=True)
    began, executions = time.monotonic(), 0
    for start in range(STARTS):
        left_s = int(wanted.minutes * 60 - (time.monotonic() - began))
        if executions >= wanted.runs or left_s <= 0:
            break
        flags = [f"-runs={wanted.runs - executions}", f"-max_total_time={left_s}", f"-max_len={LONGEST}"]
        flags += [f"-seed={wanted.seed + start}", "-print_final_stats=1"]
        executions += _cargo(name, flags, place) if name in RUST else _guided(name, flags, place)
    return Fuzzed(executions, time.monotonic() - began, _finds(place))


def _guided(name: str, flags: Sequence[str], place: Path) -> int:
    progress = place / "progress.json"
    progress.unlink(missing_ok=True)
    with (place / "log").open("a") as log:
        command = [sys.executable, "-m", "campaigns.guided", name, str(place), "--", *flags]
        subprocess.run(command, stdout=log, stderr=log, check=False)
    if not progress.is_file():
        raise Missing(f"`{name}` did not begin: see {place / 'log'}; the library is installed by `make campaign`")
    return int(json.loads(progress.read_text())["executions"])


def _cargo(name: str, flags: Sequence[str], place: Path) -> int:
    if shutil.which("cargo-fuzz") is None:
        raise Missing("cargo-fuzz is missing: cargo install cargo-fuzz, and rustup toolchain install nightly")
    corpus = place / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, content in enumerate(seeds.runs() if name == "scenario" else seeds.finds(name)):
        (corpus / f"seed-{number}").write_bytes(content)
    folders = [str(corpus), *(str(REPOSITORY / folder) for folder in RUST[name])]
    command = ["cargo", "+nightly", "fuzz", "run", name, *folders, "--", *flags, f"-artifact_prefix={place}/crash-"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, errors="replace", check=False)
    (place / "log").write_text(done.stderr[-100_000:])
    counted = re.findall(r"stat::number_of_executed_units: (\d+)", done.stderr) or re.findall(
        r"^#(\d+)", done.stderr, re.MULTILINE
    )
    if not counted:
        raise Missing(f"`{name}` did not begin:\n{done.stderr[-2000:]}")
    return int(counted[-1])


def _finds(place: Path) -> list[Path]:
    kept = [file for file in place.glob("finds/*") if file.suffix != ".txt"]
    return sorted([*kept, *place.glob("crash-*")])

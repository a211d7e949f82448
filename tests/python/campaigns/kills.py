"""A sweep that is killed and restarted many times ends with the results of an undisturbed one.

Each attempt is a process of its own, forked from one that has imported everything, and ends by SIGKILL: at its n-th
change of a file, which interrupts each step of writing on every machine, or after a time, which interrupts the rest. A
seed selects both. Nothing is asserted about when a kill arrives; one that arrives too late ends a sweep.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweep.same import lasting

EXPERIMENT = """\
title: four short runs
links: [{ends: [a, b], rate: 10mbit, delay: 1ms}]
qdiscs: {a -> b: fq_codel}
traffic: [{tcp: a -> b, name: up}, {ping: a -> b, interval: 20ms}]
duration: 400ms
measure: {warmup: 0s, pcap: [a]}
vary: {cc: [reno, cubic]}
repeat: 3
"""

FILE, UNDISTURBED, DISTURBED = "sweep.yaml", "undisturbed", "disturbed"

CHANGES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir")
"""Audit events of Python at which a process may be killed; `open` is counted when files are written."""

PROCESSOR_S = 300
"""Of the processor for an attempt, which takes a few: one that takes more runs for ever."""

WAITS_S = 3600.0
"""An attempt that takes longer waits for ever. Nothing that works gets here, on a machine however loaded."""


@dataclass(frozen=True)
class Moment:
    """When an attempt is killed: at a change of a file, or after a time."""

    change: int | None = None
    after_s: float | None = None


@dataclass
class Tally:
    """The counts of a campaign."""

    kills: int = 0
    sweeps: int = 0
    """Sweeps that were killed at least once, went on to their end, and were compared."""
    seconds: float = 0.0


class Different(AssertionError):
    """A sweep that was killed differs from the undisturbed one."""


def campaign(kills: int, seed: int, place: Path) -> Tally:
    """Kills sweeps in `place` until there were `kills` kills; each must end as the undisturbed one did."""
    began = time.monotonic()
    draw, tally = random.Random(seed), Tally()
    (place / FILE).write_text(EXPERIMENT)
    # Only the first attempt waits for imports.
    _attempt(place, DISTURBED, Moment(change=1))
    undisturbed = _attempt(place, UNDISTURBED, Moment())
    assert undisturbed.status == 0, "the undisturbed sweep failed"
    expected = lasting(place / UNDISTURBED)
    while tally.kills < kills:
        tally.kills += _sweep(place, undisturbed, draw, kills - tally.kills)
        tally.sweeps += 1
        same(place, expected)
    tally.seconds = time.monotonic() - began
    return tally


@dataclass(frozen=True)
class _Ended:
    """How an attempt ended."""

    status: int
    changes: int
    seconds: float


def _sweep(place: Path, whole: _Ended, draw: random.Random, limit: int) -> int:
    """Runs one sweep, killed up to `limit` times; returns how often it was killed before its end."""
    kills = 0
    shutil.rmtree(place / DISTURBED, ignore_errors=True)
    while True:
        before = _complete(place / DISTURBED)
        ended = _attempt(place, DISTURBED, _moment(whole, draw) if kills < limit else Moment())
        if not before.items() <= _complete(place / DISTURBED).items():
            raise Different(f"after {kills} kills a complete run was written again or lost")
        if ended.status == 0:
            return kills
        if ended.status != -signal.SIGKILL:
            raise Different(f"after {kills} kills an attempt ended with status {ended.status}")
        kills += 1


def _moment(whole: _Ended, draw: random.Random) -> Moment:
    # So that a sweep is killed several times before it ends.
    if draw.random() < 0.5:
        return Moment(after_s=draw.uniform(0.2, 0.8) * whole.seconds)
    return Moment(change=draw.randint(1, whole.changes // 3))


def same(place: Path, expected: dict[str, bytes]) -> None:
    """Raises `Different` unless the sweep left exactly those files."""
    found = lasting(place / DISTURBED)
    if found.keys() != expected.keys():
        raise Different(f"files left over or missing: {sorted(found.keys() ^ expected.keys())}")
    differing = [name for name in expected if found[name] != expected[name]]
    if differing:
        raise Different(f"not the same bytes: {differing}")
    empty = {path.name for path in (place / DISTURBED).rglob("*") if path.is_dir()} - _folders(expected)
    if empty:
        raise Different(f"folders left over: {sorted(empty)}")


def _folders(files: dict[str, bytes]) -> set[str]:
    return {parent.name for file in files for parent in Path(file).parents}


def _complete(folder: Path) -> dict[str, tuple[int, int]]:
    """The complete runs, with the identity and time of each manifest."""
    manifests = [run / "manifest.json" for run in (folder / "runs").glob("[!.]*")]
    return {file.parent.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in manifests}


def _attempt(place: Path, out: str, moment: Moment) -> _Ended:
    context = _forkserver()
    # Without a shared lock: a killed process would keep it.
    changes = context.Value("L", 0, lock=False)
    process = context.Process(target=_run, args=(place, out, moment.change, changes))
    began = time.monotonic()
    process.start()
    process.join(WAITS_S if moment.after_s is None else moment.after_s)
    if process.exitcode is None:
        process.kill()
        process.join()
        if moment.after_s is None:
            raise Different(f"an attempt did not end within {WAITS_S:.0f} s")
    assert process.exitcode is not None
    return _Ended(process.exitcode, changes.value, time.monotonic() - began)


@functools.cache
def _forkserver() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["campaigns.kills", *IMPORTED])
    return context


IMPORTED = (
    "tailback.api",
    "tailback.backends.sim",
    "tailback.cli.app",
    "tailback.cli.live",
    "tailback.cli.sweeps",
    "scipy.stats",
)
"""What `tailback run` imports on its way."""


def _run(place: Path, out: str, last: int | None, changes: Any) -> None:
    """The process of an attempt: `tailback run`, which counts its changes and kills itself at one of them."""
    os.chdir(place)
    # It then ends by SIGXCPU, which does not count as a kill.
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, 2 * PROCESSOR_S))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    folder, turn = os.path.realpath(place), threading.Lock()

    def count(event: str, words: tuple[Any, ...]) -> None:
        if event in CHANGES and _changes(folder, event, words):
            with turn:
                changes.value += 1
                if changes.value == last:
                    os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    sys.argv = ["tailback", "run", FILE, "--out", out, "--jobs", "2"]
    from tailback.cli import main

    main()


def _changes(folder: str, event: str, words: tuple[Any, ...]) -> bool:
    path = words[0]
    if event == "open" and not (isinstance(words[2], int) and words[2] & (os.O_WRONLY | os.O_RDWR)):
        return False
    return isinstance(path, str | os.PathLike) and os.path.realpath(path).startswith(folder)

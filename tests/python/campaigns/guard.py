"""The rules for every reader, whatever it reads.

A reader returns a value or raises its own error with a message: no other exception, and within `SECONDS` and
`MEGABYTES`. Nothing is executed, no connection is made, and nothing is written outside the given folder.
"""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from campaigns.targets import Target

SECONDS = 30.0
"""Of the processor for one input at most: inputs have some kilobytes and take milliseconds, on a loaded machine too."""

WAITING_SECONDS = 900.0
"""Until one that waits instead of working, such as for a FIFO, is given up. Nothing that works gets here."""

MEGABYTES = 1024
"""By which the process may grow over one input."""

EXECUTED = ("os.system", "os.exec", "os.posix_spawn", "os.startfile", "pty.spawn", "socket.connect")
"""Audit events of Python that no input may cause."""

CHANGED = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")

MEMORY = Path("/dev/shm")
"""Where files cost no disk, if the system has it."""


class Broken(Exception):
    """An input that breaks the rules: how, and where in our code."""

    def __init__(self, way: str, place: str, told: str = "") -> None:
        super().__init__(f"{way} at {place}\n{told}")
        self.way, self.place, self.told = way, place, told


class TooLong(BaseException):
    """Raised by the clock; no reader catches it."""


def hold(target: Target, content: bytes, folder: Path) -> None:
    """Lets `target` read `content` and write to `folder`; raises `Broken`."""
    before = _megabytes()
    with _watched(folder) as seen:
        _read(target, content, folder)
    if seen:
        raise Broken(seen[0], target.name, "\n".join(seen))
    grown = _megabytes() - before
    if grown > MEGABYTES:
        raise Broken("takes much memory", target.name, f"{grown} MB more")


def _read(target: Target, content: bytes, folder: Path) -> None:
    try:
        with _standing[-1].input() if _standing else _clock():
            target.read(content, folder)
    except target.refusals as refusal:
        if not str(refusal).strip():
            raise Broken(f"{type(refusal).__name__} without a message", _place(refusal)) from refusal
    except TooLong as error:
        raise Broken("takes too long", target.name, _trace(error)) from error
    except MemoryError as error:
        raise Broken("runs out of memory", target.name, _trace(error)) from error
    except Exception as error:
        raise Broken(type(error).__name__, _place(error), _trace(error)) from error


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder for readers."""
    return tempfile.TemporaryDirectory(prefix="tailback-", dir=MEMORY if MEMORY.is_dir() else None)


def empty(folder: Path) -> None:
    """Removes what a reader has written."""
    with os.scandir(folder) as left:
        for entry in left:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                Path(entry.path).unlink()


def _megabytes() -> int:
    """The peak memory of the process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


CLOCKS = ((signal.ITIMER_PROF, signal.SIGPROF), (signal.ITIMER_REAL, signal.SIGALRM))
"""One counts what the process uses of the processor, whatever else the machine does."""


@contextlib.contextmanager
def _clock() -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = [signal.signal(number, ring) for _, number in CLOCKS]
    for (clock, _), seconds in zip(CLOCKS, (SECONDS, WAITING_SECONDS), strict=True):
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for (clock, number), handler in zip(CLOCKS, before, strict=True):
            signal.setitimer(clock, 0)
            signal.signal(number, handler)


class _Standing:
    """Timers that continue from one input to the next, because starting them for each input takes longer than most
    readers.

    They fire `RINGS` times within the limit; an input that is still being read after that many takes too long.
    """

    RINGS = 4

    def __init__(self) -> None:
        self._inputs, self._reading = 0, False
        self._seen: dict[int, tuple[int, int]] = {int(number): (0, 0) for _, number in CLOCKS}
        """By clock: the input that was read when it rang, and how often it rang over it."""

    def ring(self, number: int, _frame: FrameType | None) -> None:
        input_, rings = self._seen[number]
        rings = rings + 1 if input_ == self._inputs else 1
        self._seen[number] = (self._inputs, rings)
        if self._reading and rings > self.RINGS:
            raise TooLong

    @contextlib.contextmanager
    def input(self) -> Iterator[None]:
        self._inputs += 1
        self._reading = True
        try:
            yield
        finally:
            self._reading = False


_standing: list[_Standing] = []


@contextlib.contextmanager
def continuing_clocks() -> Iterator[None]:
    """Within this context no timer is started for an input."""
    clocks = _Standing()
    before = [signal.signal(number, clocks.ring) for _, number in CLOCKS]
    for (clock, _), seconds in zip(CLOCKS, (SECONDS, WAITING_SECONDS), strict=True):
        signal.setitimer(clock, seconds / clocks.RINGS, seconds / clocks.RINGS)
    _standing.append(clocks)
    try:
        yield
    finally:
        _standing.pop()
        for (clock, number), handler in zip(CLOCKS, before, strict=True):
            signal.setitimer(clock, 0)
            signal.signal(number, handler)


class _Audit:
    """Records forbidden actions while a reader is watched. An audit hook of Python cannot be removed."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.seen: list[str] = []

    def __call__(self, event: str, words: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in EXECUTED or (event == "subprocess.Popen" and words[0] != sys.executable):
            self.seen.append(f"{event} {words[0]!r}")
        elif event in CHANGED or (event == "open" and self._writes(words)):
            self._changed(event, words[1] if event in ("os.rename", "os.link", "os.symlink") else words[0])

    def _writes(self, words: tuple[Any, ...]) -> bool:
        flags = words[2]
        return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))

    def _changed(self, event: str, path: Any) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        place = os.path.realpath(os.fsdecode(path))
        inside = f"{self.folder}{os.sep}"
        # Python itself writes compiled modules.
        if not f"{place}{os.sep}".startswith(inside) and "__pycache__" not in place and place != os.devnull:
            self.seen.append(f"{event} {place}")


_audit: list[_Audit] = []


@functools.lru_cache(maxsize=8)
def _real(folder: Path) -> str:
    return os.path.realpath(folder)


@contextlib.contextmanager
def _watched(folder: Path) -> Iterator[list[str]]:
    if not _audit:
        _audit.append(_Audit())
        sys.addaudithook(_audit[0])
    audit = _audit[0]
    audit.folder, audit.seen = _real(folder), []
    try:
        yield audit.seen
    finally:
        audit.folder = None


def _place(error: BaseException) -> str:
    """The innermost line of our code in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}tailback{os.sep}" in frame.filename] or list(frames)
    last = ours[-1]
    return f"{Path(last.filename).name}:{last.name}:{last.lineno}"


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-4000:]

"""Ends a call of the user's code in Python that does not return.

A thread looks now and then at what the thread of the run executes. If that is the same call of the user's code for so
much CPU time, it raises an exception in it, which ends the run like any other of the user's code. CPU time counts, so
that a busy machine ends nobody; a call that blocks instead of computing is not ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import time
from collections.abc import Collection, Iterator
from types import FrameType

LIMIT_S = 2.0
"""CPU time of one call: that of a module in C, too (`crates/module/src/crash.rs`)."""

LOADING_S = 20.0
"""CPU time of executing a file, which may import a large library."""

LOOK_S = 0.25


class DidNotReturn(BaseException):
    """A call took too long. Not an `Exception`: code that goes on after each of these does not go on."""

    def __str__(self) -> str:
        return f"it did not return within {LIMIT_S:g} s of CPU time"


@contextlib.contextmanager
def watched(files: Collection[str]) -> Iterator[None]:
    """Ends calls of the code in these files by the present thread while the block runs."""
    ended = threading.Event()
    me = threading.get_ident()
    watcher = threading.Thread(target=_watch, args=(me, frozenset(files), ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        _end(ended, watcher)


def _end(ended: threading.Event, watcher: threading.Thread) -> None:
    """Ends the watcher. What it raised after the last call had returned is caught here. To take it back would leave
    CPython looking for it at each step, under a tracer for ever. [cpython-3.11 pystate.c PyThreadState_SetAsyncExc]
    """
    while True:
        try:
            ended.set()
            watcher.join()
            for _ in range(2):
                pass  # A pending exception is raised at a step back.
        except DidNotReturn:
            continue
        return


def _watch(thread: int, files: Collection[str], ended: threading.Event) -> None:
    clock = time.pthread_getcpuclockid(thread) if hasattr(time, "pthread_getcpuclockid") else time.CLOCK_MONOTONIC
    call: FrameType | None = None
    since = 0.0
    while not ended.wait(LOOK_S):
        present, now = _outermost(sys._current_frames().get(thread), files), time.clock_gettime(clock)
        if present is None or present is not call:
            call, since = present, now
        elif now - since >= _limit_s(call):
            _raise_in(thread, DidNotReturn)
            since = now


def _limit_s(call: FrameType) -> float:
    return LOADING_S if call.f_code.co_name == "<module>" else LIMIT_S


def _outermost(frame: FrameType | None, files: Collection[str]) -> FrameType | None:
    """The call of the user's code that the simulator made."""
    found = None
    while frame is not None:
        if frame.f_code.co_filename in files:
            found = frame
        frame = frame.f_back
    return found


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raises an exception in a thread at its next step in Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))

"""Ctrl-C: the program ends with status 130 within two seconds, whatever it is doing.

The main thread gets a `KeyboardInterrupt` and shuts down in order: it cancels runs and removes partial files. But it
does not get the exception while a library computes or while it waits for a thread. Therefore a second thread also
receives the signal, and ends the process if the orderly shutdown takes longer than `SHUTDOWN_S`. Nothing is lost: runs
are written atomically, and processes of a backend end with this process, as after SIGKILL.
"""

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""128 + SIGINT, as in shells."""

SHUTDOWN_S = 1.5
"""Time limit of the orderly shutdown."""

CURSOR = "\x1b[?25h"
"""Makes the cursor visible again after a progress bar. [xterm ctlseqs DECTCEM]"""


class _State:
    received = False
    hint: str | None = None


def arm() -> None:
    """Installs the handler of Ctrl-C, unless SIGINT is ignored, as for background jobs of a shell."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGINT, _receive)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), name="interrupts", daemon=True).start()


@contextlib.contextmanager
def hinted(hint: str) -> Iterator[None]:
    """Sets the hint that is shown if this block is interrupted."""
    before, _State.hint = _State.hint, hint
    yield
    # Not reset after an interruption, because the message is printed later.
    _State.hint = before


@contextlib.contextmanager
def handled() -> Iterator[None]:
    """On Ctrl-C, prints a message and exits with status 130."""
    try:
        yield
    except KeyboardInterrupt:
        _end()
    except Exception:
        if not _State.received:
            raise
        # A library has converted the KeyboardInterrupt to another exception.
        _end()


def _end() -> NoReturn:
    """Ends the process at once: what has to be in order is, and to free the objects of a hundred thousand
    configurations takes seconds, in which no other thread runs.
    """
    with contextlib.suppress(OSError, ValueError):
        print(_message(), file=sys.stderr, flush=True)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(INTERRUPTED)


def _message() -> str:
    return "interrupted" if _State.hint is None else f"interrupted\n  hint: {_State.hint}"


def _receive(_number: int, _frame: FrameType | None) -> None:
    _State.received = True
    raise KeyboardInterrupt


def _watch(reading: int) -> None:
    """Ends the process when its time limit is over, or at the second Ctrl-C."""
    _next_interrupt(reading, None)
    _next_interrupt(reading, time.monotonic() + SHUTDOWN_S)
    with contextlib.suppress(OSError):
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{_cursor()}{_message()}\n".encode())
    os._exit(INTERRUPTED)


def _next_interrupt(reading: int, until: float | None) -> None:
    """Returns at a SIGINT, or at the time `until`."""
    while True:
        left = None if until is None else max(0.0, until - time.monotonic())
        ready, _, _ = select.select([reading], [], [], left)
        if not ready or signal.SIGINT in os.read(reading, 1):
            return


def _cursor() -> str:
    return CURSOR if os.isatty(2) else ""

"""Ctrl-C: the program ends with status 130 within two seconds, whatever it is doing.

The main thread is told by a `KeyboardInterrupt` and ends in good order: runs are cancelled, what is half-written is
removed. It does not hear of it while a library computes or a thread has to be waited for. So a thread of its own hears
the signal too, and ends the process when the good order takes longer than `PATIENCE_S`. That loses nothing: runs are
written whole or not at all, and what a backend has begun outside ends with this process, as after SIGKILL.
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
"""128 + SIGINT, as shells have it."""

PATIENCE_S = 1.5
"""For the good order."""

CURSOR = "\x1b[?25h"
"""Shows the cursor that a progress bar had hidden. [xterm ctlseqs DECTCEM]"""


class _State:
    heard = False
    hint: str | None = None


def arm() -> None:
    """From now on Ctrl-C ends the program, unless SIGINT is ignored, as for background jobs of a shell."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGINT, _hear)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), name="interrupts", daemon=True).start()


@contextlib.contextmanager
def hinted(hint: str) -> Iterator[None]:
    """The message for a user who interrupts this block."""
    before, _State.hint = _State.hint, hint
    yield
    # After an interruption it is told, not forgotten.
    _State.hint = before


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Ends the program in good order: a message and the status."""
    try:
        yield
    except KeyboardInterrupt:
        _end()
    except Exception:
        if not _State.heard:
            raise
        # A library made something else of it.
        _end()


def _end() -> NoReturn:
    print(_message(), file=sys.stderr)
    sys.exit(INTERRUPTED)


def _message() -> str:
    return "interrupted" if _State.hint is None else f"interrupted\n  hint: {_State.hint}"


def _hear(_number: int, _frame: FrameType | None) -> None:
    _State.heard = True
    raise KeyboardInterrupt


def _watch(reading: int) -> None:
    """Ends the process when its patience is over, or at the second Ctrl-C."""
    _next_interrupt(reading, None)
    _next_interrupt(reading, time.monotonic() + PATIENCE_S)
    with contextlib.suppress(OSError):
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{_cursor()}{_message()}\n".encode())
    os._exit(INTERRUPTED)


def _next_interrupt(reading: int, until: float | None) -> None:
    """Returns at a SIGINT, or when the time has come."""
    while True:
        left = None if until is None else max(0.0, until - time.monotonic())
        ready, _, _ = select.select([reading], [], [], left)
        if not ready or signal.SIGINT in os.read(reading, 1):
            return


def _cursor() -> str:
    return CURSOR if os.isatty(2) else ""

"""Functions that wait for another process or thread; every test that waits uses them.

A test waits for an event, never for a length of time, because nobody knows how long a busy machine takes. A wait ends
as soon as the event occurs. It also ends after a quarter of an hour, which is so long that a test that reaches it has
found a hang, however slow the machine is.
"""

import subprocess
import threading
import time
from collections.abc import Callable

GENEROUS_S = 900.0
LOOK_S = 0.02
"""Between two looks at something that cannot be waited on."""


def always() -> bool:
    """No reason to give up."""
    return True


def until(holds: Callable[[], object], *, while_: Callable[[], object] = always) -> None:
    """Returns once `holds`; fails if `while_` stops holding first, or after a quarter of an hour."""
    end = time.monotonic() + GENEROUS_S
    while not holds():
        # The event may have occurred just before `while_` stopped holding.
        assert while_() or holds(), "it ended before what was waited for had come"
        assert time.monotonic() < end, f"what was waited for has not come within {GENEROUS_S:g} s"
        time.sleep(LOOK_S)


def alive(process: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> Callable[[], bool]:
    """Whether `process` has not ended."""
    return lambda: process.poll() is None


def ended(process: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> int:
    """The status of `process`, once it has ended."""
    return process.wait(GENEROUS_S)


def joined(thread: threading.Thread) -> None:
    """Returns once `thread` has ended."""
    thread.join(GENEROUS_S)
    assert not thread.is_alive(), f"the thread has not ended within {GENEROUS_S:g} s"


def happened(event: threading.Event) -> None:
    """Returns once `event` is set."""
    assert event.wait(GENEROUS_S), f"the event has not come within {GENEROUS_S:g} s"

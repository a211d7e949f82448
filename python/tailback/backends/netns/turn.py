"""A lock that allows only one experiment at a time in real time on a machine. A process holds it during its runs.

The lock is an abstract socket address, which the kernel releases when its holder ends [unix(7)]. Waiting for it can be
cancelled. Parallel runs of one process (`--jobs`) share the lock.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

from tailback.backends.backend import RunCancelled
from tailback.backends.linux.process import Progress

ADDRESS = "\0tailback-netns"
WAIT_S = 0.2


class Turn:
    """The lock, as held by this process."""

    def __init__(self, address: str = ADDRESS) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._runs = 0
        self._held: socket.socket | None = None

    @contextlib.contextmanager
    def one(self, progress: Progress) -> Iterator[None]:
        """Waits for the lock and holds it during the block."""
        while not self._enter():
            if progress.cancelled:
                raise RunCancelled("cancelled")
            time.sleep(WAIT_S)
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> bool:
        with self._lock:
            if self._held is None:
                self._held = _bound(self._address)
            if self._held is not None:
                self._runs += 1
            return self._held is not None

    def _leave(self) -> None:
        with self._lock:
            self._runs -= 1
            if self._runs == 0 and self._held is not None:
                self._held.close()
                self._held = None


def _bound(address: str) -> socket.socket | None:
    """A socket with this address; `None` if another process has it."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        held.bind(address)
    except OSError:
        held.close()
        return None
    return held

"""A lock, so that only one experiment at a time runs in real time on a machine. A process holds it during its runs.

The turn is an abstract socket address, which the kernel takes back when its holder ends, however it ends [unix(7)].
Whoever waits for it can be cancelled. Runs of one process that the user has asked to go side by side share its turn.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

from tailback.backends import RunCancelled
from tailback.backends.linux.process import Progress

ADDRESS = "\0tailback-netns"
WAIT_S = 0.2


class Turn:
    """The turn of this process."""

    def __init__(self, address: str = ADDRESS) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._runs = 0
        self._held: socket.socket | None = None

    @contextlib.contextmanager
    def one(self, progress: Progress) -> Iterator[None]:
        """Waits for the turn and keeps it for the length of the block."""
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
    """A socket of this address; `None` if another process has it."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        held.bind(address)
    except OSError:
        held.close()
        return None
    return held

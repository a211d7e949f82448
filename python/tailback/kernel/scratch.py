"""Temporary folders. A process killed by SIGKILL leaves its folder behind; the next process removes it.

A folder is locked by its owner (`flock`). The lock ends with the owner, so a folder that can be locked is abandoned.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

YOUNG_S = 60.0
"""Age below which an unlocked folder is kept, because its owner may not have locked it yet."""


@contextlib.contextmanager
def scratch(prefix: str, parent: Path) -> Iterator[Path]:
    """A new folder in `parent`, removed after the block; `prefix` must be unique to its kind."""
    remove_abandoned(prefix, parent)
    while True:
        with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name, _opened(Path(name)) as descriptor:
            with contextlib.suppress(OSError):
                # Some file systems do not support locks; abandoned folders remain there.
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Another process has removed it if this one was stopped for a minute before it had the lock.
            if Path(name).exists():
                yield Path(name)
                return


def remove_abandoned(prefix: str, parent: Path) -> None:
    """Removes abandoned folders with this prefix."""
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            found = folder.lstat()
            if found.st_uid != os.geteuid() or time.time() - found.st_mtime < YOUNG_S:
                continue
            with _opened(folder) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

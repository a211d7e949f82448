"""Files of others: regular ones only, and no more of them than they may have.

A device has no end, and a FIFO keeps whoever opens it waiting: neither is opened for long enough to read from.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


class NotTaken(Exception):
    """A file that is not read; the message says why, without its name and without anything of what it holds."""


def read_regular(path: Path, bytes_max: int) -> bytes:
    """The content of the regular file `path`, which may be a link to one.

    Raises `NotTaken` if it is no regular file or larger than `bytes_max`, `OSError` if it cannot be read.
    """
    # Without O_NONBLOCK, opening a FIFO waits for its writer. What is asked about is what was opened.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise NotTaken("it is a directory")
        if not stat.S_ISREG(found.st_mode):
            raise NotTaken("it is not a regular file")
        if found.st_size > bytes_max:
            raise NotTaken(f"it has {found.st_size} bytes, and at most {bytes_max} are taken")
        # Files of /proc say that they are empty; a file may grow while it is read.
        content = file.read(bytes_max + 1)
        if len(content) > bytes_max:
            raise NotTaken(f"it has more than the {bytes_max} bytes that are taken")
        return content

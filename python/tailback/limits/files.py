"""Files of others: no more of them than they may have, and regular ones only where somebody else names them.

A device has no end, and a FIFO keeps whoever opens it waiting. Whoever types the name of one means it, as in
`tailback check <(sed … experiment.yaml)`; an experiment has no reason to.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

PIECE = 1 << 20


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
        if not stat.S_ISREG(found.st_mode):
            raise NotTaken("it is not a regular file")
        if found.st_size > bytes_max:
            raise NotTaken(f"it has {found.st_size} bytes, and at most {bytes_max} are taken")
        return _at_most(file, bytes_max)


def read_bounded(path: Path, bytes_max: int) -> bytes:
    """What `path` gives, whatever it is; raises `NotTaken` if that is more than `bytes_max`, `OSError` as `open`."""
    with path.open("rb") as file:
        return _at_most(file, bytes_max)


def _at_most(file: BinaryIO, bytes_max: int) -> bytes:
    content = bytearray()
    # Read in pieces: a file of /proc says that it is empty, and to ask for all at once reserves room for it.
    while piece := file.read(PIECE):
        content += piece
        if len(content) > bytes_max:
            raise NotTaken(f"it has more than the {bytes_max} bytes that are taken")
    return bytes(content)

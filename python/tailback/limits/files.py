"""Reads foreign files up to a limit of bytes; refuses special files unless the user names them.

A device has no end, and a FIFO keeps whoever opens it waiting. Whoever types the name of one means it, as in
`tailback check <(sed … experiment.yaml)`; an experiment has no reason to. A packed file is bounded by what it unpacks
to, for a kilobyte can hold a gigabyte.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, cast

PIECE = 1 << 20


class NotTaken(Exception):
    """A file that is not read; the message says why, without its name or content."""


class Damaged(NotTaken):
    """A packed file that cannot be unpacked."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Stream:
    """The content of a file, in pieces, up to a bound."""

    def __init__(self, file: _Readable, bytes_max: int) -> None:
        self._file, self._max, self._read = file, bytes_max, 0

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end; raises `NotTaken` above the bound."""
        try:
            piece = self._file.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise Damaged(f"it cannot be unpacked: {error}") from error
        except OSError as error:
            # bz2 says by this what it cannot unpack, without a number.
            if error.errno is not None:
                raise
            raise Damaged(f"it cannot be unpacked: {error}") from error
        self._read += len(piece)
        if self._read > self._max:
            raise NotTaken(f"it has more than the {self._max} bytes that are taken")
        return piece

    def skip(self, size: int) -> int:
        """Leaves out the next `size` bytes; returns how many there were."""
        left = size
        while left and (piece := self.read(min(left, PIECE))):
            left -= len(piece)
        return size - left

    def pieces(self) -> Iterator[bytes]:
        """The remaining content, in pieces."""
        # A file of /proc says that it is empty, and to ask for all at once reserves room for it.
        while piece := self.read(PIECE):
            yield piece


def read_regular(path: Path, bytes_max: int) -> bytes:
    """The content of the regular file `path`, which may be a link to one.

    Raises `NotTaken` if it is no regular file or larger than `bytes_max`, `OSError` if it cannot be read.
    """
    with open_regular(path, bytes_max) as stream:
        return b"".join(stream.pieces())


def read_bounded(path: Path, bytes_max: int) -> bytes:
    """What `path` gives, whatever it is; raises `NotTaken` if that is more than `bytes_max`, `OSError` as `open`."""
    with path.open("rb") as file:
        return b"".join(Stream(file, bytes_max).pieces())


@contextlib.contextmanager
def open_regular(path: Path, bytes_max: int) -> Iterator[Stream]:
    """The same as `read_regular`, to be read in pieces."""
    with _regular(path, bytes_max) as file:
        yield Stream(file, bytes_max)


@contextlib.contextmanager
def open_unpacked(path: Path, bytes_max: int) -> Iterator[Stream]:
    """Opens the regular file `path`, unpacked if it is gzip or bzip2; the limit applies before and after unpacking.

    What it begins with says which, for names are not to be relied on.
    """
    with _regular(path, bytes_max) as file:
        begins = file.read(3)
        file.seek(0)
        if begins[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield Stream(unpacked, bytes_max)
        elif begins == b"BZh":
            with bz2.BZ2File(file) as unpacked:
                yield Stream(unpacked, bytes_max)
        else:
            yield Stream(file, bytes_max)


@contextlib.contextmanager
def _regular(path: Path, bytes_max: int) -> Iterator[BinaryIO]:
    # Without O_NONBLOCK, opening a FIFO waits for its writer. What is asked about is what was opened.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotTaken("it is not a regular file")
        if found.st_size > bytes_max:
            raise NotTaken(f"it has {found.st_size} bytes, and at most {bytes_max} are taken")
        yield cast(BinaryIO, file)

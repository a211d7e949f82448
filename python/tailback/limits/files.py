"""Reads untrusted files up to a limit of bytes; refuses special files unless the user names them.

A device may have no end, and opening a FIFO may block. Users may name one, as in
`tailback check <(sed … experiment.yaml)`, but the files that an experiment names must be regular. The limit of a
compressed file applies to its uncompressed content, because a kilobyte can decompress to a gigabyte.
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

from tailback.limits import confined

PIECE = 1 << 20

DOCUMENT_MAX = 200_000_000
"""Maximum size in bytes of a JSON document of a results folder; the manifest of a run of 100,000 flows has 30 MB."""
TABLE_MAX = 2_000_000_000
"""Maximum size in bytes of the Parquet file of a table."""
CAPTURE_MAX = 16_000_000_000
"""Maximum size in bytes of a capture in a results folder."""
CELLS_MAX = 25_000_000
"""Maximum number of cells of a table whose file is small: 200 MB in memory, whatever the size of the file."""
CELLS_PER_BYTE = 100
"""Maximum number of cells per byte of the file of a larger table. Rows that repeat take almost no room in a Parquet
file: the tables of busy devices have 1 to 3 cells per byte, those of 50 idle ones 70.
"""
TEXT_MAX = 400_000_000
"""Maximum number of bytes of the words of a column, written out for each row."""
COLUMNS_MAX = 200
"""Maximum number of columns of a table; `tcp_info` has 34."""


class FileRefused(Exception):
    """The file is refused; the message gives the reason, without its name or content."""


class Damaged(FileRefused):
    """A compressed file cannot be decompressed."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Stream:
    """The content of a file, read in pieces, up to a limit."""

    def __init__(self, file: _Readable, bytes_max: int) -> None:
        self._file, self._max, self._read = file, bytes_max, 0

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end; raises `FileRefused` above the limit."""
        try:
            piece = self._file.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise Damaged(f"it cannot be unpacked: {error}") from error
        except OSError as error:
            # bz2 raises OSError without errno for corrupt data.
            if error.errno is not None:
                raise
            raise Damaged(f"it cannot be unpacked: {error}") from error
        self._read += len(piece)
        if self._read > self._max:
            raise FileRefused(f"it has more than {self._max} bytes")
        return piece

    def skip(self, size: int) -> int:
        """Skips the next `size` bytes; returns the number of bytes skipped."""
        left = size
        while left and (piece := self.read(min(left, PIECE))):
            left -= len(piece)
        return size - left

    def pieces(self) -> Iterator[bytes]:
        """The remaining content, in pieces."""
        # Files of /proc have size 0, and reading everything at once would allocate the whole limit.
        while piece := self.read(PIECE):
            yield piece


def read_regular(path: Path | str, bytes_max: int) -> bytes:
    """The content of the regular file `path`, which may be a symbolic link.

    Raises `FileRefused` if it is not a regular file or larger than `bytes_max`, `OSError` if it cannot be read.
    """
    # Of the thousands of files of a sweep, file objects would take longer than what is read from them.
    descriptor, size = _opened(path, bytes_max)
    try:
        return b"".join(_pieces(descriptor, size, bytes_max))
    finally:
        os.close(descriptor)


def _pieces(descriptor: int, size: int, bytes_max: int) -> Iterator[bytes]:
    """The content of a file, in one piece if its size is right: files of /proc have none, and others may grow."""
    length, left = size + 1, bytes_max
    while piece := os.read(descriptor, length):
        left -= len(piece)
        if left < 0:
            raise FileRefused(f"it has more than {bytes_max} bytes")
        yield piece
        length = PIECE


def read_bounded(path: Path, bytes_max: int) -> bytes:
    """The content of any file; raises `FileRefused` if it is larger, `OSError` if it cannot be read."""
    with path.open("rb") as file:
        return b"".join(Stream(file, bytes_max).pieces())


@contextlib.contextmanager
def open_regular(path: Path, bytes_max: int) -> Iterator[Stream]:
    """As `read_regular`, but to be read in pieces."""
    with _regular(path, bytes_max) as file:
        yield Stream(file, bytes_max)


@contextlib.contextmanager
def seekable_regular(path: Path, bytes_max: int) -> Iterator[BinaryIO]:
    """The regular file itself, for a reader that seeks in it (`zipfile`) and has limits of its own; raises as
    `read_regular`.
    """
    with _regular(path, bytes_max) as file:
        yield file


def is_folder(path: Path) -> bool:
    """Whether there is a folder; of a name that is too long, or where nothing may be searched, there is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Whether there is a regular file; of such a name there is none, either."""
    try:
        return path.is_file()
    except OSError:
        return False


def ends_of(path: Path | str, bytes_max: int, length: int) -> tuple[int, bytes, bytes]:
    """The size of a regular file and its first and last `length` bytes; raises as `read_regular`."""
    descriptor, size = _opened(path, bytes_max)
    try:
        return size, os.pread(descriptor, length, 0), os.pread(descriptor, length, max(0, size - length))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def open_unpacked(path: Path, bytes_max: int) -> Iterator[Stream]:
    """Opens the regular file `path`, decompressed if it is gzip or bzip2 (recognised by its first bytes). The limit
    applies to the compressed and to the uncompressed size.
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
    with os.fdopen(_opened(path, bytes_max)[0], "rb") as file:
        yield cast(BinaryIO, file)


_TO_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Without O_NONBLOCK, opening a FIFO would block."""


def _opened(path: Path | str, bytes_max: int) -> tuple[int, int]:
    """The descriptor of a regular file, and its size."""
    allowed = confined.place(path)
    if allowed is None:
        raise FileRefused("it is outside the folder of the experiment")
    # `fstat` checks the opened file, which nobody can replace.
    descriptor = os.open(allowed, _TO_READ)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_size <= bytes_max:
        return descriptor, found.st_size
    os.close(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused("it is not a regular file")
    raise FileRefused(f"it has {found.st_size} bytes, more than the limit of {bytes_max}")

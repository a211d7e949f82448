"""Writes files atomically: they are complete or absent, never partial."""

import contextlib
import itertools
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from tailback.results.errors import ResultsUnwritable

PARTIAL = ".partial"
"""Suffix of folders and files that are still being written; readers ignore them."""

Flush: TypeAlias = Literal["now", "later"]
"""When files are flushed to the disk: before they appear under their name, or when the system writes them by itself,
which is usually within half a minute. A process that is killed loses nothing either way; a machine that loses power
does.
"""

OPEN_AT_ONCE = 16
"""How many files of a folder are open at once: more than a run usually has, and few enough for many runs at a time."""


def write_folder(target: Path, files: Mapping[str, bytes], flush: Flush) -> None:
    """Creates the folder `target` with `files`, atomically.

    It is written under a temporary name in the same parent, flushed to the disk if that is to be `now`, then renamed.
    Raises `ResultsUnwritable`, and leaves nothing behind, if that fails or `target` is not empty.
    """
    with _writing(target):
        partial = target.with_name(f".{target.name}{PARTIAL}")
        partial.mkdir()
        try:
            names = list(files)
            for first in range(0, len(names), OPEN_AT_ONCE):
                _write_files(partial, {name: files[name] for name in names[first : first + OPEN_AT_ONCE]}, flush)
            if flush == "now":
                _flush_folder(partial)
            partial.rename(target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        if flush == "now":
            _flush_folder(target.parent)


def write_file(target: Path, content: bytes) -> None:
    """Creates or replaces the file `target`, atomically."""
    with _writing(target):
        partial = target.with_name(f".{target.name}{PARTIAL}")
        try:
            partial.write_bytes(content)
            _flush_file(partial)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        _flush_folder(target.parent)


def make_folder(target: Path) -> None:
    """Creates the folder `target` and its parents if they do not exist."""
    with _writing(target):
        try:
            target.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError:
            # Its parents were there or have been made: the file system has no place for folders, as in /proc.
            raise ResultsUnwritable(
                f"cannot write `{target}`: no folder can be made there\n"
                "  hint: choose another place: `--out` of run, `--output` of plot"
            ) from None


def make_subfolder(target: Path) -> None:
    """Creates the folder `target` if it does not exist, but not its parent: if that is missing, a user removed it."""
    with _writing(target):
        target.mkdir(exist_ok=True)


def set_aside(target: Path, into: Path) -> Path:
    """Moves a file or a folder into the folder `into`, under a new name if necessary; returns its new path."""
    make_subfolder(into)
    with _writing(target):
        names = itertools.chain([target.name], (f"{target.name}-{number}" for number in itertools.count(2)))
        place = next(into / name for name in names if not os.path.lexists(into / name))
        target.rename(place)
        _flush_folder(into)
        return place


def sweep_partials(parent: Path) -> None:
    """Removes partial folders of killed processes in `parent`, whose lock the caller must hold."""
    for partial in parent.glob(f".*{PARTIAL}"):
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ResultsUnwritable.because(path, error) from error


def _write_files(folder: Path, files: Mapping[str, bytes], flush: Flush) -> None:
    """Creates `files` in `folder`. They are flushed after all are written: the disk then has less to do for each."""
    with contextlib.ExitStack() as open_files:
        written = []
        for name, content in files.items():
            file = open_files.enter_context((folder / name).open("xb", buffering=0))
            left = memoryview(content)
            while left:
                left = left[file.write(left) :]
            written.append(file)
        for file in written if flush == "now" else []:
            os.fsync(file.fileno())


def _flush_file(path: Path) -> None:
    # For writing, because some systems flush no other files.
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(path: Path) -> None:
    # Windows cannot open folders; its rename is durable.
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

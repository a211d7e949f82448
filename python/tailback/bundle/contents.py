"""What a bundle contains, and how one is opened.

A bundle is a zip archive of one folder, which is a results folder (docs/contracts.md) with two more files:
`bundle.json` describes it for programs, `README.md` for people. The times of its files are fixed, so that the same
results make the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tailback.kernel.scratch import scratch
from tailback.limits import CAPTURE_MAX, FileRefused, is_folder, open_regular, seekable_regular
from tailback.limits.files import PIECE
from tailback.plain import shortened
from tailback.results import NotResults
from tailback.results.layout import largest, read_json

INDEX = "bundle.json"
README = "README.md"
FORMAT = 1
"""The version of `bundle.json`."""

FILES_MAX = 1_000_000
"""Maximum number of files in a bundle."""


class BundleWrong(NotResults):
    """The file is no bundle, or one that is not opened."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Path]:
    """The results folder in a bundle, in a temporary place; a folder of results is taken as it is.

    Raises `BundleWrong` for other files, and for archives that would write elsewhere or fill the disk.
    """
    if is_folder(path):
        yield path
        return
    with scratch("tailback-bundle-", Path(tempfile.gettempdir())) as place:
        # The archive is closed before its results are used, whose errors are none of the archive.
        with _archive(path) as archive:
            members = _members(path, archive)
            _check_room(path, members, place)
            for member in members:
                _unpack(path, archive, member, place)
        yield place / PurePosixPath(members[0].filename).parts[0]


def changed(folder: Path) -> list[str]:
    """The files of an opened bundle that are missing or not those in `bundle.json`; none in a folder without one."""
    index = read_json(folder / INDEX)
    files = index.get("files") if index is not None else None
    if not isinstance(files, dict):
        return []
    return [name for name, note in files.items() if not _is_as_listed(folder, name, note)]


def _is_as_listed(folder: Path, name: str, note: object) -> bool:
    """Whether a file is there, with the digest that the index has of it."""
    listed = note.get("sha256") if isinstance(note, dict) else None
    return isinstance(listed, str) and _sha256(folder, name) == listed


def _sha256(folder: Path, name: str) -> str | None:
    found = hashlib.sha256()
    if ".." in Path(name).parts or Path(name).is_absolute():
        return None
    try:
        with open_regular(folder / name, largest(Path(name).name)) as source:
            for piece in source.pieces():
                found.update(piece)
    except (OSError, ValueError, FileRefused):
        # A name with a zero byte is a ValueError.
        return None
    return found.hexdigest()


@contextlib.contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with seekable_regular(path, CAPTURE_MAX) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except FileRefused as refused:
        raise BundleWrong(f"`{path}` is not opened: {refused}\n  hint: give a bundle or a results folder") from refused
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        # `zipfile` raises NotImplementedError for versions and compressions that it does not have.
        hint = "give a file that `tailback bundle` has written, or a results folder"
        raise BundleWrong(f"`{path}` is no bundle: {error}\n  hint: {hint}") from error
    except FileNotFoundError as error:
        raise BundleWrong(f"`{path}` does not exist\n  hint: give a bundle or a results folder") from error
    except OSError as error:
        hint = "give a bundle or a results folder"
        raise BundleWrong(f"`{path}` is not opened: {error.strerror or error}\n  hint: {hint}") from error


def _members(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files of the archive; raises `BundleWrong` if they are not those of one folder."""
    members = [member for member in archive.infolist() if not member.is_dir()]
    tops = {PurePosixPath(member.filename).parts[:1] for member in members}
    if len(members) > FILES_MAX or len(tops) != 1:
        raise BundleWrong(f"`{path}` is no bundle: it does not have the files of one folder\n  hint: {_HINT}")
    for member in members:
        _check_member(path, member)
    if not any(PurePosixPath(member.filename).parts[1:] == (INDEX,) for member in members):
        raise BundleWrong(f"`{path}` is no bundle: it has no `{INDEX}`\n  hint: {_HINT}")
    return members


_HINT = "give a file that `tailback bundle` has written"


def _check_member(path: Path, member: zipfile.ZipInfo) -> None:
    parts = PurePosixPath(member.filename).parts
    kind = stat.S_IFMT(member.external_attr >> 16)
    plain = len(parts) > 1 and ".." not in parts and "/" not in parts and "\\" not in member.filename
    if not plain or kind not in (0, stat.S_IFREG) or any(":" in part for part in parts[:1]):
        raise BundleWrong(f"`{path}` is not opened: it would write `{shortened(member.filename)}`\n  hint: {_HINT}")
    if member.file_size > largest(parts[-1]):
        raise BundleWrong(
            f"`{path}` is not opened: `{shortened(member.filename)}` has {member.file_size} bytes\n  hint: {_HINT}"
        )


def _check_room(path: Path, members: list[zipfile.ZipInfo], place: Path) -> None:
    size, free = sum(member.file_size for member in members), shutil.disk_usage(place).free
    if size > min(free, CAPTURE_MAX):
        hint = "free some space, or point TMPDIR to another disk"
        raise BundleWrong(f"`{path}` has {size} bytes unpacked, and `{place.parent}` has {free} free\n  hint: {hint}")


def _unpack(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path) -> None:
    target = place.joinpath(*PurePosixPath(member.filename).parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, os.fdopen(os.open(target, _NEW, 0o644), "wb") as file:
            # No more than it says: `zipfile` checks the sum at the end.
            while piece := source.read(PIECE):
                file.write(piece)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise BundleWrong(
            f"`{path}` is no bundle: it has `{shortened(member.filename)}` twice\n  hint: {_HINT}"
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise BundleWrong(
            f"`{path}` is not opened: `{shortened(member.filename)}`: {reason}\n  hint: {_HINT}"
        ) from error
    except RuntimeError as error:
        # `zipfile` says so of encrypted files.
        if isinstance(error, NotImplementedError):
            raise
        raise BundleWrong(f"`{path}` is not opened: {error}\n  hint: {_HINT}") from error


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL

"""Checks whether the folder of a run is unchanged since it was written.

The manifest contains size and CRC-32 of all other files, and its own digest. Opening results checks the sizes, and the
first and last bytes of tables, which is cheap. Reading a table checks its checksum. All checksums are checked before a
run counts as complete and is not repeated.
"""

import contextlib
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from tailback.limits import FileRefused, ends_of, read_regular
from tailback.results.errors import RunDamaged
from tailback.results.forms import TableWrong
from tailback.results.identity import digest
from tailback.results.layout import MANIFEST, SUMMARY, TABLE, decoded, largest
from tailback.results.shapes import is_manifest, is_summary

Depth: TypeAlias = Literal["sizes", "contents"]
"""What to check of files that are not JSON."""

MAGIC = b"PAR1"
"""The first and last bytes of a Parquet file. [parquet-format README]"""


class Read(Struct, frozen=True):
    """The JSON files of an undamaged run."""

    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]


def noted(contents: Mapping[str, bytes]) -> dict[str, dict[str, int]]:
    """The entries of the manifest for other files."""
    return {name: {"bytes": len(content), "crc32": zlib.crc32(content)} for name, content in sorted(contents.items())}


def read(folder: Path, depth: Depth) -> Read:
    """The run in `folder`; raises `RunDamaged` if it has changed since it was written."""
    manifest = _object(folder, MANIFEST, content(folder, MANIFEST))
    try:
        wrong = _wrong_manifest(manifest)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        wrong = "lacks keys that every run has"
    if wrong is not None:
        raise RunDamaged(folder, f"`{MANIFEST}` {wrong}")
    text = content(folder, SUMMARY)
    summary = _object(folder, SUMMARY, text)
    if not is_summary(summary):
        raise RunDamaged(folder, f"`{SUMMARY}` has values of other types than a summary")
    for name in _files(manifest):
        if name == SUMMARY:
            check_content(folder, manifest, name, text)
        elif depth == "contents":
            check_content(folder, manifest, name, content(folder, name))
        else:
            _check_size(folder, manifest, name)
    return Read(manifest, summary)


def check_content(folder: Path, manifest: Mapping[str, Any], name: str, found: bytes) -> None:
    """Raises `RunDamaged` if `found`, the content of the file `name`, has changed since it was written."""
    note = manifest.get("files", {}).get(name)
    if note is not None and (len(found), zlib.crc32(found)) != (note.get("bytes"), note.get("crc32")):
        raise RunDamaged(folder, f"`{name}` has changed since it was written")


def _wrong_manifest(manifest: Mapping[str, Any]) -> str | None:
    """The error of a manifest, None if it is valid. Raises exceptions such as `KeyError` for other JSON documents."""
    names = (*manifest["tables"], *manifest.get("files", {}))
    if not is_manifest(manifest) or not all(map(_is_plain, names)):
        return "lacks keys that every run has"
    parts = {key: manifest[key] for key in ("scenario", "measure", "axes", "backend", "fingerprint")}
    return None if digest(parts) == manifest["identity"] else "does not match its own identity"


_FOLDERS = frozenset(("", ".", ".."))
_APART = frozenset(("\0", "/", os.sep))


def _is_plain(name: str) -> bool:
    """Whether `name` is a plain file name, not a path."""
    return name not in _FOLDERS and _APART.isdisjoint(name)


def _files(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the files that must exist; old manifests only list tables."""
    return list(dict.fromkeys([*manifest.get("files", {}), *(f"{table}{TABLE}" for table in manifest["tables"])]))


def _check_size(folder: Path, manifest: Mapping[str, Any], name: str) -> None:
    note = manifest.get("files", {}).get(name)
    try:
        size, *ends = ends_of(f"{folder}/{name}", largest(name), len(MAGIC))
    except (OSError, FileRefused) as error:
        raise unreadable(folder, name, error) from error
    if note is not None and size != note["bytes"]:
        raise RunDamaged(folder, f"`{name}` has {size} bytes instead of {note['bytes']}")
    if name.endswith(TABLE) and ends != [MAGIC, MAGIC]:
        raise RunDamaged(folder, f"`{name}` is not a complete Parquet file")


def _object(folder: Path, name: str, found: bytes) -> dict[str, Any]:
    document = decoded(found)
    if document is None:
        raise RunDamaged(folder, f"`{name}` is not a JSON object" if found else f"`{name}` is empty")
    return document


def content(folder: Path, name: str) -> bytes:
    """The content of a file of a run; raises `RunDamaged` if it cannot be read."""
    try:
        return read_regular(f"{folder}/{name}", largest(name))
    except (OSError, FileRefused) as error:
        raise unreadable(folder, name, error) from error


@contextlib.contextmanager
def table_of(folder: Path, name: str) -> Iterator[None]:
    """Says of which run a table is that turns out not to be one."""
    try:
        yield
    except TableWrong as wrong:
        raise RunDamaged(folder, f"`{name}` {wrong}") from wrong


def unreadable(folder: Path, name: str, error: OSError | FileRefused) -> RunDamaged:
    """The error of a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return RunDamaged(folder, f"`{name}` is missing")
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return RunDamaged(folder, f"`{name}` cannot be read: {reason}")

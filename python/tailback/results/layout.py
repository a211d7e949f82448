"""The names of files in a results folder, and functions that read the JSON files."""

import json
from pathlib import Path
from typing import Any

import msgspec

from tailback.limits import CAPTURE_MAX, DOCUMENT_MAX, TABLE_MAX, FileRefused, read_regular

EXPERIMENT = "experiment.json"
SOURCE = "experiment.yaml"
RUNS = "runs"
FAILURES = "failures"
MANIFEST = "manifest.json"
SUMMARY = "summary.json"
CAPTURE = ".pcapng"
QDISCS = "qdiscs.json"
TABLE = ".parquet"
ASIDE = "set-aside"
"""Folder for damaged folders of runs."""


def content_of(path: Path) -> bytes:
    """The content of a file of a results folder, which somebody else may have made. Raises `FileRefused` if it is not a
    regular file, or larger than one of its kind ever is, and `OSError` if it cannot be read.
    """
    return read_regular(path, largest(path.name))


_LARGEST = {TABLE: TABLE_MAX, CAPTURE: CAPTURE_MAX}


def largest(name: str) -> int:
    """The maximum size in bytes of the file with this name."""
    return _LARGEST.get(name[name.rfind(".") :], DOCUMENT_MAX)


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`; `None` if the file is missing or contains no JSON object."""
    try:
        return decoded(content_of(path))
    except (OSError, FileRefused):
        return None


def decoded(content: bytes) -> dict[str, Any] | None:
    """The JSON object in `content`; `None` if it is not one."""
    try:
        document = _document(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _document(content: bytes) -> Any:
    # In half the time; of what it refuses, Python's reader takes numbers without bounds and halves of characters.
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return json.loads(content.decode("utf-8"))

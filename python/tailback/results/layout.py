"""The names of files in a results folder, and functions that read the JSON files."""

import json
from pathlib import Path
from typing import Any

EXPERIMENT = "experiment.json"
SOURCE = "experiment.yaml"
RUNS = "runs"
FAILURES = "failures"
MANIFEST = "manifest.json"
SUMMARY = "summary.json"
CAPTURE = ".pcapng"
QDISCS = "qdiscs.json"
ASIDE = "set-aside"
"""Folder for damaged folders of runs."""


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`; `None` if the file is missing or contains no JSON object."""
    try:
        return decoded(path.read_bytes())
    except OSError:
        return None


def decoded(content: bytes) -> dict[str, Any] | None:
    """The JSON object in `content`; `None` if it is not one."""
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None

"""The names of files in a folder of results, and reading those that are JSON."""

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


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`; `None` if there is no such file or it is not one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None

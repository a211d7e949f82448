"""The parts of a results folder that must have the same bytes wherever it was written and however often interrupted."""

import json
from pathlib import Path

OF_THE_OCCASION = ("host", "kernel", "started", "duration_s", "cost", "taken_from")
"""What of a manifest tells of the occasion of a run and not of its data."""


def lasting(folder: Path) -> dict[str, bytes]:
    """By path: tables and captures unchanged; documents without time, place and duration."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): _lasting(path) for path in files}


def _lasting(path: Path) -> bytes:
    if path.suffix != ".json":
        return path.read_bytes()
    document = json.loads(path.read_text())
    for key in (*OF_THE_OCCASION, "created") if isinstance(document, dict) else ():
        document.pop(key, None)
    if isinstance(document, dict) and "files" in document:
        # The summary contains the cost of the run.
        document["files"].pop("summary.json", None)
    return json.dumps(document).encode()

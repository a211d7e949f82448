"""What of a folder of results must be the same bytes whoever wrote it, how often it was interrupted, and where."""

import json
from pathlib import Path

OF_THE_OCCASION = ("host", "kernel", "started", "duration_s", "cost", "taken_from")
"""What of a manifest tells of the occasion of a run and not of its data."""


def lasting(folder: Path) -> dict[str, bytes]:
    """By path: tables and captures as they are; documents without when, where and how long."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): _lasting(path) for path in files}


def _lasting(path: Path) -> bytes:
    if path.suffix != ".json":
        return path.read_bytes()
    document = json.loads(path.read_text())
    for key in (*OF_THE_OCCASION, "created") if isinstance(document, dict) else ():
        document.pop(key, None)
    if isinstance(document, dict) and "files" in document:
        # The summary tells what the run cost.
        document["files"].pop("summary.json", None)
    return json.dumps(document).encode()

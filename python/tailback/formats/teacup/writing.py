"""Writes an imported configuration as two files, with the notes at the top of the first."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tailback.formats.teacup.importing import Imported
from tailback.results.durable import make_folder, write_file

EXPERIMENT = "experiment.yaml"
TESTBED = "testbed.yaml"


def write(imported: Imported, folder: Path, source: str) -> list[Path]:
    """Makes the files in `folder`; their paths."""
    make_folder(folder)
    heading = [
        f"imported from the TEACUP configuration {source}",
        *(f"not imported: {note}" for note in imported.notes),
    ]
    contents = {EXPERIMENT: _text(heading, imported.experiment), TESTBED: _text(heading[:1], imported.testbed)}
    for name, text in contents.items():
        write_file(folder / name, text.encode())
    return [folder / name for name in contents]


def _text(heading: list[str], document: Mapping[str, Any]) -> str:
    """A remark is one line whatever was in the file."""
    yaml = YAML()
    yaml.width = 120
    stream = io.StringIO()
    yaml.dump(document, stream)
    remarks = "".join(f"# {''.join(each if each.isprintable() else ' ' for each in line)}\n" for line in heading)
    return f"{remarks}\n{stream.getvalue()}"

"""Writes an imported configuration as two files, with the notes at the top of the first."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import LiteralScalarString

from tailback.formats.teacup.importing import Imported
from tailback.results.durable import make_folder, write_file

EXPERIMENT = "experiment.yaml"
TESTBED = "testbed.yaml"
LONGEST_WORD = 60
LONGEST_LINE = 200


def write(imported: Imported, folder: Path, source: str) -> list[Path]:
    """Makes the files in `folder`; their paths."""
    make_folder(folder)
    heading = [
        f"imported from the TEACUP configuration {source}",
        *(f"{note.effect}: {note}" for note in imported.notes),
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
    yaml.dump(_in_lines(document), stream)
    remarks = "".join(f"# {''.join(each if each.isprintable() else ' ' for each in line)}\n" for line in heading)
    return f"{remarks}\n{stream.getvalue()}"


def _in_lines(value: Any) -> Any:
    """Small lists and mappings on one line, and texts of several lines as such."""
    if isinstance(value, str):
        return LiteralScalarString(value + "\n") if "\n" in value else value
    if isinstance(value, Mapping):
        found: CommentedMap | CommentedSeq = CommentedMap({key: _in_lines(each) for key, each in value.items()})
        parts = list(value.values())
    elif isinstance(value, list):
        found = CommentedSeq([_in_lines(each) for each in value])
        parts = value
    else:
        return value
    if all(_is_small(each) for each in parts) and sum(len(str(each)) + 20 for each in parts) < LONGEST_LINE:
        found.fa.set_flow_style()
    return found


def _is_small(value: Any) -> bool:
    """Whether a value may stand in a list on one line."""
    if isinstance(value, list):
        return all(isinstance(each, int | str) and len(str(each)) < LONGEST_WORD for each in value)
    return not isinstance(value, Mapping) and "\n" not in str(value) and len(str(value)) < LONGEST_WORD

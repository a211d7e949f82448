"""Files to start with: a congestion control in Python, an experiment with it, and a test."""

from __future__ import annotations

import keyword
from pathlib import Path
from string import Template

TEMPLATES = {
    "{name}.py": "control.py.txt",
    "{name}.yaml": "experiment.yaml.txt",
    "test_{name}.py": "test.py.txt",
}
"""The files of a control by their templates in this folder."""

FOLDER = Path(__file__).parent


class NotStarted(Exception):
    """No file was written; the message says why."""


def control(name: str, folder: Path) -> list[Path]:
    """Writes the files of a control called `name` to `folder`. Files that exist are never overwritten."""
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
        raise NotStarted(
            f"`{name}` cannot be the name of a Python file\n  hint: letters, digits and `_`: mine, my_reno"
        )
    paths = {folder / file.format(name=name): template for file, template in TEMPLATES.items()}
    for path in paths:
        if path.exists():
            raise NotStarted(f"{path} exists\n  hint: choose another name, or remove it")
    words = {"NAME": name, "CLASS": "".join(part[:1].upper() + part[1:] for part in name.split("_"))}
    for path, template in paths.items():
        text = (FOLDER / template).read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(words), encoding="utf-8")
    return list(paths)

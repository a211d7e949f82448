"""Files to start with: experiments; a congestion control in Python with an experiment and a test."""

from __future__ import annotations

import keyword
from pathlib import Path
from string import Template

TEMPLATES = {
    "{name}.py": "control.py.txt",
    "{name}.yaml": "control.yaml.txt",
    "test_{name}.py": "test.py.txt",
}
"""The files of a control by their templates in this folder."""

EXPERIMENTS = {
    "home-link": "a home behind a 20/5 Mbit/s line: RRUL with the modem's own queue, fq_codel and cake",
    "wifi": "an 802.11n access point with a near and a far station",
    "datacenter": "four servers and a marking port of 10 Gbit/s: CUBIC, ECN and DCTCP",
    "parking-lot": "a long flow over three hops, each with a cross flow",
    "lab": "for teaching: how large should a buffer be? With five questions",
}
"""What each experiment is about; its template in this folder is called after it."""

FOLDER = Path(__file__).parent


class NotStarted(Exception):
    """No file was written; the message says why."""


def control(name: str, folder: Path) -> list[Path]:
    """Writes the files of a control called `name` to `folder`. Files that exist are never overwritten."""
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
        raise NotStarted(
            f"`{name}` cannot be the name of a Python file\n  hint: letters, digits and `_`: mine, my_reno"
        )
    words = {"NAME": name, "CLASS": "".join(part[:1].upper() + part[1:] for part in name.split("_"))}
    return _write({folder / file.format(name=name): template for file, template in TEMPLATES.items()}, words)


def experiment(kind: str, path: Path) -> list[Path]:
    """Writes the experiment `kind`, one of `EXPERIMENTS`, to the file `path`, which must not exist."""
    return _write({path: f"{kind}.yaml.txt"}, {"FILE": str(path), "NAME": path.stem})


def _write(paths: dict[Path, str], words: dict[str, str]) -> list[Path]:
    """Fills in a template for each path; `${...}` of an experiment stays."""
    for path in paths:
        if path.exists():
            raise NotStarted(f"{path} exists\n  hint: choose another name, or remove it")
    for path, template in paths.items():
        text = (FOLDER / template).read_text(encoding="utf-8")
        path.write_text(Template(text).safe_substitute(words), encoding="utf-8")
    return list(paths)

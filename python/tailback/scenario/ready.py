"""The experiments that come with Tailback, by their names: `demo`, `papers/access21/fig5`.

They lie in the folder `experiments`: of the clone if the package runs from one, else inside the installed package,
where crates/python/build.rs has put them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tailback.scenario.reader import read_file, read_yaml

NAME = "experiments"
INSTALLED = Path(__file__).resolve().parents[1] / NAME
CLONE = Path(__file__).resolve().parents[3] / NAME


def folder() -> Path:
    """Where they are: in a clone its own, for the copy in the installed package is as old as the last build."""
    return CLONE if (CLONE.parent / "Cargo.toml").is_file() and CLONE.is_dir() else INSTALLED


def ready() -> Mapping[str, Path]:
    """Their files by name, in the order of the names."""
    there = folder()
    return {file.relative_to(there).with_suffix("").as_posix(): file for file in sorted(there.rglob("*.yaml"))}


def title_of(file: Path) -> str:
    """The title in a file, without checking the rest; the file name if it has none."""
    title = read_yaml(read_file(file), str(file)).entries().get("title")
    return file.stem if title is None else str(title.value)


def file_of(path: Path) -> Path:
    """`path`, or, if there is no such file, the ready experiment of this name: `demo`, `experiments/demo.yaml`.

    A folder of that name, such as one with results, does not hide it.
    """
    if _is_file(path):
        return path
    name = path.as_posix().removeprefix(f"{NAME}/").removesuffix(".yaml")
    return ready().get(name, path)


def _is_file(path: Path) -> bool:
    """Not only regular files: the reader says what else is there and cannot be read."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return True

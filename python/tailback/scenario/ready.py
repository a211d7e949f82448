"""The experiments that come with Tailback, by their names: `demo`, `papers/access21/fig5`.

They are in the folder `experiments`: that of the clone if the package runs from one, else that of the installed
package, which crates/python/build.rs fills.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tailback.scenario.reader import read_file, read_yaml

NAME = "experiments"
INSTALLED = Path(__file__).resolve().parents[1] / NAME
CLONE = Path(__file__).resolve().parents[3] / NAME


def folder() -> Path:
    """Their folder. A clone uses its own, because the copy in the package may be older."""
    return CLONE if (CLONE.parent / "Cargo.toml").is_file() and CLONE.is_dir() else INSTALLED


def ready() -> Mapping[str, Path]:
    """Their files by name, sorted."""
    there = folder()
    return {file.relative_to(there).with_suffix("").as_posix(): file for file in sorted(there.rglob("*.yaml"))}


def title_of(file: Path) -> str:
    """The title in a file, without checking the rest; the file name if it has none."""
    title = read_yaml(read_file(file), str(file)).entries().get("title")
    return file.stem if title is None else str(title.value)


def file_of(path: Path) -> Path:
    """Returns `path` if it is a file, else the file of the experiment of this name: `demo`, `experiments/demo.yaml`.

    A folder of that name, such as a results folder, does not hide the experiment.
    """
    if _is_file(path):
        return path
    name = path.as_posix().removeprefix(f"{NAME}/").removesuffix(".yaml")
    return ready().get(name, path)


def similar(path: Path) -> list[str]:
    """What the user may have meant by `path`, which does not exist: files beside it, and names of experiments."""
    beside = sorted(path.parent.glob("*.yaml")) if path.parent.is_dir() else []
    return [*map(str, beside), *ready()]


def _is_file(path: Path) -> bool:
    """Whether anything but a folder exists there; the reader reports what is not a regular file."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return True

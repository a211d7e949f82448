"""Whether files may be read from one folder only: what a page in a browser opens names none elsewhere (SECURITY.md)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_FOLDER: ContextVar[str | None] = ContextVar("folder", default=None)


@contextlib.contextmanager
def to(folder: Path) -> Iterator[None]:
    """In this block, regular files outside `folder` are refused, whatever links lead to them."""
    before = _FOLDER.set(os.path.realpath(folder))
    try:
        yield
    finally:
        _FOLDER.reset(before)


def place(path: Path | str) -> Path | str | None:
    """Where to read `path`: the file that all links lead to; `None` if it is outside the folder."""
    folder = _FOLDER.get()
    if folder is None:
        return path
    real = os.path.realpath(path)
    return real if os.path.commonpath([folder, real]) == folder else None

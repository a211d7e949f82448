"""Errors about results folders. Each message ends with a remedy on its own line."""

import errno
from collections.abc import Iterable
from pathlib import Path


class NotResults(Exception):
    """The folder contains no results."""


class RunDamaged(NotResults):
    """The folder of a run has changed since it was written."""

    def __init__(self, folder: Path, what: str) -> None:
        hint = "run the same `tailback run …` again: it sets the folder aside and repeats the run"
        super().__init__(f"the run `{folder}` is damaged: {what}\n  hint: {hint}")
        self.folder = folder
        self.what = what


def left_out(damaged: Iterable[RunDamaged]) -> list[str]:
    """That damaged runs are left out, once for each kind of damage."""
    kinds: dict[str, list[RunDamaged]] = {}
    for each in damaged:
        kinds.setdefault(each.what, []).append(each)
    others = {what: f" and {len(kind) - 1} more with the same damage" for what, kind in kinds.items() if len(kind) > 1}
    return [f"left out{others.get(what, '')}: {kind[0]}" for what, kind in kinds.items()]


class NotComparable(Exception):
    """Two results have no runs in common."""


class FolderTaken(Exception):
    """The folder contains something else, which is never overwritten."""


class ResultsUnwritable(Exception):
    """The disk is full, or the folder is read-only or below a file."""

    @classmethod
    def because(cls, path: Path, error: OSError) -> "ResultsUnwritable":
        """The message for an error of the operating system at `path`."""
        reason = error.strerror or str(error)
        hint = _HINTS.get(error.errno or 0, "choose another place: `--out` of run, `--output` of plot")
        return cls(f"cannot write `{path}`: {reason}\n  hint: {hint}")


_FULL = "free some space or choose another place: `--out` of run, `--output` of plot"
_HINTS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.ENOENT: "it was removed or renamed while results were written to it; start again",
}

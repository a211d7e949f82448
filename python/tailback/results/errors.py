"""What can go wrong with a folder of results. Each message ends with a remedy on a line of its own."""

from pathlib import Path


class NotResults(Exception):
    """The folder named by the user holds no results."""


class NotComparable(Exception):
    """Two folders of results have nothing in common by which they could be compared."""


class FolderTaken(Exception):
    """The folder named by the user holds something else, which is never overwritten."""


class ResultsUnwritable(Exception):
    """The disk is full, the folder is read-only or lies below a file."""

    @classmethod
    def because(cls, path: Path, error: OSError) -> "ResultsUnwritable":
        """The message for an error of the operating system at `path`."""
        reason = error.strerror or str(error)
        hint = "free some space or choose another place: `--out` of run, `--output` of plot"
        return cls(f"cannot write `{path}`: {reason}\n  hint: {hint}")

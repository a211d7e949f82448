"""Reads files of the user's kernels: source trees, headers and builds in the cache, none of which we made just now."""

from pathlib import Path

from tailback.kernel.errors import KernelMissing
from tailback.limits import FileRefused, read_regular

LARGEST = 1_000_000_000
"""Maximum size in bytes of a file of a source tree."""
LARGEST_TEXT = 50_000_000
"""Maximum size in bytes of a file that is read as text; `Module.symvers` of a distribution has 2 MB."""


def content_of(path: Path) -> bytes:
    """The content of a regular file; raises `KernelMissing` if it cannot be read."""
    return _read(path, LARGEST)


def text_of(path: Path) -> str:
    """The text of a regular file; raises `KernelMissing` if it cannot be read."""
    return _read(path, LARGEST_TEXT).decode("utf-8", "replace")


def _read(path: Path, largest: int) -> bytes:
    try:
        return read_regular(path, largest)
    except (OSError, FileRefused) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        hint = "build or prepare that kernel again: tailback kernel build, tailback kernel headers"
        raise KernelMissing(f"`{path}` cannot be read: {reason}\n  hint: {hint}") from error

"""The parts of the checkout that builds start from: our changes to the kernel, and the agent."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tailback.kernel.errors import KernelMissing

ROOT = Path(__file__).resolve().parents[3]


def part(name: str) -> Path:
    """The folder `name` of the checkout this package runs from."""
    folder = ROOT / name
    if not folder.is_dir():
        raise KernelMissing(
            f"`{folder}` is needed to build and not there\n  hint: it is part of the repository; run in a clone of it"
        )
    return folder


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Digest of named contents in the order given."""
    whole = hashlib.sha256()
    for name, content in files:
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()

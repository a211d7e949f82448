"""The inputs of builds: our patches of the kernel, and the agent's source. They are in the clone, or, in an installed
package, next to this file (crates/python/build.rs puts them into the wheel).
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tailback.kernel.errors import KernelMissing

ROOT = Path(__file__).resolve().parents[3]
CARRIED = Path(__file__).resolve().with_name("origin")


def is_clone() -> bool:
    """Whether this package runs from a clone of the repository."""
    return (ROOT / "Cargo.lock").is_file() and (ROOT / "crates" / "agent").is_dir()


def part(name: str) -> Path:
    """The folder `name` of the clone, or of the installed package."""
    folder = (ROOT if is_clone() else CARRIED) / name
    if not folder.is_dir():
        raise KernelMissing(
            f"the build needs `{folder}`, which is missing\n  hint: install the package again, or run in a clone of it"
        )
    return folder


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Digest of named contents, in order."""
    whole = hashlib.sha256()
    for name, content in files:
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()

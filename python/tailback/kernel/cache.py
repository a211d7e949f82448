"""The cache of builds: `$XDG_CACHE_HOME/tailback/kernels/DIGEST-NAME/` with `linux`, `config`, `Module.symvers` (what
modules may use) and `manifest.json`. The headers are in `headers/DIGEST-NAME/` (`headers.py`).

The digest covers all inputs of a build, so builds are never replaced.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tailback.kernel.errors import CacheUnwritable, KernelMissing
from tailback.kernel.files import text_of

STOCK = "stock"
"""The name of the kernel from the distribution's source with only our patches."""

RELEASE = r"linux-(\d+\.\d+)"
"""The usual name of a kernel of another release than that of `stock`."""

MANIFEST = "manifest.json"
BINARY = "linux"
CONFIG = "config"
SYMBOLS = "Module.symvers"


@dataclass(frozen=True)
class Manifest:
    """The description of a build."""

    name: str
    digest: str
    version: str
    source: str
    compiler: str
    built: str
    build_s: float


@dataclass(frozen=True)
class Kernel:
    """A kernel that is ready to run."""

    folder: Path
    manifest: Manifest

    @property
    def binary(self) -> Path:
        """The program."""
        return self.folder / BINARY

    @property
    def symbols(self) -> Path:
        """The list of the symbols that modules may use."""
        return self.folder / SYMBOLS

    def has(self, symbol: str) -> bool:
        """Whether `CONFIG_symbol` is built in."""
        return f"CONFIG_{symbol}=y" in text_of(self.folder / CONFIG).splitlines()


def utc_now() -> str:
    """The present time, for manifests."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def home() -> Path:
    """The cache folder of this user."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "tailback"


def kernels() -> list[Kernel]:
    """All kernels in the cache, the newest first."""
    folders = (home() / "kernels").glob(f"*/{MANIFEST}")
    found = [Kernel(file.parent, manifest) for file in folders if (manifest := _manifest(file)) is not None]
    return sorted(found, key=lambda kernel: (kernel.manifest.built, kernel.folder.name), reverse=True)


def find_kernel(name: str = STOCK) -> Kernel:
    """The newest kernel with this name, or with a digest that begins with it; raises `KernelMissing`."""
    found = kernels()
    for kernel in found:
        if kernel.manifest.name == name or (len(name) >= 6 and kernel.manifest.digest.startswith(name)):
            return kernel
    if name == STOCK:
        raise KernelMissing("no kernel has been built\n  hint: build one, about four minutes: tailback kernel build")
    known = ", ".join(sorted({f"`{kernel.manifest.name}`" for kernel in found})) or "none"
    release = re.fullmatch(RELEASE, name)
    which = f"--version {release[1]}" if release else f"--source DIR --name {name}"
    build = f"tailback kernel build {which}"
    raise KernelMissing(f"there is no kernel `{name}`\n  hint: use one of {known}, or build it: {build}")


def find_built(folder: Path) -> Kernel | None:
    """The kernel in `folder`; None if it is missing or incomplete."""
    manifest = _manifest(folder / MANIFEST)
    return None if manifest is None else Kernel(folder, manifest)


def keep(tree: Path, manifest: Manifest) -> Kernel:
    """Adds what was built in `tree` to the cache, atomically; the program without its symbols for debuggers."""
    folder = home() / "kernels" / f"{manifest.digest}-{manifest.name}"
    with adding(folder) as partial:
        shutil.copy2(tree / BINARY, partial / BINARY)
        subprocess.run(["strip", str(partial / BINARY)], check=True)
        shutil.copyfile(tree / ".config", partial / CONFIG)
        shutil.copyfile(tree / SYMBOLS, partial / SYMBOLS)
        (partial / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2) + "\n", encoding="utf-8")
    return Kernel(folder, manifest)


@contextmanager
def adding(folder: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to `folder` at the end of the block, unless it raises an exception."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder.parent) as temporary:
            partial = Path(temporary) / folder.name
            partial.mkdir()
            yield partial
            try:
                partial.rename(folder)
            except OSError:
                # Another process may have added the same build meanwhile.
                if not folder.exists():
                    raise
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "free some space, or point XDG_CACHE_HOME to a folder that can be written"
        raise CacheUnwritable(f"cannot write `{folder.parent}`: {reason}\n  hint: {hint}") from error


def _manifest(file: Path) -> Manifest | None:
    try:
        return Manifest(**json.loads(text_of(file)))
    except (KernelMissing, ValueError, TypeError, RecursionError):
        return None

"""The headers of a kernel, with which modules are compiled for the simulator (`module.py`) and for the kernel itself
(`loadable.py`).

They come from the same source, patches and configuration as the kernel of that name. `make modules_prepare` generates
what is missing in the source, in half a minute; the kernel itself need not be built. How the kernel compiles its own
files is kept too: the simulator's modules use the same flags, and the kernel's are built by its own makefiles.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache as remembered
from pathlib import Path

from tailback.kernel import cache
from tailback.kernel.errors import BuildFailed, KernelMissing
from tailback.kernel.files import text_of

MANIFEST = "headers.json"

KEPT = ("include", "arch/um/include", "arch/x86/include", "arch/x86/um/asm", "arch/x86/um/shared", "scripts")
"""Folders of a prepared tree that compiling needs."""

MAKEFILES = ("Makefile", "arch/um/Makefile*", "arch/x86/Makefile*", "arch/um/scripts/Makefile*", ".config")
"""Files by which a kernel builds modules that are not in its tree."""

CONTROLS = "net/ipv4"
"""Where the kernel's own controls are: some modules include their headers or call their functions."""

UNSUITABLE = re.compile(r"-mcmodel=.*|-fno-PIE|-S|-c|-fverbose-asm|-Wp,.*|-DKBUILD_.*|-D__KBUILD_.*|-W.*")
"""Flags of the kernel's build that do not apply: of the code model, of one file, and warnings about the kernel."""


@dataclass(frozen=True)
class Headers:
    """Prepared headers."""

    folder: Path
    name: str
    digest: str
    version: str
    source: str
    prepared: str
    flags: tuple[str, ...]
    """Of the compiler, relative to `folder`."""

    @property
    def controls(self) -> Path:
        """The folder of the kernel's own controls."""
        return self.folder / CONTROLS


@dataclass(frozen=True)
class Origin:
    """What headers come from; the fields are those of `Headers`."""

    name: str
    digest: str
    version: str
    source: str


def keep(origin: Origin, tree: Path) -> Headers:
    """Adds the headers of a prepared tree to the cache."""
    folder = _folder(origin.digest, origin.name)
    kept = Headers(folder=folder, **asdict(origin), prepared=cache.utc_now(), flags=tuple(_flags(tree)))
    with cache.adding(folder) as partial:
        for part in KEPT:
            shutil.copytree(tree / part, partial / part, symlinks=True, ignore=shutil.ignore_patterns("*.o", ".*.cmd"))
        for file in (found for pattern in MAKEFILES for found in tree.glob(pattern)):
            (partial / file.relative_to(tree)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, partial / file.relative_to(tree))
        (partial / CONTROLS).mkdir(parents=True)
        for file in [*(tree / CONTROLS).glob("tcp_*.[ch]")]:
            shutil.copyfile(file, partial / CONTROLS / file.name)
        written = {**asdict(kept), "folder": None}
        (partial / MANIFEST).write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    return kept


def kept_of(digest: str, name: str) -> Headers | None:
    """The headers of a recipe with this digest, if they are in the cache."""
    return _headers_in(_folder(digest, name))


@remembered
def find_headers(name: str = cache.STOCK) -> Headers:
    """The newest headers of the kernel with this name; raises `KernelMissing`."""
    folders = (cache.home() / "headers").glob(f"*-{name}")
    found = [headers for folder in folders if (headers := _headers_in(folder)) is not None]
    if not found:
        how = "tailback kernel headers" + ("" if name == cache.STOCK else f" --source DIR --name {name}")
        raise KernelMissing(
            f"a kernel module is compiled with the headers of a kernel, and there are none of `{name}`\n"
            f"  hint: prepare them, about a minute: {how}"
        )
    return max(found, key=lambda headers: (headers.prepared, headers.digest))


def find_headers_of(manifest: cache.Manifest) -> Headers:
    """The headers that were kept with a build; raises `KernelMissing`."""
    found = kept_of(manifest.digest, manifest.name)
    if found is None:
        what = f"the headers of the kernel `{manifest.name}` are not in the cache"
        raise KernelMissing(f"{what}\n  hint: build it again: tailback kernel build")
    return found


def _folder(digest: str, name: str) -> Path:
    return cache.home() / "headers" / f"{digest}-{name}"


def _headers_in(folder: Path) -> Headers | None:
    try:
        written = json.loads(text_of(folder / MANIFEST))
        return Headers(**{**written, "folder": folder, "flags": tuple(written["flags"])})
    except (KernelMissing, ValueError, TypeError, KeyError, RecursionError):
        return None


def _flags(tree: Path) -> Iterator[str]:
    """The flags with which the kernel compiled a file of its own, which `make prepare` leaves behind."""
    command = next(iter(sorted(tree.glob("arch/um/kernel/.asm-offsets.s.cmd"))), None)
    text = "" if command is None else text_of(command)
    line = re.search(r"^(?:saved)?cmd_\S+ := gcc (.*)$", text, re.MULTILINE)
    if line is None:
        raise BuildFailed("the build of this tree does not say how it compiles\n  hint: use a tree from 5.10 to 6.12")
    words = iter(shlex.split(line[1]))
    for word in words:
        if word == "-o":
            return
        if not UNSUITABLE.fullmatch(word) or word.startswith("-Wno-"):
            yield word

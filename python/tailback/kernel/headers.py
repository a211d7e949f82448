"""The headers of a kernel, with which modules are compiled for the simulator (`module.py`).

They come from the same source, patches and configuration as the kernel of that name. `make prepare` generates what is
missing in the source, in half a minute; the kernel itself need not be built. How the kernel compiles its own files is
kept too: the same flags are used for modules.
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

from tailback.kernel import cache, checkout
from tailback.kernel.build import Recipe, Say, check_name, check_tools, compiler_name, configured, digest_of, make, room
from tailback.kernel.errors import BuildFailed, KernelMissing

MANIFEST = "headers.json"

KEPT = ("include", "arch/um/include", "arch/x86/include", "arch/x86/um/asm", "arch/x86/um/shared")
"""Folders of a prepared tree that compiling needs."""

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


def prepare(recipe: Recipe, say: Say) -> Headers:
    """The headers for `recipe`, from the cache if possible; `say` receives progress messages."""
    check_name(recipe.name)
    check_tools()
    ours = checkout.part("kernel")
    digest = digest_of(recipe, ours, compiler_name())
    folder = _folder(digest, recipe.name)
    found = _found(folder)
    if found is not None:
        return found
    with room() as place:
        tree = place / "linux"
        version = configured(recipe, ours, tree, say)
        say("preparing the headers")
        make(tree, "prepare")
        return keep(recipe, digest, version, tree)


def keep(recipe: Recipe, digest: str, version: str, tree: Path) -> Headers:
    """Adds the headers of a prepared tree to the cache."""
    folder = _folder(digest, recipe.name)
    kept = Headers(
        folder=folder,
        name=recipe.name,
        digest=digest,
        version=version,
        source=recipe.source.description,
        prepared=cache.utc_now(),
        flags=tuple(_flags(tree)),
    )
    with cache.adding(folder) as partial:
        for part in KEPT:
            shutil.copytree(tree / part, partial / part, symlinks=True)
        (partial / CONTROLS).mkdir(parents=True)
        for file in [*(tree / CONTROLS).glob("tcp_*.[ch]")]:
            shutil.copyfile(file, partial / CONTROLS / file.name)
        written = {**asdict(kept), "folder": None}
        (partial / MANIFEST).write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    return kept


@remembered
def find_headers(name: str = cache.STOCK) -> Headers:
    """The newest headers of the kernel with this name; raises `KernelMissing`."""
    folders = (cache.home() / "headers").glob(f"*-{name}")
    found = [headers for folder in folders if (headers := _found(folder)) is not None]
    if not found:
        how = "tailback kernel headers" + ("" if name == cache.STOCK else f" --source DIR --name {name}")
        raise KernelMissing(
            f"a kernel module is compiled with the headers of a kernel, and there are none of `{name}`\n"
            f"  hint: prepare them, about a minute: {how}"
        )
    return max(found, key=lambda headers: (headers.prepared, headers.digest))


def _folder(digest: str, name: str) -> Path:
    return cache.home() / "headers" / f"{digest}-{name}"


def _found(folder: Path) -> Headers | None:
    try:
        written = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return Headers(**{**written, "folder": folder, "flags": tuple(written["flags"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _flags(tree: Path) -> Iterator[str]:
    """The flags with which the kernel compiled a file of its own, which `make prepare` leaves behind."""
    command = next(iter(sorted(tree.glob("arch/um/kernel/.asm-offsets.s.cmd"))), None)
    text = "" if command is None else command.read_text(encoding="utf-8")
    line = re.search(r"^(?:saved)?cmd_\S+ := gcc (.*)$", text, re.MULTILINE)
    if line is None:
        raise BuildFailed("the build of this tree does not say how it compiles\n  hint: use a tree from 5.10 to 6.12")
    words = iter(shlex.split(line[1]))
    for word in words:
        if word == "-o":
            return
        if not UNSUITABLE.fullmatch(word) or word.startswith("-Wno-"):
            yield word

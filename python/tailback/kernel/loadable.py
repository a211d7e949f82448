"""Builds a congestion control of the user as a module of a kernel (`.ko`), with the makefiles of that kernel.

The user's file is compiled unmodified. `kernel/module/tailback_register.c` is linked with it, so that the control is
registered under a name of ours: its own may be that of a control which the kernel has, and one run may load the same
file several times, with different parameters. The result is cached under the digest of all that it depends on.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tailback.kernel import cache, checkout
from tailback.kernel.build import BUILDER, compiler_name
from tailback.kernel.cache import Kernel
from tailback.kernel.compiler import compiling
from tailback.kernel.headers import CONTROLS, Headers, find_headers_of
from tailback.kernel.messages import ModuleRefused, Source, lacking, refused
from tailback.kernel.scratch import scratch

REGISTER = "tailback_register.c"

MAKEFILE = """\
obj-m := {name}.o
{name}-y := {stem}.o tailback_register.o
tcp_h := $(srctree)/include/net/tcp.h
has = $(shell grep -qsE $(1) $(tcp_h) && echo -DTAILBACK_HAS_$(2))
renamed := -Dtcp_register_congestion_control=tailback_register -Dtcp_unregister_congestion_control=tailback_unregister
CFLAGS_{stem}.o := -g1 -I{controls} $(renamed) -D__DISABLE_EXPORTS
CFLAGS_tailback_register.o := -DTAILBACK_NAME=\\"{name}\\" \\
	$(call has,'cwnd_event_tx_start',CWND_EVENT_TX_START) \\
	$(call has,'cong_control..struct sock .sk. u32',CONG_CONTROL_OF_FOUR)
"""

UNDEFINED = re.compile(r'modpost: "(?P<symbol>\w+)" \[[^]]*\] undefined')


class Target(Protocol):
    """A kernel that modules are built for."""

    @property
    def description(self) -> str:
        """The kernel in messages."""

    @property
    def digest(self) -> str:
        """What a module depends on, beside its source."""

    @property
    def controls(self) -> Path:
        """The folder of the kernel's own controls."""

    def make(self, module: Path, place: Path) -> subprocess.CompletedProcess[str]:
        """Runs the makefiles of the kernel for the files in `module`; `place` is a temporary folder."""


@dataclass(frozen=True)
class Installed:
    """The kernel of this machine, with the headers of its distribution."""

    release: str

    @property
    def folder(self) -> Path:
        """Where it builds modules."""
        return Path(f"/lib/modules/{self.release}/build")

    @property
    def description(self) -> str:
        """The kernel in messages."""
        return f"Linux {self.release} (this machine)"

    @property
    def digest(self) -> str:
        """The release of the running kernel, which identifies its headers."""
        return self.release

    @property
    def controls(self) -> Path:
        """Not there: headers of distributions have no sources."""
        return self.folder / CONTROLS

    def make(self, module: Path, place: Path) -> subprocess.CompletedProcess[str]:
        """Runs the makefiles of the kernel."""
        return _make(self.folder, module, {"TMPDIR": str(place), "LC_ALL": "C"})


@dataclass(frozen=True)
class Tree:
    """A kernel of `--backend uml`, with the headers that were kept with it."""

    headers: Headers
    symbols: Path
    """The list of the symbols that modules may use."""

    @property
    def description(self) -> str:
        """The kernel in messages."""
        return f"Linux {self.headers.version} ({self.headers.name})"

    @property
    def digest(self) -> str:
        """The digest of the kernel whose headers these are."""
        return self.headers.digest

    @property
    def controls(self) -> Path:
        """The folder of the kernel's own controls."""
        return self.headers.controls

    def make(self, module: Path, place: Path) -> subprocess.CompletedProcess[str]:
        """Runs the makefiles of the kernel, in a tree of links to what was kept of it."""
        kernel = place / "kernel"
        kernel.mkdir()
        for entry in self.headers.folder.iterdir():
            (kernel / entry.name).symlink_to(entry)
        (kernel / cache.SYMBOLS).symlink_to(self.symbols)
        return _make(kernel, module, BUILDER)

    @classmethod
    def of(cls, kernel: Kernel) -> Tree:
        """The tree of a kernel in the cache; raises `KernelMissing`."""
        return cls(find_headers_of(kernel.manifest), kernel.symbols)


def files(source: Source, name: str, controls: str) -> Mapping[str, str]:
    """The files from which `make` builds the module `name`; `controls` is the folder of the kernel's own controls."""
    own = f"{source.stem}.c"
    if own == REGISTER:
        raise ModuleRefused(f"`{own}` is the name of a file of tailback\n  hint: rename it")
    return {
        own: source.text,
        REGISTER: (checkout.part("kernel") / "module" / REGISTER).read_text(encoding="utf-8"),
        "Makefile": MAKEFILE.format(name=name, stem=source.stem, controls=controls),
    }


def built(source: Source, name: str, kernel: Target) -> Path:
    """The module `name` from the user's file, for a kernel. Raises `ModuleRefused` with the file and line of what is
    wrong.
    """
    wanted = files(source, name, str(kernel.controls))
    inputs = [(each, text.encode()) for each, text in wanted.items()]
    inputs += [("kernel", kernel.digest.encode()), ("compiler", compiler_name().encode())]
    folder = cache.home() / "modules" / f"{checkout.digest(inputs)[:16]}-{name}"
    if not (folder / f"{name}.ko").is_file():
        with cache.adding(folder) as partial, scratch("tailback-module-build-", folder.parent) as place:
            own = place / "module"
            own.mkdir()
            for each, text in wanted.items():
                (own / each).write_text(text, encoding="utf-8")
            done = kernel.make(own, place)
            if done.returncode or not (own / f"{name}.ko").is_file():
                raise refusal(source, kernel.description, done.stderr)
            shutil.copyfile(own / f"{name}.ko", partial / f"{name}.ko")
    return folder / f"{name}.ko"


def _make(kernel: Path, module: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return compiling(["make", "-C", str(kernel), f"M={module}", "modules"], environment)


def refusal(source: Source, kernel: str, stderr: str) -> ModuleRefused:
    """Why `make` did not build the module."""
    missing = list(dict.fromkeys(found["symbol"] for found in UNDEFINED.finditer(stderr)))
    if missing:
        return lacking(source, missing, f"{kernel} does not offer to modules", "do without it")
    return refused(source, kernel, stderr)

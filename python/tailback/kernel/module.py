"""Compiles a congestion control module of the kernel, or one in BPF, for the simulator.

The user's file is compiled unmodified, with the headers and the flags of a kernel, and linked with
`kernel/module/glue.c`, which is the kernel for it. A BPF program is compiled with the headers in `kernel/module/bpf`,
which stand in for those of libbpf, and linked with what registers it. The result is a shared object that the simulator
loads (`crates/module`). It is cached under the digest of all that it depends on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback.kernel import bpf_program, cache, checkout
from tailback.kernel.compiler import compiling
from tailback.kernel.errors import BuildFailed, KernelMissing
from tailback.kernel.files import text_of
from tailback.kernel.headers import Headers
from tailback.kernel.messages import ModuleRefused, Source, lacking, refused

GLUE = "glue.c"
ABI = "abi.h"
OURS = (GLUE, ABI)
GLUE_OBJECT = "glue.o"

BPF = "tailback_bpf.c"
OPTIONS = "tailback_options.c"
SCRIPT = "struct_ops.lds"
OURS_OF_BPF = (
    *OURS, "vmlinux.h", "bpf_tracing_net.h", "bpf/bpf_helpers.h", "bpf/bpf_tracing.h", "bpf/bpf_core_read.h",
    BPF, OPTIONS, SCRIPT,
)  # fmt: skip
"""The last three: what stands for the loader of a program, its options of sockets, and where the linker lays its
controls."""

FLAGS = ("-fPIC", "-ffreestanding", "-g1", "-D__DISABLE_EXPORTS", "-fno-tree-loop-distribute-patterns")
"""Beside the kernel's: position-independent code, lines for messages, and no loops turned into calls of themselves."""

STRICT = ("-Werror=implicit-function-declaration", "-Werror=implicit-int", "-Werror=incompatible-pointer-types")

LINK = ("-shared", "-nostdlib", "-Wl,--no-undefined", "-Wl,-Bsymbolic", "-Wl,-z,noexecstack")

SHOWN = "{ global: tailback_*; local: *; };\n"
"""The symbols that the simulator sees."""

MAX_ROUNDS = 3
"""How often symbols of other modules are looked for."""

HEADER = Path("include/net/tcp.h")

FEATURES = {
    re.compile(r"\(\*tso_segs\)"): "-DTAILBACK_HAS_TSO_SEGS",
    re.compile(r"\(\*skb_marked_lost\)"): "-DTAILBACK_HAS_SKB_MARKED_LOST",
    re.compile(r"\(\*cwnd_event_tx_start\)"): "-DTAILBACK_HAS_CWND_EVENT_TX_START",
    re.compile(r"\bece_delta;"): "-DTAILBACK_HAS_ECE_DELTA",
    re.compile(r"cong_control\)\(struct sock \*\w+, const struct rate_sample"): "-DTAILBACK_HAS_CONG_CONTROL_OF_TWO",
}
"""What `struct tcp_congestion_ops` of some trees declares in `HEADER`, and how `glue.c` is told of it."""

UNDEFINED = re.compile(r"undefined reference to [`'](?P<symbol>\w+)'")
EXPORTED = re.compile(r"^EXPORT_SYMBOL(?:_GPL)?\((\w+)\);", re.MULTILINE)


def compiled(source: Source, headers: Headers) -> Path:
    """The shared object of a module; raises `ModuleRefused` with the file and line of what is wrong."""
    if shutil.which("gcc") is None:
        raise KernelMissing("missing: gcc, to compile a kernel module\n  hint: apt-get install gcc")
    bpf_program.check(source, text_of(headers.folder / HEADER), headers.version)
    ours = [(name, _our(name).read_bytes()) for name in (OURS_OF_BPF if source.is_bpf else OURS)]
    flags = " ".join((*headers.flags, *FLAGS, *STRICT, *LINK))
    inputs = [("source", source.text.encode()), ("name", source.name.encode()), *ours]
    common = [("headers", headers.digest.encode()), ("flags", flags.encode())]
    folder = cache.home() / "modules" / f"{checkout.digest([*inputs, *common])[:16]}-{source.stem}"
    if not (folder / _library(source)).is_file():
        try:
            glue = _glue(headers, [*ours[: len(OURS)], *common])
            with cache.adding(folder) as partial:
                _Build(source, headers, partial).run(ours, glue)
        except BuildFailed as error:
            raise ModuleRefused(str(error)) from None
    return folder / _library(source)


def _glue(headers: Headers, inputs: Sequence[tuple[str, bytes]]) -> Path:
    """`glue.c`, compiled once for all modules: it takes as long as one of them."""
    folder = cache.home() / "modules" / f"{checkout.digest(inputs)[:16]}-glue"
    if not (folder / GLUE_OBJECT).is_file():
        with cache.adding(folder) as partial:
            _Build(Source(GLUE, dict(inputs)[GLUE].decode()), headers, partial).glue(inputs[: len(OURS)])
    return folder / GLUE_OBJECT


def place(library: Path, offset: str) -> str | None:
    """The file and line of an offset in a shared object; None if it is unknown."""
    if shutil.which("addr2line") is None:
        return None
    command = ["addr2line", "--functions", "--basenames", f"--exe={library}", offset]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    found = re.match(r"(?P<file>[^:?]+):(?P<line>\d+)", lines[1]) if len(lines) > 1 else None
    return None if found is None else f"{found['file']}, line {found['line']}, in {lines[0]}"


def _our(name: str) -> Path:
    """The file of ours with this name, of which some are for BPF programs alone."""
    folder = checkout.part("kernel") / "module"
    return folder / name if name in OURS else folder / "bpf" / name


def _library(source: Source) -> str:
    return f"{source.stem}.so"


@dataclass(frozen=True)
class _Build:
    source: Source
    headers: Headers
    folder: Path

    def glue(self, ours: Sequence[tuple[str, bytes]]) -> None:
        self._write(ours)
        self._object(self.folder / GLUE, *self._features())

    def _write(self, ours: Sequence[tuple[str, bytes]]) -> None:
        for name, content in ours:
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_bytes(content)

    def run(self, ours: Sequence[tuple[str, bytes]], glue: Path) -> None:
        self._write(ours)
        (self.folder / "shown.map").write_text(SHOWN, encoding="utf-8")
        own = self.folder / self.source.name
        if own.name in (*OURS, BPF, OPTIONS, "shown.map"):
            raise ModuleRefused(f"`{own.name}` is the name of a file of tailback\n  hint: rename it")
        own.write_text(self.source.text, encoding="utf-8")
        mine = [f"-DTAILBACK_OWN_{name}" for name in bpf_program.own_functions(self.source.text)]
        objects = [self._object(own, "-DMODULE", "-I.", f"-I{self.headers.controls}", *mine), glue]
        if self.source.is_bpf:
            objects.append(self._object(self.folder / BPF))
        if bpf_program.has_options(self.source):
            objects.append(self._object(self.folder / OPTIONS))
        for _ in range(MAX_ROUNDS):
            errors = self._linked(objects)
            missing = list(dict.fromkeys(found["symbol"] for found in UNDEFINED.finditer(errors)))
            if not errors:
                return
            others = self._providers(missing)
            if not others:
                raise self._lacking(missing, errors)
            objects += [self._object(other, f"-I{self.headers.controls}") for other in others]
        raise self._lacking(missing, errors)

    def _object(self, file: Path, *more: str) -> Path:
        stem = re.sub(r"\W", "_", file.stem)
        made = self.folder / f"{stem}.o"
        names = [f'-D{key}="{stem}"' for key in ("KBUILD_MODNAME", "KBUILD_BASENAME", "KBUILD_MODFILE")]
        flags = (_placed(flag, self.headers.folder) for flag in self.headers.flags)
        what = file.name if file.parent == self.folder else str(file)
        command = ["gcc", *flags, *names, f"-D__KBUILD_MODNAME=kmod_{stem}", *FLAGS, *STRICT, *more]
        done = self._gcc([*command, "-c", what, "-o", str(made)])
        if done.returncode:
            raise refused(self.source, f"Linux {self.headers.version} ({self.headers.name})", done.stderr)
        return made

    def _features(self) -> list[str]:
        declared = text_of(self.headers.folder / HEADER)
        return [flag for pattern, flag in FEATURES.items() if pattern.search(declared)]

    def _gcc(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return compiling(command, {"LC_ALL": "C"}, self.folder)

    def _linked(self, objects: Sequence[Path]) -> str:
        more = [f"-Wl,-T,{SCRIPT}"] if self.source.is_bpf else []
        command = ["gcc", *LINK, *more, "-Wl,--version-script=shown.map", "-o", _library(self.source)]
        done = self._gcc([*command, *map(str, objects)])
        return done.stderr if done.returncode else ""

    def _providers(self, missing: Sequence[str]) -> list[Path]:
        """The kernel's own modules that export missing symbols, as `tcp_vegas.c` does for YeAH."""
        wanted = set(missing)
        files = sorted(self.headers.controls.glob("tcp_*.c"))
        return [file for file in files if wanted & set(EXPORTED.findall(text_of(file)))]

    def _lacking(self, missing: Sequence[str], errors: str) -> ModuleRefused:
        if not missing:
            return ModuleRefused(f"`{self.source.name}` cannot be linked: {errors.strip()[-500:]}")
        more = "" if self.source.is_bpf else ", or add it to kernel/module/glue.c"
        hint = f"do without it{more}"
        return lacking(self.source, missing, "the simulator does not have of a kernel", hint)


def _placed(flag: str, folder: Path) -> str:
    """A flag of the kernel's build, whose paths are relative to its tree."""
    if flag.startswith("-I./"):
        return f"-I{folder}/{flag[4:]}"
    return f"{folder}/{flag[2:]}" if flag.startswith("./") else flag


def private_copy(library: Path, folder: Path) -> Path:
    """A copy of a shared object, which is loaded with variables of its own."""
    handle, name = tempfile.mkstemp(prefix=f"{library.stem}-", suffix=".so", dir=folder)
    os.close(handle)
    shutil.copyfile(library, name)
    return Path(name)

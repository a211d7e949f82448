"""Compiles a congestion control module of the kernel for the simulator.

The user's file is compiled unmodified, with the headers and the flags of a kernel, and linked with
`kernel/module/glue.c`, which is the kernel for it. The result is a shared object that the simulator loads
(`crates/module`). It is cached under the digest of all that it depends on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback.kernel import cache, checkout
from tailback.kernel.errors import BuildFailed, KernelMissing
from tailback.kernel.headers import Headers

GLUE = "glue.c"
ABI = "abi.h"
OURS = (GLUE, ABI)

FLAGS = ("-fPIC", "-ffreestanding", "-g1", "-D__DISABLE_EXPORTS", "-fno-tree-loop-distribute-patterns")
"""Beside the kernel's: position-independent code, lines for messages, and no loops turned into calls of themselves."""

STRICT = ("-Werror=implicit-function-declaration", "-Werror=implicit-int", "-Werror=incompatible-pointer-types")

LINK = ("-shared", "-nostdlib", "-Wl,--no-undefined", "-Wl,-Bsymbolic", "-Wl,-z,noexecstack")

SHOWN = "{ global: tailback_*; local: *; };\n"
"""The symbols that the simulator sees."""

MAX_LINES = 12
"""Maximum number of messages of the compiler that are shown."""

MAX_ROUNDS = 3
"""How often symbols of other modules are looked for."""

MESSAGE = re.compile(r"(?P<file>[^:\s]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<what>.*)")
UNDEFINED = re.compile(r"undefined reference to [`'](?P<symbol>\w+)'")
EXPORTED = re.compile(r"^EXPORT_SYMBOL(?:_GPL)?\((\w+)\);", re.MULTILINE)
IMPLICIT = re.compile(r"implicit declaration of function .(\w+).")


class ModuleRefused(Exception):
    """A module cannot be compiled or used; the message says why and where."""


@dataclass(frozen=True)
class Source:
    """A module's source, with the name of its file."""

    name: str
    text: str

    @property
    def stem(self) -> str:
        """The name of the module, as the kernel's build makes it."""
        return re.sub(r"\W", "_", Path(self.name).stem)


def compiled(source: Source, headers: Headers) -> Path:
    """The shared object of a module; raises `ModuleRefused` with the file and line of what is wrong."""
    if shutil.which("gcc") is None:
        raise KernelMissing("missing: gcc, to compile a kernel module\n  hint: apt-get install gcc")
    ours = [(name, (checkout.part("kernel") / "module" / name).read_bytes()) for name in OURS]
    flags = " ".join((*headers.flags, *FLAGS, *STRICT, *LINK))
    inputs = [("source", source.text.encode()), ("name", source.name.encode()), *ours]
    digest = checkout.digest([*inputs, ("headers", headers.digest.encode()), ("flags", flags.encode())])
    folder = cache.home() / "modules" / f"{digest[:16]}-{source.stem}"
    if not (folder / _library(source)).is_file():
        try:
            with cache.adding(folder) as partial:
                _Build(source, headers, partial).run(ours)
        except BuildFailed as error:
            raise ModuleRefused(str(error)) from None
    return folder / _library(source)


def place(library: Path, offset: str) -> str | None:
    """The file and line of an offset in a shared object; None if it is unknown."""
    if shutil.which("addr2line") is None:
        return None
    command = ["addr2line", "--functions", "--basenames", f"--exe={library}", offset]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    found = re.match(r"(?P<file>[^:?]+):(?P<line>\d+)", lines[1]) if len(lines) > 1 else None
    return None if found is None else f"{found['file']}, line {found['line']}, in {lines[0]}"


def _library(source: Source) -> str:
    return f"{source.stem}.so"


@dataclass(frozen=True)
class _Build:
    source: Source
    headers: Headers
    folder: Path

    def run(self, ours: Sequence[tuple[str, bytes]]) -> None:
        for name, content in ours:
            (self.folder / name).write_bytes(content)
        (self.folder / "shown.map").write_text(SHOWN, encoding="utf-8")
        own = self.folder / self.source.name
        if own.name in (*OURS, "shown.map"):
            raise ModuleRefused(f"`{own.name}` is the name of a file of tailback\n  hint: rename it")
        own.write_text(self.source.text, encoding="utf-8")
        objects = [self._object(own, "-DMODULE", f"-I{self.headers.controls}")]
        objects.append(self._object(self.folder / GLUE))
        for _ in range(MAX_ROUNDS):
            errors = self._linked(objects)
            missing = list(dict.fromkeys(found["symbol"] for found in UNDEFINED.finditer(errors)))
            if not errors:
                return
            others = self._providers(missing)
            if not others:
                raise ModuleRefused(self._lacking(missing, errors))
            objects += [self._object(other, f"-I{self.headers.controls}") for other in others]
        raise ModuleRefused(self._lacking(missing, errors))

    def _object(self, file: Path, *more: str) -> Path:
        stem = re.sub(r"\W", "_", file.stem)
        made = self.folder / f"{stem}.o"
        names = [f'-D{key}="{stem}"' for key in ("KBUILD_MODNAME", "KBUILD_BASENAME", "KBUILD_MODFILE")]
        flags = (_placed(flag, self.headers.folder) for flag in self.headers.flags)
        what = file.name if file.parent == self.folder else str(file)
        command = ["gcc", *flags, *names, f"-D__KBUILD_MODNAME=kmod_{stem}", *FLAGS, *STRICT, *more]
        done = self._gcc([*command, "-c", what, "-o", str(made)])
        if done.returncode:
            raise ModuleRefused(self._refusal(done.stderr))
        return made

    def _gcc(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LC_ALL": "C"}
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, errors="replace"
        )

    def _linked(self, objects: Sequence[Path]) -> str:
        command = ["gcc", *LINK, "-Wl,--version-script=shown.map", "-o", _library(self.source)]
        done = self._gcc([*command, *(made.name for made in objects)])
        return done.stderr if done.returncode else ""

    def _providers(self, missing: Sequence[str]) -> list[Path]:
        """The kernel's own modules that export missing symbols, as `tcp_vegas.c` does for YeAH."""
        wanted = set(missing)
        files = sorted(self.headers.controls.glob("tcp_*.c"))
        return [file for file in files if wanted & set(EXPORTED.findall(file.read_text(encoding="utf-8")))]

    def _refusal(self, stderr: str) -> str:
        found = [self._message(match) for match in MESSAGE.finditer(stderr)] or [stderr.strip()[-500:]]
        lines = list(dict.fromkeys(found))[:MAX_LINES]
        where = f"Linux {self.headers.version} ({self.headers.name})"
        hint = f"correct {self.source.name}, or compile it with the headers of the kernel that it is for: kernel: NAME"
        return "\n".join(
            [f"`{self.source.name}` does not compile with the headers of {where}:", *lines, f"  hint: {hint}"]
        )

    def _message(self, match: re.Match[str]) -> str:
        what = IMPLICIT.sub(r"this kernel declares no function `\1`", match["what"])
        return f"  {Path(match['file']).name}, line {match['line']}: {re.sub(r' ?.-W[^]]*]', '', what)}"

    def _lacking(self, missing: Sequence[str], errors: str) -> str:
        if not missing:
            return f"`{self.source.name}` cannot be linked: {errors.strip()[-500:]}"
        lines = [f"  {self.source.name}, {line}: it needs `{symbol}`" for symbol, line in self._uses(missing)]
        hint = "do without it, or add it to kernel/module/glue.c"
        first = f"`{self.source.name}` needs what the simulator does not have of a kernel:"
        return "\n".join([first, *lines[:MAX_LINES], f"  hint: {hint}"])

    def _uses(self, symbols: Sequence[str]) -> Iterator[tuple[str, str]]:
        text = self.source.text.splitlines()
        for symbol in symbols:
            word = re.compile(rf"\b{symbol}\b")
            line = next((number for number, line in enumerate(text, 1) if word.search(line)), None)
            yield symbol, "in a header" if line is None else f"line {line}"


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

"""The BPF programs of the user (`cc: {bpf: mine.bpf.c}`) in the kernel of this machine: compiled by clang with the
types of this kernel, registered for one run by `bpftool`, and unregistered after it.

As with modules, root has to ask for it, and if the process is killed, a control remains that nobody uses. The kernel
checks each program before it runs, so that one that it accepts cannot crash the machine.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tailback.backends.backend import RunFailed, Unsuitable
from tailback.backends.linux import process
from tailback.backends.linux.own_modules import name_in_bpf
from tailback.backends.linux.suitable import Finding
from tailback.backends.netns.probe import VIRTUAL_TIME
from tailback.kernel import cache
from tailback.kernel.checkout import digest
from tailback.kernel.compiler import compiling
from tailback.kernel.errors import CacheUnwritable, KernelMissing
from tailback.kernel.messages import ModuleRefused, Source, refused
from tailback.resolved import ControlSource, Scenario

TYPES = Path("/sys/kernel/btf/vmlinux")
"""The types of this kernel, if it was built with them (CONFIG_DEBUG_INFO_BTF)."""

TOOLS = {"clang": "clang", "bpftool": "bpftool"}
"""Required programs, with their Debian packages."""

HEADER = Path("/usr/include/bpf/bpf_helpers.h")
"""Of libbpf-dev."""

FLAGS = ("-g", "-O2", "-target", "bpf", "-mcpu=v3", "-D__TARGET_ARCH_x86", "-Werror=implicit-function-declaration")

SIMULATOR = "run it on the simulator, --backend sim"

PLACES = "/usr/sbin:/sbin"
"""Where programs of root are, beside those of PATH."""

SHOWN = 12
"""Lines of the end of what `bpftool` prints: those before are the kernel's walk through the program."""


def findings(scenario: Scenario) -> Iterator[Finding]:
    """Why this machine cannot run the BPF programs of a scenario."""
    for source in _sources(scenario):
        name = source.name
        missing = [package for program, package in TOOLS.items() if _tool(program) is None]
        missing += [] if HEADER.is_file() else ["libbpf-dev"]
        if os.geteuid() != 0:
            what = f"`{name}` has to be loaded into the kernel of this machine, which only root may do"
            yield what, f"run it as root (sudo), or {SIMULATOR}"
        if not TYPES.is_file():
            what = f"`{name}` is a BPF program, which needs the types of this kernel (CONFIG_DEBUG_INFO_BTF)"
            yield what, f"boot a kernel that has {TYPES}, or {SIMULATOR}"
        if missing:
            names = " ".join(missing)
            yield f"`{name}` is a BPF program; to load it, this machine lacks {names}", f"apt-get install {names}"
        if name_in_bpf(source.text) is None:
            hint = 'write it into its struct tcp_congestion_ops, as text: .name = "mine"'
            yield f"`{name}` names no congestion control", hint


def compiled(scenario: Scenario) -> Mapping[str, Path]:
    """The BPF programs of a scenario by the names of their controls, compiled; raises `Unsuitable`."""
    try:
        return {str(name_in_bpf(each.text)): _compiled(Source(each.name, each.text)) for each in _sources(scenario)}
    except (ModuleRefused, KernelMissing, CacheUnwritable) as error:
        raise Unsuitable(f"the congestion control cannot be compiled: {error}") from error


@contextmanager
def registered(programs: Mapping[str, Path]) -> Iterator[None]:
    """Registers BPF programs with the kernel during the block; raises `RunFailed` if it refuses one."""
    with ExitStack() as stack:
        for name, file in programs.items():
            before = _numbers()
            done = _run("struct_ops", "register", str(file))
            for number in sorted(_numbers() - before):
                stack.callback(_run, "struct_ops", "unregister", "id", str(number))
            if done.returncode or name not in _available():
                raise RunFailed(_refusal(name, done.stdout + done.stderr))
        yield


def _refusal(name: str, printed: str) -> str:
    if name in _available():
        hint = "a run that was killed left it: bpftool struct_ops show; bpftool struct_ops unregister id NUMBER"
        return f"this kernel has a congestion control `{name}` already\n  hint: {hint}"
    said = process.shown("\n".join(printed.strip().splitlines()[-SHOWN:]))
    hint = f"change the program so that the kernel accepts it, or {SIMULATOR}"
    return f"the kernel refuses the BPF program of `{name}`:\n{said}\n  hint: {hint}"


def _sources(scenario: Scenario) -> Sequence[ControlSource]:
    return [source for source in scenario.controls if source.language == "bpf"]


def _compiled(source: Source) -> Path:
    clang = _tool("clang")
    if clang is None:
        raise KernelMissing(f"missing: clang\n  hint: apt-get install clang, or {VIRTUAL_TIME}")
    version = subprocess.run([clang, "--version"], capture_output=True, check=False).stdout
    inputs = [("source", source.text.encode()), ("types", TYPES.read_bytes()), ("compiler", version)]
    inputs.append(("flags", " ".join(FLAGS).encode()))
    folder = cache.home() / "modules" / f"{digest(inputs)[:16]}-{source.stem}"
    if not (folder / f"{source.stem}.o").is_file():
        with cache.adding(folder) as partial:
            _compile(source, clang, partial)
    return folder / f"{source.stem}.o"


def _compile(source: Source, clang: str, folder: Path) -> None:
    types = _run("btf", "dump", "file", str(TYPES), "format", "c")
    if types.returncode:
        raise ModuleRefused(f"the types of this kernel cannot be read: {types.stderr.strip()}")
    (folder / "vmlinux.h").write_text(types.stdout, encoding="utf-8")
    (folder / source.name).write_text(source.text, encoding="utf-8")
    command = [clang, *FLAGS, "-I.", "-c", source.name, "-o", f"{source.stem}.o"]
    done = compiling(command, {"LC_ALL": "C"}, folder)
    (folder / "vmlinux.h").unlink()
    if done.returncode:
        raise refused(source, f"Linux {platform.release()} (this machine)", done.stderr)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(_tool("bpftool")), *words], capture_output=True, text=True, check=False)


def _numbers() -> set[int]:
    """The numbers of what is registered."""
    done = _run("--json", "struct_ops", "show")
    return {int(entry["id"]) for entry in json.loads(done.stdout or "[]")} if done.returncode == 0 else set()


def _available() -> Sequence[str]:
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()


def _tool(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path=PLACES)

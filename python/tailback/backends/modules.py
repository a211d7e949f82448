"""Runs with kernel modules (`cc: {module: tcp_mine.c}`), BPF programs (`cc: {bpf: mine.bpf.c}`) or endpoints of the
user (`endpoint: ./libmine.so`): each in a process of its own, because foreign code may crash.

The process is `python -m tailback.backends.module_process FOLDER`. Its task, its progress and its result are files in
`FOLDER`.
"""

from __future__ import annotations

import json
import mmap
import os
import pickle
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tailback import _core
from tailback.backends.backend import KERNEL_WARNINGS, RunCancelled, RunFailed, Unsuitable
from tailback.backends.linux.own_modules import files_of, of_manifest
from tailback.kernel.cache import STOCK
from tailback.kernel.errors import BuildFailed, CacheUnwritable, KernelMissing
from tailback.kernel.headers import Headers, find_headers
from tailback.kernel.messages import ModuleRefused, Source
from tailback.kernel.module import compiled, place
from tailback.kernel.scratch import scratch
from tailback.resolved import Scenario

LANGUAGES = ("c", "bpf")

PROGRAM = "tailback.backends.module_process"
TASK, RESULT, PROGRESS = "task.json", "result.pickle", "progress"
PREFIX = "tailback-module-"
"""Of the temporary folder of each process; those of killed ones are removed by the next."""

__all__ = ["check", "files_of", "modules", "run", "summary"]

MARK = "tailback-module-failed"
CRASHED = 86
"""The status of a process that reported the crash of a module (`crates/module/src/crash.rs`)."""

ENDPOINT = "\ttailback_endpoint_"
"""In the report of a crash: how the functions of a library begin."""

ABORTED = "it called abort()"
"""Whoever does says why before."""

WARNING = "warning at "
"""How the glue begins what a kernel warns of (`kernel/module/glue.c`)."""

POLL_S = 0.05


@dataclass(frozen=True)
class Module:
    """A compiled module, and the source that it was made from."""

    name: str
    library: Path
    headers: Headers

    def described(self) -> Mapping[str, str]:
        """What the manifest of a run says of it."""
        return {"headers": f"Linux {self.headers.version}, {self.headers.source}", "digest": self.headers.digest}


def modules(scenario: Scenario) -> dict[str, Module]:
    """The modules of a scenario by their names, compiled; raises `Unsuitable` if one cannot be."""
    sources = [source for source in scenario.controls if source.language in LANGUAGES]
    if not sources:
        return {}
    try:
        headers = find_headers(scenario.kernel or STOCK)
        made = {each.name: compiled(Source(each.name, each.text), headers) for each in sources}
    except (ModuleRefused, KernelMissing, BuildFailed, CacheUnwritable) as error:
        raise Unsuitable(f"the congestion control cannot be compiled: {error}") from error
    return {name: Module(name, library, headers) for name, library in made.items()}


def words_of(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Module parameters as `insmod` takes them."""
    return [(name, str(int(value)) if isinstance(value, bool) else str(value)) for name, value in parameters.items()]


def check(scenario: Scenario, found: Mapping[str, Module]) -> None:
    """Loads each module once with each set of its parameters, in another process; raises `Unsuitable`."""
    for flow in scenario.tcp:
        module = found.get(flow.cc.name)
        if module is not None:
            problem = _problem(module.library, tuple(words_of(flow.cc.parameters or {})))
            if problem is not None:
                raise Unsuitable(f"`{module.name}` cannot be used: {problem}\n  hint: correct {module.name}")


@cache
def _problem(library: Path, parameters: tuple[tuple[str, str], ...]) -> str | None:
    """Why a module with these parameters cannot be used."""
    with scratch(PREFIX, Path(tempfile.gettempdir())) as folder:
        task = {"kind": "try", "library": str(library), "parameters": parameters}
        (folder / TASK).write_text(json.dumps(task), encoding="utf-8")
        process = _started(folder)
        _, stderr = process.communicate()
        return None if _outcome(process.returncode, stderr, folder, "try").get("ok") else _reason(folder, stderr)


def run(task: Mapping[str, Any], progress: _core.Progress, found: Mapping[str, Module]) -> dict[str, Any]:
    """Runs a scenario in a process of its own; returns what `_core.run` does."""
    with scratch(PREFIX, Path(tempfile.gettempdir())) as folder:
        libraries = {module.name: str(module.library) for module in found.values()}
        whole = {"kind": "run", "libraries": libraries, "memory_limit": progress.memory_limit, **task}
        (folder / TASK).write_text(json.dumps(whole), encoding="utf-8")
        with (folder / PROGRESS).open("w+b") as file:
            file.write(bytes(8))
            file.flush()
            with mmap.mmap(file.fileno(), 8) as shared:
                process = _started(folder)
                stderr = _watched(process, progress, shared)
        outcome = _outcome(process.returncode, stderr, folder, "run")
    if "error" in outcome:
        kinds = {"memory": MemoryError, "value": ValueError, "runtime": RuntimeError, "cancelled": RunCancelled}
        raise kinds[outcome["error"]](outcome["message"])
    progress.fraction = 1.0
    result: dict[str, Any] = outcome["result"]
    return result


def _started(folder: Path) -> subprocess.Popen[str]:
    package = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-m", PROGRAM, str(folder)],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def _watched(process: subprocess.Popen[str], progress: _core.Progress, shared: mmap.mmap) -> str:
    """Waits for a process, and ends it if the run is cancelled; returns its messages."""
    try:
        while True:
            try:
                return process.communicate(timeout=POLL_S)[1]
            except subprocess.TimeoutExpired:
                progress.fraction = struct.unpack("d", shared[:8])[0]
                if progress.cancelled:
                    raise RunCancelled("the run was cancelled") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _outcome(status: int, stderr: str, folder: Path, task: Literal["run", "try"]) -> dict[str, Any]:
    if status == 0:
        outcome: dict[str, Any] = pickle.loads((folder / RESULT).read_bytes())
        return outcome
    if task == "try":
        return {}
    what = "the endpoint" if ENDPOINT in stderr else "the congestion control"
    raise RunFailed(f"{what} failed: {_crash(stderr, status)}")


def _reason(folder: Path, stderr: str) -> str:
    file = folder / RESULT
    if file.is_file():
        return str(pickle.loads(file.read_bytes())["message"])
    return _crash(stderr, 0)


def _crash(stderr: str, status: int) -> str:
    """What ended a process: the reason, the call, the time and the line of the user."""
    line = next((line for line in stderr.splitlines() if line.startswith(MARK)), None)
    if line is None:
        return f"its process ended with {status}: {stderr.strip()[-500:]}"
    _, what, member, now, path, offset = line.split("\t")
    name = Path(path).name
    where = place(Path(path), offset) if path else None
    if what == ABORTED:
        what = f"{what} ({said})" if (said := stderr[: stderr.index(MARK)].strip()[-500:]) else what
    call = f" in its call `{member}`" if member else ""
    told = f"{what},{call} at {int(now) / 1e9:.6f} s"
    return f"{where or name}: {told}" if where or name else told


def summary(found: Mapping[str, Module], log: Sequence[str]) -> dict[str, Any]:
    """What the manifest says of the modules of a run, what they printed, and what a kernel would have warned of."""
    entries: dict[str, Any] = {"modules": {name: dict(module.described()) for name, module in found.items()}}
    wrong = list(dict.fromkeys(_short(line) for line in log if line.startswith(WARNING)))
    told = {KERNEL_WARNINGS: wrong} if wrong else {}
    return {**entries, **({"module_log": of_manifest(log)} if log else {}), **told}


def _short(warning: str) -> str:
    """A warning without the folder of the file that it is about."""
    return WARNING + warning.removeprefix(WARNING).rpartition("/")[2]

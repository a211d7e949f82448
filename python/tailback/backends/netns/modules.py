"""The kernel modules of the user (`cc: {module: tcp_mine.c}`) in the kernel of this machine: built with its headers,
loaded by the agent for one run, and unloaded after it.

This is the one thing that a run changes outside of its namespaces, so root has to ask for it. If the process is killed,
a module remains that nobody uses; the next run with a module unloads it.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tailback.backends.backend import RunFailed, Unsuitable
from tailback.backends.linux.own_modules import PREFIX, own_modules
from tailback.backends.linux.suitable import Finding
from tailback.backends.netns.probe import VIRTUAL_TIME
from tailback.kernel.errors import CacheUnwritable, KernelMissing
from tailback.kernel.loadable import Installed, built
from tailback.kernel.messages import ModuleRefused
from tailback.resolved import Scenario

LOADED = Path("/proc/modules")
OURS = re.compile(rf"^({PREFIX}\d+_\w+) \d+ 0 ", re.MULTILINE)
"""A module of ours that nobody uses: its name, its size, the number of its users. [proc_modules(5)]"""

UNLOAD_S = 20.0
"""How long a module may remain in use by sockets that are closing."""
LOOK_S = 0.2


def findings(scenario: Scenario) -> Iterator[Finding]:
    """Why this machine cannot load the modules of a scenario."""
    for own in own_modules(scenario)[:1]:
        name, release = own.source.name, platform.release()
        if not LOADED.exists():
            yield f"`{name}` is a module, and this kernel loads none (CONFIG_MODULES)", VIRTUAL_TIME
        elif os.geteuid() != 0:
            what = f"`{name}` has to be loaded into the kernel of this machine, which only root may do"
            yield what, f"run it as root (sudo), or {VIRTUAL_TIME}"
        elif not Installed(release).folder.is_dir():
            what = f"`{name}` is built with the headers of this kernel, which are not there"
            yield what, f"apt-get install linux-headers-{release}, or {VIRTUAL_TIME}"


def built_modules(scenario: Scenario) -> Mapping[str, Path]:
    """The modules of a scenario by their names, built for this kernel; raises `Unsuitable` if one cannot be."""
    tree = Installed(platform.release())
    try:
        return {own.name: built(own.source, own.name, tree) for own in own_modules(scenario)}
    except (ModuleRefused, KernelMissing, CacheUnwritable) as error:
        raise Unsuitable(f"the congestion control cannot be built for this kernel: {error}") from error


ONE = threading.Lock()
"""Held by a run with modules: those of another would have the same names."""


@contextmanager
def unloaded(modules: Mapping[str, Path], folder: Path) -> Iterator[None]:
    """Puts modules into the folder of a run, whose agent loads them; unloads them after the block."""
    if not modules:
        yield
        return
    with ONE:
        for left in OURS.findall(LOADED.read_text(encoding="ascii")):
            _unload(left)
        for file in modules.values():
            shutil.copyfile(file, folder / file.name)
        try:
            yield
        finally:
            for name in modules:
                _unload(name)


def _unload(name: str) -> None:
    """Unloads a module as soon as no socket uses it; raises `RunFailed` if it remains."""
    end = time.monotonic() + UNLOAD_S
    while (message := _refusal(name)) is not None:
        if time.monotonic() > end:
            raise RunFailed(f"the module {name} is still loaded: {message}\n  hint: unload it: rmmod {name}")
        time.sleep(LOOK_S)


def _refusal(name: str) -> str | None:
    """Why a module cannot be unloaded now; `None` if it is not loaded any more."""
    if not re.search(rf"^{name} ", LOADED.read_text(encoding="ascii"), re.MULTILINE):
        return None
    done = subprocess.run(["rmmod", name], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None

"""What `tailback --version --verbose` prints: all that a report of a fault should say of the installation."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from tailback.limits import FileRefused, read_bounded

PROGRAMS = {"tc": ("tc", "-V"), "git": ("git", "--version"), "ssh": ("ssh", "-V")}
"""Programs that backends call, and how each prints its version."""


def lines() -> Iterator[str]:
    """The version, and below it those of all that Tailback stands on here."""
    yield f"tailback {version('tailback')}"
    yield f"python: {platform.python_version()} ({platform.python_implementation()})"
    yield f"libraries: {', '.join(_libraries())}"
    yield f"system: {platform.platform()}"
    yield f"processor: {_processor()}, {os.cpu_count()} cores"
    yield f"kernels for uml: {', '.join(_kernels()) or 'none; tailback kernel build makes one'}"
    for name, words in PROGRAMS.items():
        answer = _answer(words)
        yield answer if answer.startswith(name) else f"{name}: {answer}"
    yield f"root: {'yes' if os.geteuid() == 0 else 'no'}"


def _libraries() -> list[str]:
    found = []
    for requirement in (each for each in requires("tailback") or () if "extra ==" not in each):
        name = re.split(r"[ <>=!~;\[(]", requirement, maxsplit=1)[0]
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return list(dict.fromkeys(found))


def _processor() -> str:
    try:
        text = read_bounded(Path("/proc/cpuinfo"), 10_000_000).decode("utf-8", "replace")
    except (OSError, FileRefused):
        return platform.processor() or platform.machine()
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return model[1] if model else platform.machine()


def _kernels() -> list[str]:
    from tailback.kernel import kernels

    return [f"{each.manifest.name} {each.manifest.version} ({each.manifest.digest[:8]})" for each in kernels()]


def _answer(words: tuple[str, ...]) -> str:
    if shutil.which(words[0]) is None:
        return "not installed"
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    return (done.stdout or done.stderr).strip().partition("\n")[0]

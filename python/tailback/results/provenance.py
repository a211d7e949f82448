"""Facts about a run that do not affect its tables: versions, host, kernel, time."""

import datetime
import functools
import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tailback import _core

PACKAGE = Path(__file__).parents[1]

ANALYSIS = ("analysis", "resolved", "qdiscs", "scenario/traffic", "sweep/work.py")
"""The parts of the package that make a summary from the tables of a run."""

AFTERWARDS = (
    "conditions", "differences", "distances", "divergence", "effects", "equivalence", "identical", "matrix", "parts",
    "resampling", "rows", "sensitivity", "sentences", "tolerances", "tradeoffs",
)  # fmt: skip
"""The modules of `analysis` that read summaries and have no part in them: another sentence under a table is no other
number in it.
"""

LIBRARIES = ("pandas", "numpy")
"""Libraries that may have a part in results; those that are not loaded have none."""


def tailback_version() -> str:
    """The version of the package, which is that of its extension: to ask the installer's records takes milliseconds."""
    return _core.version()


@functools.cache
def package_digest() -> str:
    """Digest of all Python sources of the package, to recognise installations with the same analysis."""
    return _digest(PACKAGE.rglob("*.py"))


@functools.cache
def analysis_digest() -> str:
    """Digest of the sources that make a summary, to recognise summaries of another version of the analysis."""
    parts = [PACKAGE / part for part in ANALYSIS]
    later = {PACKAGE / "analysis" / f"{name}.py" for name in AFTERWARDS}
    files = (file for part in parts for file in ([part] if part.is_file() else part.rglob("*.py")))
    return _digest(file for file in files if file not in later)


def _digest(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for file in sorted(files):
        content = file.read_bytes()
        found.update(f"{file.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def versions() -> dict[str, str]:
    """The versions of the programs and libraries that wrote the results."""
    loaded = {name: str(sys.modules[name].__version__) for name in LIBRARIES if name in sys.modules}
    return {"tailback": tailback_version(), "python": platform.python_version(), **loaded}


@functools.cache
def host() -> Mapping[str, Any]:
    """This machine, which is asked once: it takes a twentieth of a millisecond."""
    return {"name": platform.node(), "machine": platform.machine(), "cpus": os.cpu_count()}


def kernel() -> str:
    """Name and release of the operating system's kernel, such as `Linux 6.12.9`."""
    return f"{platform.system()} {platform.release()}"


def utc_now() -> str:
    """The current time in the form `2026-11-21T01:17:17Z`."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

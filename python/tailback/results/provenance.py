"""The circumstances of a run that its tables do not depend on: versions, host, kernel, time."""

import datetime
import os
import platform
from importlib.metadata import version
from typing import Any


def tailback_version() -> str:
    """The version of the installed package."""
    return version("tailback")


def versions() -> dict[str, str]:
    """Of what took part in writing the results."""
    return {
        "tailback": tailback_version(),
        "python": platform.python_version(),
        "pyarrow": version("pyarrow"),
        "pandas": version("pandas"),
        "numpy": version("numpy"),
    }


def host() -> dict[str, Any]:
    """The machine it ran on."""
    return {"name": platform.node(), "machine": platform.machine(), "cpus": os.cpu_count()}


def kernel() -> str:
    """`Linux 6.12.9`: name and release of the operating system's kernel."""
    return f"{platform.system()} {platform.release()}"


def utc_now() -> str:
    """`2026-11-21T01:17:17Z`."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

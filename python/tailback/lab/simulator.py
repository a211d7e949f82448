"""The simulator as a module for WebAssembly, which a saved page carries to simulate by itself (crates/browser).

A wheel has it beside this file. A clone builds it when one is wanted (scripts/core.sh).
"""

from __future__ import annotations

import base64
import gzip
import subprocess
from functools import cache
from pathlib import Path

CARRIED = Path(__file__).with_name("simulator.wasm")
"""Where a wheel has it (crates/python/build.rs)."""

ROOT = Path(__file__).resolve().parents[3]

LEFT_OUT = 3
"""The exit status of the script where the Rust target for WebAssembly cannot be had."""


class NoSimulator(Exception):
    """This installation has none; the message says why."""


@cache
def letters() -> str:
    """The module as a page carries it: compressed, in base64."""
    return base64.b64encode(gzip.compress(content(), mtime=0)).decode()


def content() -> bytes:
    """The module; raises `NoSimulator`."""
    if CARRIED.is_file():
        return CARRIED.read_bytes()
    script = ROOT / "scripts" / "core.sh"
    if not script.is_file():
        raise NoSimulator("this installation came without the simulator for pages: install a wheel")
    built = subprocess.run([script, str(LEFT_OUT)], cwd=ROOT, capture_output=True, text=True, check=False)
    if built.returncode:
        told = built.stderr.strip().splitlines() or ["it cannot be built"]
        raise NoSimulator(f"the simulator for pages has not been built: {told[-1]}")
    return Path(built.stdout.strip()).read_bytes()

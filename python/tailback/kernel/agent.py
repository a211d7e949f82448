"""The agent (`crates/agent`), a static program. A clone builds it and caches it by the digest of its sources; a wheel
contains it.
"""

import logging
import os
import shutil
import subprocess
from pathlib import Path

from tailback.kernel import cache, checkout
from tailback.kernel.errors import BuildFailed, KernelMissing

_LOG = logging.getLogger(__name__)
"""Without a handler, warnings go to stderr."""

NAME = "tailback-agent"
TARGET = "x86_64-unknown-linux-gnu"


def find_agent() -> Path:
    """The path of the agent; raises `KernelMissing` if it has not been built."""
    if not checkout.is_clone():
        return _carried()
    program = _folder() / NAME
    if not program.is_file():
        raise KernelMissing(
            "the agent that runs inside the kernel has not been built\n  hint: build it: tailback kernel build"
        )
    return program


def build_agent() -> Path:
    """The path of the agent, which is built if it is missing."""
    if not checkout.is_clone():
        return _carried()
    folder = _folder()
    if not (folder / NAME).is_file():
        if shutil.which("cargo") is None:
            raise KernelMissing("missing: cargo, to build the agent\n  hint: install Rust: https://rustup.rs")
        with cache.adding(folder) as partial:
            shutil.copy2(_built(), partial / NAME)
    return folder / NAME


def _carried() -> Path:
    program = checkout.CARRIED / NAME
    if not program.is_file():
        hint = "build the wheel on Linux on x86_64, or run in a clone of the repository"
        raise KernelMissing(f"this installation of tailback came without its agent (`{program}`)\n  hint: {hint}")
    return program


def _folder() -> Path:
    """The cache folder for the agent of these sources."""
    roots = [checkout.part(f"crates/{crate}") for crate in ("agent", "script", "pcapng", "traffic", "units")]
    sources = [file for root in roots for file in (*sorted(root.rglob("*.rs")), root / "Cargo.toml")]
    files = [*sources, checkout.ROOT / "Cargo.lock"]
    digest = checkout.digest((str(file.relative_to(checkout.ROOT)), file.read_bytes()) for file in files)
    return cache.home() / "agents" / digest[:16]


def _built() -> Path:
    """Builds the agent, statically linked, so that the guest needs no libraries of the host."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or checkout.ROOT / "target") / "agent"
    command = ["cargo", "build", "--locked", "--profile", "agent", "--package", NAME, "--target", TARGET]
    environment = {**os.environ, "RUSTFLAGS": "-C target-feature=+crt-static", "CARGO_TARGET_DIR": str(target)}
    _LOG.warning("building the agent, which takes about a minute")
    with subprocess.Popen(
        command, cwd=checkout.ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as building:
        said = [line for line in building.stderr or () if not _waits(line, target)]
    if building.returncode:
        message = "".join(said).strip()[-2000:]
        raise BuildFailed(f"the agent cannot be built:\n{message}\n  hint: try `cargo build -p {NAME}` in a clone")
    return target / TARGET / "agent" / NAME


def _waits(line: str, target: Path) -> bool:
    """Whether cargo says that it waits for another one, which is then passed on."""
    waits = line.strip().startswith("Blocking waiting for file lock")
    if waits:
        _LOG.warning("building the agent: waits for another cargo, which holds a lock, perhaps that of %s", target)
    return waits

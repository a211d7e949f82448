"""Building the agent says what it waits for; and temporary folders are made in one way."""

import logging
import os
import re
from pathlib import Path

import pytest

import tailback
from tailback.kernel import agent
from tailback.kernel.errors import BuildFailed

PACKAGE = Path(tailback.__file__).parent

CARGO = """\
#!/bin/sh
echo '    Blocking waiting for file lock on build directory' >&2
echo '   Compiling tailback-agent' >&2
echo 'error: it does not compile' >&2
exit 101
"""


def test_a_build_that_waits_for_another_cargo_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text(CARGO, encoding="utf-8")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    with caplog.at_level(logging.WARNING), pytest.raises(BuildFailed, match="error: it does not compile") as failed:
        agent._built()
    assert "building the agent" in caplog.messages[0]
    assert "waits for another cargo" in caplog.messages[1]
    assert "Blocking" not in str(failed.value)


def test_temporary_folders_are_those_that_the_next_process_removes() -> None:
    """Locked by their owner (`kernel.scratch`); the cache of kernels has a rule of its own."""
    making = re.compile(r"tempfile\.(TemporaryDirectory|mkdtemp)\(")
    found = {str(file.relative_to(PACKAGE)) for file in PACKAGE.rglob("*.py") if making.search(file.read_text("utf-8"))}
    assert found == {"kernel/scratch.py", "kernel/cache.py"}

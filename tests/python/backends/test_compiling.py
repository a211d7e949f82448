"""Compilers of foreign modules are ended when they take too much."""

import subprocess
import sys
from pathlib import Path

import pytest

from tailback.kernel import compiler


def test_what_a_compiler_prints_is_kept(tmp_path: Path) -> None:
    done = compiler.compiling(["sh", "-c", "echo out; echo $WORD >&2; pwd; exit 3"], {"WORD": "told"}, tmp_path)
    assert (done.returncode, done.stdout.split(), done.stderr) == (3, ["out", str(tmp_path)], "told\n")


def test_a_compiler_that_waits_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "PATIENCE_S", 0.2)
    subprocess.run(["mkfifo", tmp_path / "endless.h"], check=True)
    # The shell is the driver, and `cat` the compiler proper that waits for the FIFO and holds the pipe.
    done = compiler.compiling(["sh", "-c", "cat endless.h; true"], {}, tmp_path)
    assert done.returncode != 0
    assert "does it include what has no end?" in done.stderr


def test_a_compiler_that_takes_all_memory_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "MEMORY_KB", 100_000)
    done = compiler.compiling(["python3", "-c", "bytes(10**9)"], {})
    assert done.returncode != 0
    assert "MemoryError" in done.stderr


def test_a_limit_that_is_lower_stays() -> None:
    words = "from tailback.kernel.compiler import compiling; print(compiling(['sh', '-c', 'ulimit -t'], {}).stdout)"
    script = f'{sys.executable} -c "{words}"'
    done = subprocess.run(["sh", "-c", f"ulimit -t 60; {script}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["60"]


def test_a_compiler_reads_nothing_from_the_terminal() -> None:
    assert not compiler.compiling(["cat"], {}).stdout

"""Kernel modules of the user in this machine's kernel: who may load them, and that none is left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backends.test_modules import mine
from tailback.backends import Unsuitable
from tailback.backends.linux import suitable
from tailback.backends.netns import modules

OTHERS = "xfs 2510848 1 - Live 0x0000000000000000\n"
UNLOAD = """\
#!/bin/sh
grep -q "^$1 [0-9]* 0 " {loaded} || {{ echo "rmmod: ERROR: Module $1 is in use" >&2; exit 1; }}
sed -i "/^$1 /d" {loaded}
"""


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands for /proc/modules, and a program that stands for `rmmod`."""
    file = tmp_path / "modules"
    file.write_text(OTHERS)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rmmod").write_text(UNLOAD.format(loaded=file))
    (tmp_path / "bin" / "rmmod").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(modules, "LOADED", file)
    return file


def refusal(folder: Path) -> str:
    with pytest.raises(Unsuitable) as caught:
        suitable.refuse(modules.findings(mine(folder)))
    return str(caught.value)


def test_a_kernel_that_loads_no_modules_refuses_one_by_its_name(tmp_path: Path, loaded: Path) -> None:
    loaded.unlink()
    assert "`tcp_mine.c` is a module, and this kernel loads none" in refusal(tmp_path)


@pytest.mark.usefixtures("loaded")
def test_root_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "`tcp_mine.c` has to be loaded into the kernel of this machine, which only root may do" in refusal(tmp_path)
    assert "hint: run it as root (sudo)" in refusal(tmp_path)


@pytest.mark.usefixtures("loaded")
def test_missing_headers_are_named_with_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("platform.release", lambda: "6.1.0-none")
    assert "hint: apt-get install linux-headers-6.1.0-none" in refusal(tmp_path)


def test_a_module_is_unloaded_after_the_run_even_if_it_fails(tmp_path: Path, loaded: Path) -> None:
    built = tmp_path / "tb0_mine.ko"
    built.write_bytes(b"a module")
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.raises(KeyError), modules.unloaded({"tb0_mine": built}, folder):
        loaded.write_text(f"{OTHERS}tb0_mine 16384 0 - Live 0x0000000000000000\n")
        assert (folder / "tb0_mine.ko").read_bytes() == b"a module"
        raise KeyError
    assert loaded.read_text() == OTHERS


def test_a_module_that_a_killed_run_left_is_unloaded_but_none_that_is_in_use(tmp_path: Path, loaded: Path) -> None:
    used = "tb1_theirs 16384 3 - Live 0x0000000000000000\n"
    loaded.write_text(f"tb0_old 16384 0 - Live 0x0000000000000000\n{used}{OTHERS}")
    with modules.unloaded({"tb2_mine": tmp_path / "modules"}, tmp_path / "bin"):
        assert loaded.read_text() == f"{used}{OTHERS}"

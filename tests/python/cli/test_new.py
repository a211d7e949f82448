"""`tailback new`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailback import starters


def test_the_test_of_a_new_control_passes(tmp_path: Path) -> None:
    starters.control("my_reno", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my_reno.py", "my_reno.yaml", "test_my_reno.py"]
    assert "class MyReno:" in (tmp_path / "my_reno.py").read_text()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_reno.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("mine")
    with pytest.raises(starters.NotStarted, match="exists"):
        starters.control("mine", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


def test_a_name_that_python_cannot_import_is_refused(tmp_path: Path) -> None:
    for name in ("my-reno", "class", "../mine"):
        with pytest.raises(starters.NotStarted, match="cannot be the name"):
            starters.control(name, tmp_path)

"""A test that is left out because a tool is absent fails on the machine of CI, wherever it was left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = """\
import pytest

@pytest.fixture
def tool():
    pytest.skip("needs a tool")

def test_of_a_fixture(tool): ...

@pytest.mark.skipif(True, reason="needs another")
def test_of_a_mark(): ...

def test_of_the_test(): pytest.skip("needs a third")

def test_of_the_machine(): pytest.skip("this machine is another")

def test_that_runs(): ...
"""


@pytest.mark.parametrize(
    ("ci", "ends"), [("true", "1 failed, 1 passed, 1 skipped, 2 errors"), ("", "1 passed, 4 skipped")]
)
def test_what_is_left_out_fails_in_ci_alone(tmp_path: Path, ci: str, ends: str) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    environment = os.environ | {"CI": ci, "PYTHONPATH": str(HERE)}
    words = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "--rootdir", ".", "."]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ends in done.stdout, done.stdout

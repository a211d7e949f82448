"""`make man` writes a page for each command that `man` can show."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "man.py"), str(folder)], check=True)
    return {file.stem: file.read_text("utf-8") for file in (folder / "man1").glob("*.1")}


def test_each_command_has_a_page_with_its_options(pages: dict[str, str]) -> None:
    assert {"tailback", "tailback-run", "tailback-kernel-build", "tailback-new-home-link"} <= set(pages)
    assert ".B \\-\\-backend NAME" in pages["tailback-run"]
    assert "\\fBtailback\\-run\\fR(1)" in pages["tailback"]
    for text in pages.values():
        assert [line for line in text.splitlines() if line.startswith(".SH")][:2] == [".SH NAME", ".SH SYNOPSIS"]


def test_groff_reads_each_page_without_warnings(pages: dict[str, str]) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("needs groff: apt-get install groff-base")
    for text in pages.values():
        command = [groff, "-man", "-Tutf8", "-ww", "-z"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        assert done.stderr == ""

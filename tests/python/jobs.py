"""Runs the commands of docs/jobs as they are written, each page in an empty folder: `python tests/python/jobs.py
[PAGE...]` draws the pictures of these pages anew.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from command import in_process

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page.stem for page in (DOCS / "jobs").glob("*.md") if page.stem != "index")
FIGURE = re.compile(r"\.\./pictures/jobs/[a-z0-9-]+\.png")
FOR_A_SHELL = re.compile(r"[*?|<>&;$`~]")
"""What only a shell understands."""


def commands(page: str) -> list[str]:
    """The lines of a page's blocks of commands."""
    text = (DOCS / "jobs" / f"{page}.md").read_text(encoding="utf-8")
    return "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()


def execute(lines: list[str], folder: Path) -> None:
    """Runs commands in a folder: ours in this process, others by the shell."""
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[:1] == ["tailback"] and not FOR_A_SHELL.search(" ".join(words)):
            with contextlib.chdir(folder):
                in_process(*words[1:])
        elif words:
            _by_the_shell(line, folder)


def _by_the_shell(line: str, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(line, shell=True, cwd=folder, env={**os.environ, "PATH": path}, check=False,
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{line}\n{done.stdout}{done.stderr}")


def run(page: str, folder: Path) -> Path:
    """Runs a page's commands in an empty folder; returns the first figure that they have drawn."""
    execute(commands(page), folder)
    figures = sorted(folder.rglob("*.png"), key=lambda file: file.stat().st_mtime_ns)
    if not figures:
        raise RuntimeError(f"docs/jobs/{page}.md draws no figure")
    return figures[0]


def main(pages: list[str]) -> None:
    """Draws the pictures of these pages, or of all."""
    for page in pages or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(run(page, Path(folder)), DOCS / "pictures" / "jobs" / f"{page}.png")


if __name__ == "__main__":
    main(sys.argv[1:])

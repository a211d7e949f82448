"""Files, functions and commands that the documents name exist."""

import re
import subprocess
from pathlib import Path

import pytest

from tailback.cli.app import COMMANDS

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")],
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ROW = re.compile(r"^\| *\d+ *\| *\[[^]]*\]\(([^)]+)\)[^|]*\|([^|]*)\|", re.MULTILINE)


def text(document: Path) -> str:
    return document.read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_linked_file_exists(document: Path) -> None:
    links = [link for link in LINK.findall(text(document)) if not link.startswith(("http:", "https:"))]
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_step_of_the_two_paths_is_in_the_file_it_names() -> None:
    rows = ROW.findall(text(ROOT / "docs" / "how-it-works.md"))
    assert len(rows) == 14 + 17
    for file, steps in rows:
        code = text(ROOT / "docs" / file)
        for step in re.findall(r"`(\w+)`", steps):
            assert re.search(rf"\b(fn|def|class) {step}\b", code), f"{file} has no `{step}`"


def test_every_package_and_crate_has_a_line_in_the_architecture() -> None:
    linked = set(LINK.findall(text(ROOT / "ARCHITECTURE.md")))
    crates = {f"crates/{folder.name}/src/lib.rs" for folder in (ROOT / "crates").iterdir() if folder.is_dir()}
    packages = {str(file.relative_to(ROOT)) for file in (ROOT / "python" / "tailback").glob("*/__init__.py")}
    assert crates | packages <= linked


def test_every_command_of_the_readme_exists() -> None:
    told = re.findall(
        r"`?\btailback (\w+)", "\n".join(re.findall(r"```sh\n(.*?)```", text(ROOT / "README.md"), re.DOTALL))
    )
    assert len(told) >= 5
    assert set(told) <= set(COMMANDS)


def test_every_make_target_in_the_text_exists() -> None:
    told = {
        target
        for document in DOCUMENTS
        for target in re.findall(r"(?:`|^)make (\w[\w-]*)", text(document), re.MULTILINE)
    }
    assert {"demo", "test", "golden", "bench"} <= told
    for target in sorted(told):
        done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_ci_runs_the_test_command_of_the_readme() -> None:
    assert "`make test`" in text(ROOT / "README.md")
    assert re.search(r"^make test$", text(ROOT / ".ci" / "run"), re.MULTILINE)

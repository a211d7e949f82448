"""Files, functions and commands that the documents name exist."""

import re
import subprocess
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from tailback.cli.app import COMMANDS

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")],
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ROW = re.compile(r"^\| *\d+ *\|([^|]*)\|([^|]*)\|([^|]*)\|", re.MULTILINE)
HOT_CRATES = ("world", "tcp", "qdisc", "cc")


def text(document: Path) -> str:
    return document.read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_linked_file_exists(document: Path) -> None:
    links = [link for link in LINK.findall(text(document)) if not link.startswith(("http:", "https:"))]
    assert [link for link in links if not (document.parent / link).exists()] == []


def steps() -> list[tuple[str, str]]:
    """Of each row of the two paths the files that it links, as text, and its steps."""
    page = ROOT / "docs" / "how-it-works.md"
    rows = ROW.findall(text(page))
    assert len(rows) == 14 + 17
    files = (LINK.findall(where + what) for where, _, what in rows)
    code = (
        "\n".join(text(page.parent / file) for file in linked if (page.parent / file).is_file()) for linked in files
    )
    return [(linked, step) for linked, (_, step, _) in zip(code, rows, strict=True)]


def test_every_step_of_the_two_paths_is_in_a_file_that_its_row_names() -> None:
    for code, names in steps():
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"\b(fn|def|class) {name}\b", code), f"{names}: no linked file has `{name}`"


@cache
def bodies() -> Mapping[str, list[str]]:
    """The bodies of each function of the crates that a packet passes."""
    found: dict[str, list[str]] = {}
    for file in sorted(file for crate in HOT_CRATES for file in (ROOT / "crates" / crate / "src").rglob("*.rs")):
        code = re.sub(r"//[^\n]*", "", text(file))
        for match in re.finditer(r"^( *)(?:pub(?:\(\w+\))? )?(?:const )?fn (\w+)", code, re.MULTILINE):
            end = code.find(f"\n{match[1]}}}", match.end())
            found.setdefault(match[2], []).append(code[match.end() : end])
    return found


def calls_of(cell: str) -> list[tuple[str, str]]:
    """The pairs of a cell: `a` → `b` → `c` or `d` is that a calls b, and b calls c and d."""
    pairs = []
    for chain in re.split(r"[;,]", cell):
        links = [re.findall(r"`(\w+)`", part) for part in chain.split("→")]
        pairs += [(caller[-1], callee) for caller, callees in pairwise(links) for callee in callees]
    return pairs


def test_each_step_of_the_path_of_a_packet_calls_the_one_behind_its_arrow() -> None:
    pairs = [pair for _, names in steps()[:14] for pair in calls_of(names)]
    assert len(pairs) >= 15
    for caller, callee in pairs:
        assert any(re.search(rf"\b{callee}(::<\w+>)?\(", body) for body in bodies()[caller]), f"{caller} → {callee}"


def test_the_calls_of_a_cell_are_those_of_its_arrows() -> None:
    assert calls_of("`a` → `b` → `c` or `d`; `e`, `f` → `g`") == [("a", "b"), ("b", "c"), ("b", "d"), ("f", "g")]


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
    # An absent one is named by make.
    done = subprocess.run(["make", "--dry-run", *sorted(told)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_ci_runs_the_test_command_of_the_readme() -> None:
    assert "`make test`" in text(ROOT / "README.md")
    assert re.search(r"^make test$", text(ROOT / ".ci" / "run"), re.MULTILINE)

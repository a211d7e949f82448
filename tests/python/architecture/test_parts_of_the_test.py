"""`make test` leaves out only tests that are empty, and every test that waits uses `waiting`."""

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = ROOT / "tests" / "python"
DOCUMENTATION = re.compile(r"^\s*//[/!] ?(.*)$", re.MULTILINE)
IMPATIENT = re.compile(r"time\.sleep\(|\.join\(\d|\.wait\(\d|timeout=\d|datetime\.now\(")


def examples(source: str) -> Iterator[str]:
    """The beginning of a code block that rustdoc runs."""
    lines = DOCUMENTATION.findall(source)
    fences = [line for line in lines if line.startswith("```")]
    yield from (fence for fence in fences[::2] if fence in ("```", "```rust"))
    # Without a fence, rustdoc takes what is indented after an empty line for code.
    inside = False
    for before, line in pairwise(lines):
        inside ^= before.startswith("```")
        if not before and not inside and line.startswith("    "):
            yield line


def test_examples_in_the_documentation_of_crates_are_run() -> None:
    crates = ROOT / "crates"
    found = {file.relative_to(crates).parts[0] for file in crates.rglob("*.rs") if any(examples(file.read_text()))}
    listed = re.search(r"^WITH_EXAMPLES := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert listed is not None
    assert set(re.findall(r"tailback-(\w+)", listed[1])) == found


def test_an_indented_table_in_a_head_counts_as_an_example() -> None:
    assert list(examples("//! Values:\n//!\n//!     1  2\n")) == ["    1  2"]
    assert list(examples("//! Values:\n//!\n//! ```text\n//!\n//!     1  2\n//! ```\n")) == []


def untested(crate: Path) -> Iterator[Path]:
    """The sources of the library and of the programs of a crate for which cargo makes no tests."""
    described = tomllib.loads((crate / "Cargo.toml").read_text())
    if not described.get("lib", {}).get("test", True):
        yield from (file for file in (crate / "src").rglob("*.rs") if file.name != "main.rs")
    for program in described.get("bin", []):
        if not program.get("test", True):
            yield crate / program["path"]


def test_what_cargo_makes_no_tests_for_has_none() -> None:
    files = [file for crate in (ROOT / "crates").iterdir() for file in untested(crate)]
    assert {file.parents[1].name for file in files} >= {"agent", "air", "python"}
    assert [str(file) for file in files if "#[test]" in file.read_text() or "proptest!" in file.read_text()] == []


def test_no_test_waits_for_a_length_of_time() -> None:
    own = {TESTS / "waiting.py", Path(__file__)}
    files = [file for file in TESTS.rglob("*.py") if file not in own and "campaigns" not in file.parts]
    found = {str(file.relative_to(TESTS)) for file in files if IMPATIENT.search(file.read_text())}
    assert found == set(), "wait with tests/python/waiting.py"

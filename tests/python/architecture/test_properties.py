"""Every property test runs as many cases as `make properties TIMES=N` requests, and stores failing cases."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^ *proptest! \{\n.*\n", re.MULTILINE)
MULTIPLIED = re.compile(r"#!\[proptest_config\((ProptestConfig \{.* \.\.)?cases\([\d_]+\)( \})?\)\]")


def test_every_property_of_the_crates_says_its_cases_in_the_shared_way() -> None:
    texts = [file.read_text() for file in sorted((ROOT / "crates").rglob("*.rs"))]
    blocks = [block for text in texts for block in BLOCK.findall(text)]
    assert len(blocks) >= 12
    assert [block for block in blocks if not MULTIPLIED.search(block)] == []


def test_every_property_of_the_package_says_its_cases_in_the_shared_way() -> None:
    texts = [file.read_text() for file in sorted((ROOT / "tests" / "python").rglob("test_*.py"))]
    numbers = [found for text in texts for found in re.findall(r"max_examples=(\w+\(?)", text)]
    assert len(numbers) >= 12
    assert set(numbers) == {"cases("}


def test_failing_cases_of_properties_are_not_ignored_by_git() -> None:
    kept = "crates/wifi/tests/signatures/books.regressions"
    ignored = subprocess.run(["git", "check-ignore", "--quiet", "--no-index", kept], cwd=ROOT, check=False)
    assert ignored.returncode == 1

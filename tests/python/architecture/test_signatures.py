"""docs/signatures.md names tests that exist, and every signature once."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "signatures.md").read_text()
ROW = re.compile(r"^\| (S\d+) \| .* \| \[.*\]\(\.\./(.*)\) `(.*)` \|$", re.MULTILINE)


def test_every_signature_stands_on_the_page_once() -> None:
    numbers = [int(number) for number in re.findall(r"^\| S(\d+) \|", PAGE, re.MULTILINE)]
    assert sorted(numbers) == list(range(1, 167))


def test_every_test_that_the_page_names_exists() -> None:
    rows = ROW.findall(PAGE)
    assert len(rows) > 150
    for number, file, test in rows:
        text = (ROOT / file).read_text()
        assert test == "the script" or f"fn {test}(" in text or f"def {test}(" in text, number

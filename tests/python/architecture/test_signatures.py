"""The pages of signatures name existing tests, and list every signature once."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = {
    "S": (ROOT / "docs" / "signatures.md").read_text(),
    "Q": (ROOT / "docs" / "qdisc-signatures.md").read_text(),
}
SIGNATURES = {"S": 168, "Q": 150}
MIN_TESTED = {"S": 150, "Q": 120}


def rows(letter: str) -> list[tuple[str, str, str]]:
    """Number, file and test of each signature that has one."""
    row = rf"^\| ({letter}\d+) \| .* \| \[.*\]\(\.\./(.*)\) `(.*)` \|$"
    return re.findall(row, PAGES[letter], re.MULTILINE)


@pytest.mark.parametrize("letter", PAGES)
def test_every_signature_is_on_its_page_once(letter: str) -> None:
    numbers = re.findall(rf"^\| {letter}(\d+) \|", PAGES[letter], re.MULTILINE)
    assert sorted(int(number) for number in numbers) == list(range(1, SIGNATURES[letter] + 1))


@pytest.mark.parametrize("letter", PAGES)
def test_every_test_that_a_page_names_exists(letter: str) -> None:
    assert len(rows(letter)) > MIN_TESTED[letter]
    for number, file, test in rows(letter):
        text = (ROOT / file).read_text()
        assert test == "the script" or f"fn {test}(" in text or f"def {test}(" in text, number


def test_the_page_of_the_disciplines_counts_its_rows() -> None:
    tested = len(rows("Q"))
    assert f"{SIGNATURES['Q']} observations" in PAGES["Q"]
    assert f"{tested} have a named test, {SIGNATURES['Q'] - tested} have none" in PAGES["Q"]

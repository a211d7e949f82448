"""The signatures name existing tests, and each has its number once."""

from pathlib import Path

import pytest

from conformance.page import RESULTS
from conformance.signatures import FILES, read, tables

ROOT = Path(__file__).parents[3]
SIGNATURES = {"tcp": ("S", 168), "qdiscs": ("Q", 150)}
MIN_TESTED = {"tcp": 150, "qdiscs": 120}


@pytest.mark.parametrize("name", FILES)
def test_every_number_is_given_once(name: str) -> None:
    letter, count = SIGNATURES[name]
    assert sorted(each.number for each in read(name)) == sorted(f"{letter}{n}" for n in range(1, count + 1))


@pytest.mark.parametrize("name", FILES)
def test_every_named_test_exists_and_what_has_none_says_why(name: str) -> None:
    found = read(name)
    tested = [each for each in found if each.file is not None]
    assert len(tested) > MIN_TESTED[name]
    for each in tested:
        text = (ROOT / str(each.file)).read_text()
        assert each.test is None or f"fn {each.test}(" in text or f"def {each.test}(" in text, each.number
        assert (each.test is None) == str(each.file).endswith(".pkt"), each.number
    assert all(each.untested for each in found if each.file is None)


def test_the_tables_are_those_of_the_lists() -> None:
    page = (RESULTS / "signatures.md").read_text()
    assert all("\n".join(tables(read(name))) in page for name in FILES)

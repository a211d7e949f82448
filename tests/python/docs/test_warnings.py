"""docs/warnings.md lists every warning of `tailback check`."""

import re
from pathlib import Path

from tailback.scenario.lint import WARNINGS

PAGE = Path(__file__).parents[3] / "docs" / "warnings.md"


def test_the_page_lists_every_code_of_a_warning_and_no_other() -> None:
    assert set(re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == set(WARNINGS)

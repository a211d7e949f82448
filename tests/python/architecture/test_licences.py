"""The licences of what Tailback stands on: all of them allow it, and LICENCES.md lists them."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "licences.py"))


def listed() -> set[str]:
    """The packages of LICENCES.md."""
    return set(re.findall(r"^\| ([@\w/-]+) \| \d", (ROOT / "LICENCES.md").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("kind", ["_python", "_rust", "_page"])
def test_every_package_is_listed_and_its_licence_allows_its_use(kind: str) -> None:
    rows = list(SCRIPT[kind]())
    assert len(rows) > 10
    assert [row for row in rows if not SCRIPT["allowed"](row[2])] == []
    assert {row[0] for row in rows} - listed() == set(), "make licences"


def test_the_packages_of_every_extra_of_users_are_among_them() -> None:
    assert {"numpy", "matplotlib", "polars", "pyarrow", "distributed", "dask"} <= {
        row[0] for row in SCRIPT["_python"]()
    }


@pytest.mark.parametrize(
    ("licence", "may"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT/Apache-2.0", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-2.0-only", False),
        ("unknown", False),
    ],
)
def test_one_allowed_choice_is_enough_and_all_its_parts_count(licence: str, may: bool) -> None:
    assert SCRIPT["allowed"](licence) == may

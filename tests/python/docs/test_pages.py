"""The pages are of four kinds, none is missing from the site, and each kind keeps its budget of words."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import prose

ROOT = Path(__file__).parents[3]
NAV = {
    title: pages
    for entry in yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    for title, pages in entry.items()
}

BUDGET = {"Tutorials": 2_300, "How to": 28_500, "Reference": 16_000, "Explanation": 8_600}
"""Words of the hand-written pages of a kind."""
ALL = 60_000
"""Words of all hand-written pages, those outside of the site included."""
OUTSIDE = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
LINES = {"docs/fidelity.md": 200, "docs/performance.md": 120, "CHANGELOG.md": 100, "ARCHITECTURE.md": 120}
"""Pages that grow into diaries if nobody looks."""


def named(nav: Any) -> Iterator[str]:
    """The pages of a part of the navigation."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from (name for value in nav.values() for name in named(value))
    else:
        yield from (name for value in nav for name in named(value))


def words(file: Path) -> int:
    """The words of a page without generated tables."""
    return len(re.sub(r"<!-- table: .*?<!-- end -->", "", file.read_text("utf-8"), flags=re.DOTALL).split())


def written(kind: str) -> list[Path]:
    files = (ROOT / OUTSIDE.get(name, f"docs/{name}") for name in named(NAV[kind]))
    return [file for file in files if file.is_file() and str(file.relative_to(ROOT)) not in prose.GENERATED]


def test_the_site_has_four_kinds_of_pages() -> None:
    assert list(NAV) == list(BUDGET)


def test_every_page_of_the_documentation_is_in_the_navigation_once() -> None:
    there = sorted(file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md"))
    compared = "congestion-controls.md"  # scripts/site.py puts it into the list of the controls
    listed = [name for name in (*named(NAV), compared) if (ROOT / "docs" / name).is_file()]
    assert sorted(listed) == there


@pytest.mark.parametrize("kind", BUDGET)
def test_the_pages_of_a_kind_keep_its_budget(kind: str) -> None:
    assert sum(map(words, written(kind))) <= BUDGET[kind]


def test_all_hand_written_pages_together_keep_the_budget() -> None:
    assert sum(map(words, prose.pages())) < ALL


@pytest.mark.parametrize("page", LINES)
def test_a_page_that_others_grow_stays_short(page: str) -> None:
    assert len((ROOT / page).read_text("utf-8").splitlines()) <= LINES[page]


@pytest.mark.parametrize("page", sorted(file.name for file in (ROOT / "conformance" / "results").glob("*.md")))
def test_every_page_of_results_names_the_command_that_made_it_and_the_commit(page: str) -> None:
    text = (ROOT / "conformance" / "results" / page).read_text("utf-8")
    assert page == "README.md" or re.search(r"^\*Made by `[^\n]+`[^\n]* at commit `[0-9a-f]{8,}`", text, re.MULTILINE)

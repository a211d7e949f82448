"""Writes generated tables into documentation, mostly those of campaigns into `docs/fidelity.md`.

A table is between the lines `<!-- table: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "fidelity.md"
END = "<!-- end -->"


def write_tables(tables: Mapping[str, Iterable[str]], page: Path = PAGE) -> None:
    """Replaces tables of a page."""
    page.write_text(with_tables(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


def with_tables(page: str, tables: Mapping[str, Iterable[str]]) -> str:
    """The page with replaced tables."""
    for name, lines in tables.items():
        mark = f"<!-- table: {name} -->"
        before, found, rest = page.partition(mark)
        _old, end, after = rest.partition(END)
        if not (found and end):
            raise SystemExit(f"no place for table `{name}`; write `{mark}` and `{END}` on lines of their own")
        page = before + "\n".join([mark, "", *lines, "", END]) + after
    return page


def rows(heading: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [heading, ["---"] * len(heading), *body]
    return ["| " + " | ".join(cells) + " |" for cells in lines]

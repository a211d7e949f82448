"""Writes generated tables: those of campaigns into `conformance/results`, the one of all kinds into `docs/fidelity.md`.

A table is between the lines `<!-- table: NAME -->` and `<!-- end -->`. Its first line names the command that makes it
and the commit that it was made by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tailback.papers.made import made

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RESULTS = ROOT / "conformance" / "results"
PAGE = DOCS / "fidelity.md"
END = "<!-- end -->"


def write_tables(tables: Mapping[str, Iterable[str]], page: Path, command: str) -> None:
    """Replaces tables of a page, which `command` makes."""
    above = made(command)
    new = {name: [above, "", *lines] for name, lines in tables.items()}
    page.write_text(with_tables(page.read_text(encoding="utf-8"), new), encoding="utf-8")


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

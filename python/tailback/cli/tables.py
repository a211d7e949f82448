"""The one printer of tables: fitted to the terminal, or as CSV, Markdown or LaTeX (`markup`).

On a terminal no number is cut and no interval left out. A table that is too wide is broken: each part has the columns
that name the rows, and the columns that matter most come first. If the names of the rows take the room of the numbers,
they stand on lines of their own. What is left out is said. A pipe has room for everything.

With `--table` the table is alone on stdout; what else a command says goes to stderr (`console`).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace
from rich import box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tailback.cli import console, markup, sheets, streams
from tailback.cli.sheets import Cell, Sheet

PARTS = 2
"""Parts into which a table is broken at most; what must be shown may need more."""

GAP = 2
"""Spaces between columns."""

INDENT = 2
"""Spaces before the numbers below the names of their row."""

LONGEST_HEADING = 20
"""Characters of a line of a heading, if its cells are not longer."""

NARROWEST_TEXT = 24
"""Characters that a column of text keeps, however narrow the terminal."""

EASY_TEXT = 48
"""Characters that a column of text should have before others."""


def show(sheet: Sheet, *said: str) -> None:
    """Prints a table, and what is said below it."""
    form = console.form()
    if form is None:
        beside(sheet, *said)
        return
    console.alone(markup.WRITERS[form](sheets.written(sheet)))
    console.emit(*map(Text, (*sheet.said(), *said)))


def beside(sheet: Sheet, *said: str) -> None:
    """Prints a further table of a command, always as text: with `--table`, to stderr."""
    out = console.stdout()
    sheet = _as_written(sheets.written(sheet), console.stream())
    if out.is_terminal:
        console.emit(*laid_out(sheet, out.width), *map(Text, said))
    else:
        console.line("\n".join([*_plain(sheet), *said]))


def laid_out(sheet: Sheet, width: int) -> list[RenderableType]:
    """A table on a terminal of this width: its title, its parts, what is left out."""
    return list(_Layout(sheet, width).parts())


def _as_written(sheet: Sheet, stream: TextIO) -> Sheet:
    """The table with the characters that a stream has."""
    if (stream.encoding or "utf").lower().startswith("utf"):
        return sheet
    rows = [[replace(cell, text=streams.as_written(cell.text, stream)) for cell in row] for row in sheet.rows]
    fields = [replace(field, title=streams.as_written(field.title, stream)) for field in sheet.fields]
    return replace(sheet, rows=rows, fields=fields)


def _plain(sheet: Sheet) -> Iterator[str]:
    """The lines of a table for a pipe, which has room for all of it. Drawn by hand, because rich needs seconds for a
    thousand rows.
    """
    shown = [place for place, field in enumerate(sheet.fields) if field.role != "hidden"]
    headings = _level([_heading(sheet, place) for place in shown])
    cells = [line for row in sheet.rows for line in _lines([row[place].text.split("\n") for place in shown])]
    widths = [max(map(cell_len, column)) for column in zip(*_lines(headings), *cells, strict=True)]
    right = [sheet.fields[place].role == "number" for place in shown]
    if sheet.title:
        yield sheet.title
    for line in _lines(headings):
        yield _spaced(line, widths, right)
    yield "─" * (sum(widths) + GAP * (len(widths) - 1))
    for line in cells:
        yield _spaced(line, widths, right)
    yield ""
    if remarks := sheet.said():
        yield "; ".join(remarks)


def _level(headings: Sequence[Sequence[str]]) -> list[list[str]]:
    """Headings of equally many lines, with their last lines at one height."""
    tallest = max(map(len, headings), default=0)
    return [[""] * (tallest - len(heading)) + [*heading] for heading in headings]


def _lines(cells: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The lines of cells beside each other."""
    return list(zip_longest(*cells, fillvalue=""))


def _spaced(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [
        " " * (width - cell_len(text)) + text if at_right else text + " " * (width - cell_len(text))
        for text, width, at_right in zip(line, widths, right, strict=True)
    ]
    return (" " * GAP).join(padded).rstrip()


class _Page(Struct, frozen=True):
    """A part of a table: its columns, as places among the fields."""

    keys: Sequence[int]
    """Those that name the rows beside the numbers; if there are none, they stand above them."""
    shown: Sequence[int]
    room: int
    """Characters for `shown`."""


class _Layout:
    """A table in the width of a terminal."""

    def __init__(self, sheet: Sheet, width: int) -> None:
        self._sheet = sheet
        self._width = width
        self._headings = [_heading(sheet, place) for place in range(len(sheet.fields))]
        self._widths = [self._natural(place) for place in range(len(sheet.fields))]
        self._keys = self._of("key")

    def parts(self) -> Iterator[RenderableType]:
        """The title, the table or its parts, and the remarks."""
        if self._sheet.title:
            yield Text(self._sheet.title, style="italic")
        pages, left = self._pages()
        for page in pages:
            if page.keys or not self._keys:
                yield self._table(page, self._sheet.rows)
            else:
                yield from self._below_keys(page)
            # What is said below it does not touch the table.
            yield Text("")
        remarks = self._sheet.said(left)
        if left:
            names = ", ".join(self._sheet.fields[place].title for place in left)
            remarks.append(f"left out for want of room: {names} (`--columns all` has everything)")
        if remarks:
            yield Text("; ".join(remarks), style="dim italic")

    def _pages(self) -> tuple[list[_Page], list[int]]:
        """The parts of the table, and the columns that are left out."""
        rest = [place for place, field in enumerate(self._sheet.fields) if field.role not in ("key", "hidden")]
        # No gap follows the last column.
        room = self._width - self._together(self._keys) + GAP
        if self._together(rest) + self._squeezed() <= room:
            return [_Page(self._keys, rest, room)], []
        above = bool(self._keys) and (bool(self._of("text")) or room < self._width / 2)
        keys, room = ([], self._width - INDENT + GAP) if above else (self._keys, room)
        # Names on lines of their own are not repeated for details.
        groups, left = self._groups(room, 1 if above else PARTS)
        return [_Page(keys, sorted(group), room) for group in groups], left

    def _groups(self, room: int, parts: int) -> tuple[list[list[int]], list[int]]:
        """The columns of each part, those that matter most first, those of one metric together; text comes last."""
        names, fields = self._of("name"), self._sheet.fields
        groups: list[list[int]] = [[*names]]
        blocks = [part for block in self._blocks() for part in self._fitting(block, room)]
        for done, block in enumerate(blocks):
            if self._together([*groups[-1], *block]) <= room or groups[-1] == names:
                groups[-1] += block
            elif len(groups) < parts or any(fields[place].kept or fields[place].role == "text" for place in block):
                groups.append([*names, *block])
            else:
                return groups, sorted(place for block in blocks[done:] for place in block)
        return groups, []

    def _blocks(self) -> list[list[int]]:
        """The columns of each metric, the metric that matters most first; each text is alone."""
        families: dict[object, list[int]] = {}
        for place in sorted(self._of("number"), key=lambda place: self._sheet.fields[place].rank):
            families.setdefault(self._sheet.fields[place].family or place, []).append(place)
        return [*families.values(), *([place] for place in self._of("text"))]

    def _fitting(self, block: list[int], room: int) -> list[list[int]]:
        """The block, or its columns one by one if it does not fit into a part."""
        fits = self._together([*self._of("name"), *block]) <= room
        return [block] if fits else [[place] for place in block]

    def _table(self, page: _Page, rows: Sequence[Sequence[Cell]], *, heading: bool = True) -> Table:
        # One of the spaces between columns is that of the box.
        table = Table(
            box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_header=heading, show_edge=False
        )
        shown = [*page.keys, *page.shown]
        widths = self._widths_of(page)
        for place, lines in zip(shown, _level([self._headings[place] for place in shown]), strict=True):
            table.add_column(
                Text("\n".join(lines)),
                justify="right" if self._sheet.fields[place].role == "number" else "left",
                overflow="fold",
                width=widths[place],
            )
        for row in rows:
            table.add_row(*(Text(row[place].text, style=row[place].style) for place in shown))
        return table

    def _below_keys(self, page: _Page) -> Iterator[RenderableType]:
        """The numbers of each row below its names, in the same columns."""
        yield Padding(self._table(page, []), (0, 0, 0, INDENT), expand=False)
        for names, rows in groupby(self._sheet.rows, key=self._named):
            yield Text(names, style="bold")
            yield Padding(self._table(page, list(rows), heading=False), (0, 0, 0, INDENT), expand=False)

    def _named(self, row: Sequence[Cell]) -> str:
        return "; ".join(f"{self._sheet.fields[place].title}: {row[place].text}" for place in self._keys)

    def _widths_of(self, page: _Page) -> dict[int, int]:
        """The width of each column; those of text share what is left."""
        widths = {place: self._widths[place] for place in (*page.keys, *page.shown)}
        texts = [place for place in page.shown if self._sheet.fields[place].role == "text"]
        spare = page.room - self._together(page.shown)
        for place in texts:
            widths[place] = min(_longest(self._sheet, place, self._headings[place]), widths[place] + max(spare, 0))
            spare -= widths[place] - self._widths[place]
        return widths

    def _squeezed(self) -> int:
        """Characters that columns of text lack to be read with ease, if they might have those of the keys."""
        texts = self._of("text") if self._keys else []
        return sum(
            min(_longest(self._sheet, place, self._headings[place]), EASY_TEXT) - self._widths[place] for place in texts
        )

    def _natural(self, place: int) -> int:
        longest = _longest(self._sheet, place, self._headings[place])
        return min(longest, NARROWEST_TEXT) if self._sheet.fields[place].role == "text" else longest

    def _together(self, places: Sequence[int]) -> int:
        return sum(self._widths[place] + GAP for place in places)

    def _of(self, role: str) -> list[int]:
        return [place for place, field in enumerate(self._sheet.fields) if field.role == role]


def _longest(sheet: Sheet, place: int, heading: Sequence[str]) -> int:
    """The characters of the longest line of a column."""
    lines = [line for row in sheet.rows for line in row[place].text.split("\n")]
    return max(map(cell_len, [*heading, *lines, ""]))


def _heading(sheet: Sheet, place: int) -> list[str]:
    """The lines of a heading: a title of several words takes two, and the unit one."""
    field = sheet.fields[place]
    titles = field.title.rsplit(" ", 1) if field.role == "number" and field.unit else [field.title]
    cells = max((cell_len(row[place].text) for row in sheet.rows), default=0)
    longest = max(LONGEST_HEADING, cells)
    lines = [line for title in titles for line in _broken(title, longest)]
    return [*lines, *filter(None, [field.unit])]


def _broken(title: str, longest: int) -> list[str]:
    """A title in lines that end at the ends of words, and in the path of a key behind its points; no word is cut."""
    lines = [""]
    for word in re.split(PLACES, title):
        if lines[-1] and cell_len(lines[-1] + word.rstrip()) > longest:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


PLACES = r"(?<=\s)|(?<=\.)(?=[A-Za-z_])"
"""Where a line of a heading may end."""

"""Writes an assessment as one HTML page that needs no network: each row with its verdict, numbers and figure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tailback.assess import figures, words
from tailback.assess.session import Assessment
from tailback.assess.verdicts import OUTCOMES, Row
from tailback.results.durable import make_folder, write_file
from tailback.results.provenance import tailback_version

PAGE = "assessment.html"
PATH = re.compile(rb' d="[^"]*"')
DIGITS = re.compile(rb"(\d\.\d)\d+")
IDS = re.compile(r'(id="|url\(#|href="#)')


@dataclass(frozen=True)
class Part:
    """A row on the page."""

    row: Row
    said: str
    bound: str
    cells: Sequence[str]
    """What the control and each baseline reach at the worst place."""
    places: Sequence[Sequence[str]]
    picture: Markup | None


def write_page(found: Assessment, command: str) -> Path:
    """Writes the page and its figures into the folder of the results; returns the path of the page."""
    folder = found.wanted.folder
    make_folder(folder / "figures")
    names = list(found.wanted.names)
    parts = [_part(found, row, names) for row in found.rows]
    text = _environment().get_template("page.html.j2").render(
        found=found, suite=found.wanted.suite, names=names, parts=parts, outcomes=OUTCOMES, command=command,
        version=tailback_version(),
    )  # fmt: skip
    write_file(folder / PAGE, text.encode())
    return folder / PAGE


def _part(found: Assessment, row: Row, names: Sequence[str]) -> Part:
    worst, unit = row.worst, row.criterion.unit
    cells = [] if worst is None or row.reason else [words.value(worst.found.get(name), unit) for name in names]
    if cells and worst is not None and worst.axes:
        cells[0] = f"{words.place(worst)}: {cells[0]}"
    places = [
        [words.place(each), each.outcome, words.bound(row.criterion, each)]
        + [words.value(each.found.get(name), unit) for name in names]
        for each in row.places
    ]
    bound = "" if worst is None else words.bound(row.criterion, worst)
    said = row.reason or words.in_words(row, found.control)
    return Part(row, said, bound, cells, places, _picture(found, row))


def _picture(found: Assessment, row: Row) -> Markup | None:
    drawn = figures.svg(row)
    if drawn is None:
        return None
    drawn = PATH.sub(lambda path: DIGITS.sub(rb"\1", path.group()), drawn)
    write_file(found.wanted.folder / "figures" / f"{row.criterion.id}.svg", drawn)
    text = drawn.decode()
    # One page has many figures, whose clips and glyphs must not be taken for each other's.
    return Markup(IDS.sub(rf"\g<1>{row.criterion.id}-", text[text.index("<svg") :]))


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tailback.assess", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip

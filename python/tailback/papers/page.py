"""Writes the reproduction as one HTML page that needs no network: each figure with its claims, and why some do not
hold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tailback.papers.claims import Reported, is_part
from tailback.papers.drawing import Drawing
from tailback.papers.reported import overlay
from tailback.papers.reproduction import Reproduction
from tailback.papers.scorecard import Row, held, in_one_line
from tailback.plots import NotDrawable, rendered
from tailback.results import NotResults, Results
from tailback.results.durable import make_folder, write_file
from tailback.results.provenance import tailback_version

PAGE = "reproduction.html"
PATH = re.compile(rb' d="[^"]*"')
DIGITS = re.compile(rb"(\d\.\d)\d+")
FIGURES = "figures"
AFTER_ALL = 1000
"""Tables are behind all figures."""


@dataclass(frozen=True)
class Section:
    """One figure with its claims, or claims without a drawn figure."""

    title: str
    caption: str
    picture: Markup | None
    why_not: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Chapter:
    """One paper."""

    name: str
    title: str
    held: int
    claims: int
    sections: Sequence[Section]


def write_page(found: Sequence[Reproduction], out: Path) -> Path:
    """Writes the page, and each figure as an SVG file, below `out`; returns the path of the page."""
    chapters = [chapter(one, out / one.paper.paper / FIGURES) for one in found]
    rows = [row for one in found for row in one.rows]
    text = _environment().get_template("page.html.j2").render(
        chapters=chapters, line=in_one_line(rows), version=tailback_version(),
    )  # fmt: skip
    make_folder(out)
    write_file(out / PAGE, text.encode())
    return out / PAGE


def chapter(found: Reproduction, folder: Path) -> Chapter:
    """A paper with its figures, drawn into `folder`."""
    make_folder(folder)
    sections = list(_sections(found, folder))
    return Chapter(found.paper.paper, found.paper.title, held(found.rows), len(found.rows), sections)


def _sections(found: Reproduction, folder: Path) -> Iterator[Section]:
    drawings, owners = in_order(found)
    for drawing in drawings:
        yield _section(found, drawing, [row for row, owner in owners if owner is drawing], folder)
    left = [row for row, owner in owners if owner is None]
    if left:
        yield Section("", "Claims about several figures", None, "", left)


def in_order(found: Reproduction) -> tuple[list[Drawing], list[tuple[Row, Drawing | None]]]:
    """The figures by number, and each claim with its figure, if one is drawn."""
    drawings = sorted(found.drawings, key=_number)
    return drawings, [(row, _nearest(row, drawings)) for row in found.rows]


def _nearest(row: Row, drawings: Sequence[Drawing]) -> Drawing | None:
    """The figure of a claim: the one with its number, else the first one it is about."""
    about = [drawing for drawing in drawings if is_part(row.claim.figure, drawing.figure)]
    own = [drawing for drawing in about if drawing.figure == row.claim.figure]
    return next(iter(own or about), None)


def _number(drawing: Drawing) -> tuple[int, str]:
    if drawing.figure.startswith("T"):
        return AFTER_ALL, drawing.figure
    return int(drawing.figure.rstrip("abcdef")), drawing.figure


def _section(found: Reproduction, drawing: Drawing, rows: Sequence[Row], folder: Path) -> Section:
    title = named(drawing.figure)
    try:
        picture = draw(drawing, found.results, found.reported)
    except (KeyError, NotResults, NotDrawable) as missing:
        return Section(title, drawing.caption, None, f"not drawn, because results are missing: {missing}", rows)
    write_file(folder / f"fig{drawing.figure}.svg", picture)
    return Section(title, drawing.caption, Markup(_element(picture)), "", rows)


def named(figure: str) -> str:
    """A figure or a table by its number."""
    return f"Table {figure[1:]}" if figure.startswith("T") else f"Figure {figure}"


def draw(drawing: Drawing, results: Mapping[str, Results], reported: Sequence[Reported] = ()) -> bytes:
    """The figure with the paper's values as SVG; raises `KeyError` if results of its experiments are missing."""
    figure = drawing.draw(*(results[name] for name in drawing.experiments))
    overlay(figure, [value for value in reported if value.figure == drawing.figure])
    return compact(rendered(figure, ".svg"))


def compact(svg: bytes) -> bytes:
    """Rounds the coordinates of paths to a tenth of a point, which is not visible."""
    return PATH.sub(lambda path: DIGITS.sub(rb"\1", path.group()), svg)


def _element(svg: bytes) -> str:
    """The SVG element, without the XML declaration."""
    text = svg.decode()
    return text[text.index("<svg") :]


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tailback.papers", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip

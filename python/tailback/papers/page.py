"""The reproduction as one HTML page that needs no network: each figure beside the claims about it, misses explained."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tailback.papers.claims import is_part
from tailback.papers.drawing import Drawing
from tailback.papers.reproduction import Reproduction
from tailback.papers.scorecard import Row, held, in_one_line
from tailback.plots import NotDrawable, rendered
from tailback.results import NotResults, Results
from tailback.results.durable import make_folder, write_file
from tailback.results.provenance import tailback_version

PAGE = "reproduction.html"
FIGURES = "figures"


@dataclass(frozen=True)
class Section:
    """One figure with the claims about it; claims about no drawn figure have none."""

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
    """Writes the page, and each figure as an SVG of its own, below `out`; returns the path of the page."""
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
    left = list(found.rows)
    results = found.results
    for drawing in sorted(found.drawings, key=_number):
        rows = [row for row in left if is_part(row.claim.figure, drawing.figure)]
        left = [row for row in left if row not in rows]
        yield _section(drawing, results, rows, folder)
    if left:
        yield Section("", "Claims about several figures", None, "", left)


def _number(drawing: Drawing) -> tuple[int, str]:
    return int(drawing.figure.rstrip("abcdef")), drawing.figure


def _section(drawing: Drawing, results: Mapping[str, Results], rows: Sequence[Row], folder: Path) -> Section:
    title = f"Figure {drawing.figure}"
    try:
        picture = draw(drawing, results)
    except (KeyError, NotResults, NotDrawable) as missing:
        return Section(title, drawing.caption, None, f"not drawn, for results are missing: {missing}", rows)
    write_file(folder / f"fig{drawing.figure}.svg", picture)
    return Section(title, drawing.caption, Markup(_element(picture)), "", rows)


def draw(drawing: Drawing, results: Mapping[str, Results]) -> bytes:
    """The figure as an SVG file; a `KeyError` if results of its experiments are missing."""
    return rendered(drawing.draw(*(results[name] for name in drawing.experiments)), ".svg")


def _element(svg: bytes) -> str:
    """The SVG element without what a file has before it."""
    text = svg.decode()
    return text[text.index("<svg") :]


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tailback.papers", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip

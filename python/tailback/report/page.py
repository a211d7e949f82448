"""Writes the page: the data of `content`, the style sheet and the code, in one file."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tailback.report import content
from tailback.results import Results
from tailback.results.durable import make_folder, write_file


def write(results: Results, target: Path) -> Path:
    """Writes the file `target`; returns its path."""
    make_folder(target.parent)
    write_file(target, html(results).encode())
    return target


def html(results: Results) -> str:
    """The page of an experiment."""
    found = content.document(results)
    return _environment().get_template("page.html.j2").render(
        data=Markup(_script_json(found)), uplot=_uplot(), document=found,
    )  # fmt: skip


def _uplot() -> dict[str, Markup]:
    """The code and the style sheet of the library that draws the curves; they are no templates."""
    folder = resources.files("tailback.report") / "uplot"
    return {
        "code": Markup((folder / "uPlot.js").read_text(encoding="utf-8")),
        "style": Markup((folder / "uPlot.css").read_text(encoding="utf-8")),
    }


def _script_json(found: dict[str, Any]) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(found, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tailback.report", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip

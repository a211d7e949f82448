"""Writes the files of a comparison.

report.html         the whole comparison as one page that needs no other files
comparison.json     the document of `--json`
differences.csv     all metrics of all configurations
divergences.csv     the first divergence of each flow and column
plots/conformance.svg and .csv      the conformance matrix, if there are several configurations
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tailback.analysis.rows import with_axes
from tailback.plots import conformance, rendered
from tailback.results.durable import make_folder, write_file
from tailback.validation.comparison import Comparison
from tailback.validation.document import document, validation_document
from tailback.validation.report import as_json, has_matrix, html
from tailback.validation.session import LeftOut, Validated

REPORT = "report.html"


def write_validation(done: Validated) -> Path | None:
    """Writes the report of a validation into its folder; returns `None` if there is nothing to compare."""
    if done.comparison is None:
        return None
    return _write(done.comparison, done.folder, validation_document(done), done.left_out)


def write(comparison: Comparison, folder: Path) -> Path:
    """Writes the report and its data into `folder`; returns the path of the report."""
    return _write(comparison, folder, document(comparison), ())


def _write(comparison: Comparison, folder: Path, content: Mapping[str, Any], left_out: Sequence[LeftOut]) -> Path:
    make_folder(folder)
    configurations = comparison.pairing.configurations
    write_file(folder / "differences.csv", _csv(comparison.differences))
    write_file(folder / "divergences.csv", _csv(with_axes(comparison.divergences, configurations)))
    write_file(folder / "comparison.json", as_json(content))
    if has_matrix(comparison):
        _write_matrix(comparison, folder / "plots")
    write_file(folder / REPORT, html(comparison, left_out).encode())
    return folder / REPORT


def _write_matrix(comparison: Comparison, folder: Path) -> None:
    make_folder(folder)
    write_file(folder / "conformance.csv", _csv(comparison.deviations))
    write_file(folder / "conformance.svg", rendered(conformance.draw(comparison.deviations), ".svg"))


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, lineterminator="\n").encode()

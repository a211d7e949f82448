"""Compares two results: differences, distances, traces and their first divergence.

`compare` compares any two results. `validate` first runs one experiment on two backends, and then judges the
differences by tolerances: it shows how far the simulator is from a kernel for this experiment.
"""

from pathlib import Path

from tailback.validation.comparison import Comparison, Criteria, Divergence, compare, divergence, summary_by_counters
from tailback.validation.document import document, validation_document
from tailback.validation.every import AXES, NoRegistry, every
from tailback.validation.session import MOST, LeftOut, Request, Validated, WrongValidation, validate
from tailback.validation.twin import Twin, twin, twin_backend

__all__ = [
    "AXES",
    "MOST",
    "Comparison",
    "Criteria",
    "Divergence",
    "LeftOut",
    "NoRegistry",
    "Request",
    "Twin",
    "Validated",
    "WrongValidation",
    "compare",
    "divergence",
    "document",
    "every",
    "summary_by_counters",
    "twin",
    "twin_backend",
    "validate",
    "validation_document",
    "write",
    "write_validation",
]


def write(comparison: Comparison, folder: Path) -> Path:
    """Writes the report, which has figures, and its data into `folder`; returns the path of the report."""
    # Imported here, because the rest of this package draws nothing.
    from tailback.validation import folder as folders

    return folders.write(comparison, folder)


def write_validation(done: Validated) -> Path | None:
    """Writes the report of a validation into its folder; returns `None` if there is nothing to compare."""
    from tailback.validation import folder as folders

    return folders.write_validation(done)

"""Compares two results: differences, distances, traces and their first divergence.

`compare` compares any two results. `validate` first runs one experiment on two backends, and then judges the
differences by tolerances: it shows how far the simulator is from a kernel for this experiment.
"""

from tailback.validation.comparison import Comparison, Criteria, Divergence, compare, divergence, summary_by_counters
from tailback.validation.document import document, validation_document
from tailback.validation.every import AXES, NoRegistry, every
from tailback.validation.folder import write, write_validation
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

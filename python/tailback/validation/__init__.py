"""Compares two results: differences, distances, traces and their first divergence.

`compare` compares any two results. `validate` first runs one experiment on two backends, and then judges the
differences by tolerances: it shows how far the simulator is from a kernel for this experiment.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.validation.comparison import Comparison, Criteria, Divergence, compare, divergence, summary_by_counters
from tailback.validation.document import document, validation_document

if TYPE_CHECKING:
    from tailback.validation.session import MOST, LeftOut, Request, Validated, WrongValidation, validate
    from tailback.validation.twins import Twin, twin, twin_backend
    from tailback.validation.whole_axes import AXES, NoRegistry, every

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


_RUNNING = {
    "whole_axes": ("AXES", "NoRegistry", "every"),
    "session": ("MOST", "LeftOut", "Request", "Validated", "WrongValidation", "validate"),
    "twins": ("Twin", "twin", "twin_backend"),
}
"""What runs experiments, by module: a comparison of results needs no reader of experiment files."""


def __getattr__(name: str) -> Any:
    for module, names in _RUNNING.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


def write(comparison: Comparison, folder: Path) -> Path:
    """Writes the report, which has figures, and its data into `folder`; returns the path of the report."""
    # Imported here, because the rest of this package draws nothing.
    from tailback.validation import folder as folders

    return folders.write(comparison, folder)


def write_validation(done: "Validated") -> Path | None:
    """Writes the report of a validation into its folder; returns `None` if there is nothing to compare."""
    from tailback.validation import folder as folders

    return folders.write_validation(done)

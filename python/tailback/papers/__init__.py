"""The claims of papers as data, their measurement from results, and a scorecard."""

import importlib
from typing import TYPE_CHECKING, Any

from tailback.papers.claims import Claim, Paper, load_paper, papers
from tailback.papers.errors import UnknownPaper
from tailback.papers.explained import explained
from tailback.papers.scorecard import Row, as_document, in_full, in_one_line, score

if TYPE_CHECKING:
    from tailback.papers.on_kernel import Beside, beside, beside_as_document, write_pages
    from tailback.papers.page import write_page
    from tailback.papers.reproduction import Reproduction, Wanted, folder_of_pages, reproduce, with_conditions

__all__ = [
    "Beside",
    "Claim",
    "Paper",
    "Reproduction",
    "Row",
    "UnknownPaper",
    "Wanted",
    "as_document",
    "beside",
    "beside_as_document",
    "explained",
    "folder_of_pages",
    "in_full",
    "in_one_line",
    "load_paper",
    "papers",
    "reproduce",
    "score",
    "with_conditions",
    "write_page",
    "write_pages",
]

_DRAW = {
    **dict.fromkeys(("Beside", "beside", "beside_as_document", "write_pages"), "on_kernel"),
    **dict.fromkeys(("Reproduction", "Wanted", "folder_of_pages", "reproduce", "with_conditions"), "reproduction"),
    "write_page": "page",
}
"""What needs matplotlib, and the module that it is in."""


def __getattr__(name: str) -> Any:
    """What draws, when it is first used."""
    if name not in _DRAW:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(importlib.import_module(f"{__name__}.{_DRAW[name]}"), name)

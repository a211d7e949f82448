"""Prints findings."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailback.analysis import sentences as sentences_
    from tailback.analysis.effects import Finding


class Extent(StrEnum):
    """How many findings are said."""

    FEW = "few"
    ALL = "all"
    NONE = "none"


Findings = Annotated[
    Extent, typer.Option("--findings", help="The sentences on what changes: the few that matter, all, or none.")
]


def sentences(found: "Sequence[Finding]", extent: "sentences_.Extent", more: "Sequence[str]" = ()) -> None:
    """Prints what each axis changes, and `more` lines."""
    from rich.text import Text

    from tailback.analysis import sentences as sentences_
    from tailback.cli.console import emit

    said = [*sentences_.lines(found, extent), *more]
    if said:
        emit("", *map(Text, said))

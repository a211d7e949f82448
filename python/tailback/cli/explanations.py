"""Prints the explanation of an algorithm, a metric or a stack."""

from collections.abc import Sequence

from rich.text import Text

from tailback.cli import sheets, tables
from tailback.cli.console import emit
from tailback.cli.explanation import Explanation
from tailback.cli.sheets import Field, Sheet


def shown(found: Sequence[Explanation]) -> None:
    """Heads of algorithm files, each with its table of parameters."""
    for place, explanation in enumerate(found):
        if place:
            emit("")
        emit(Text(explanation.heading, style="bold"))
        if explanation.text:
            emit("", Text(explanation.text))
        if explanation.parameters:
            tables.show(_parameters(explanation))
        if explanation.syntax:
            emit(*([] if explanation.parameters else [""]), Text(explanation.syntax))


def _parameters(explanation: Explanation) -> Sheet:
    written = any(row.as_written is not None for row in explanation.parameters)
    fields = [
        *(Field(name, "name") for name in ("parameter", *(["as written"] if written else []), "default")),
        Field("values", "text"),
        Field("meaning", "text"),
    ]
    rows = [
        sheets.words(row.name, *([row.as_written or ""] if written else []), row.default, row.values, row.meaning)
        for row in explanation.parameters
    ]
    return Sheet("", fields, rows)

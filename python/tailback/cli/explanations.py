"""Prints the explanation of an algorithm, a metric or a stack."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from tailback.cli.catalogue import Explanation
from tailback.cli.console import emit


def shown(found: Sequence[Explanation]) -> None:
    """Heads of algorithm files, each with its table of parameters."""
    for place, explanation in enumerate(found):
        if place:
            emit("")
        emit(Text(explanation.heading, style="bold"))
        if explanation.text:
            emit("", Text(explanation.text))
        if explanation.parameters:
            emit(_parameters(explanation))
        if explanation.syntax:
            emit(*([] if explanation.parameters else [""]), Text(explanation.syntax))


def _parameters(explanation: Explanation) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    written = any(row.as_written is not None for row in explanation.parameters)
    for heading in ("parameter", *(["as written"] if written else []), "default", "values", "meaning"):
        table.add_column(heading, no_wrap=heading not in ("values", "meaning"))
    for row in explanation.parameters:
        table.add_row(row.name, *([row.as_written] if written else []), row.default, row.values, row.meaning)
    return table

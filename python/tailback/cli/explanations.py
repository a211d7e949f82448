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
        emit(Text(explanation.heading, style="bold"), "", Text(explanation.text))
        if explanation.parameters:
            emit(_parameters(explanation))


def _parameters(explanation: Explanation) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("parameter", "here", "default", "range", "meaning"):
        table.add_column(heading, no_wrap=heading != "meaning")
    for row in explanation.parameters:
        table.add_row(*map(Text, (row.name, row.here, row.default, row.range, row.meaning)))
    return table

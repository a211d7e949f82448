"""`tailback sensitivity`: the influence of each axis of a sweep."""

from typing import Annotated

import typer

from tailback.cli.options import Printed, Selection


def sensitivity(
    selection: Selection,
    metric: Annotated[str, typer.Option(metavar="NAME", help="goodput, ping p99, tcp_rtt_up_ms.p90, ...")] = "goodput",
    *,
    log: Annotated[bool, typer.Option("--log", help="Use the logarithm, for metrics that span decades.")] = False,
    printed: Printed,
) -> None:
    """Show the influence of each axis of a sweep: Sobol' indices with 95 % intervals."""
    from tailback import advice
    from tailback.cli import advised, opening, show

    indices = advice.sensitivities(opening.selected(selection), metric, logarithmic=log)
    show.result(indices, advice.sensitivity_document, advised.sensitivity, as_json=printed.as_json)

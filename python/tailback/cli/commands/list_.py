"""`tailback list`: lists the congestion controls, disciplines, metrics and so on."""

from typing import Annotated

import typer

from tailback.cli import completions
from tailback.cli.options import Printed


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="cc, qdisc, driver, stack, sysctl, preset, metric, plot, experiment, backend, table, warning, word; "
            "default: these.",
            show_default=False,
            autocompletion=completions.kinds,
        ),
    ] = None,
    *,
    printed: Printed,
) -> None:
    """List congestion controls, queue disciplines, drivers, stacks, metrics, plots, experiments and so on."""
    from tailback.cli import listings, show

    show.result(listings.listed(kind), lambda rows: listings.document(kind, rows), show.names, as_json=printed.as_json)

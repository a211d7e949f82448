"""`tailback list`: lists the congestion controls, disciplines, metrics and so on."""

from typing import Annotated

import typer

from tailback.cli import completions


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="cc, qdisc, driver, stack, sysctl, preset, metric, plot, experiment, backend, warning, word; "
            "default: these.",
            show_default=False,
            autocompletion=completions.kinds,
        ),
    ] = None,
) -> None:
    """List congestion controls, queue disciplines, drivers, stacks, metrics, plots, experiments and so on."""
    from tailback.cli import listings, show

    show.names(listings.listed(kind))

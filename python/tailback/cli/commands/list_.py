"""`tailback list`: lists the congestion controls, disciplines, metrics and so on."""

from typing import Annotated

import typer


def list_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="cc|qdisc|driver|stack|metric|plot|experiment", help="What to list.", show_default=False
        ),
    ],
) -> None:
    """List congestion controls, queue disciplines, drivers, stacks, metrics, plots or experiments."""
    from tailback.cli import listings, show

    show.names(listings.listed(kind))

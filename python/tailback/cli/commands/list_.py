"""`tailback list`: lists the congestion controls, disciplines, metrics and so on."""

from typing import Annotated

import typer

from tailback.cli import completions


def list_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="cc|qdisc|driver|stack|metric|plot|preset|experiment",
            help="What to list.",
            show_default=False,
            autocompletion=completions.kinds,
        ),
    ],
) -> None:
    """List congestion controls, queue disciplines, drivers, stacks, metrics, plots, presets or experiments."""
    from tailback.cli import listings, show

    show.names(listings.listed(kind))

"""`tailback explain`: explains an algorithm, a metric or a network stack."""

from typing import Annotated

import typer


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help='cubic, fq_codel, linux-5.4, or with options: "fq_codel limit 180".',
            show_default=False,
        ),
    ],
) -> None:
    """Explain an algorithm: its idea, source and parameters; or how a network stack differs from the newest."""
    from tailback.cli import catalogue, explanations

    explanations.shown(catalogue.explained(name))

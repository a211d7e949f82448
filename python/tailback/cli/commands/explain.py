"""`tailback explain`: explains a word: an algorithm, a metric, a key, a warning and so on."""

from typing import Annotated

import typer

from tailback.cli import completions


def explain(
    name: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="cubic, tsq, rrul, uml, few-pings, linux-5.4, bufferbloat, or with options: fq_codel limit 180.",
            show_default=False,
            autocompletion=completions.words,
        ),
    ],
) -> None:
    """Explain an algorithm, a metric, a key of the experiment file, a warning, a word of the field and so on."""
    from tailback.cli import catalogue, explanations

    explanations.shown(catalogue.explained(" ".join(name)))

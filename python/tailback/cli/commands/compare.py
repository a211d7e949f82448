"""`tailback compare`: two results folders, metric by metric."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailback.cli.options import Json, Judgement

if TYPE_CHECKING:
    from tailback.results import Results
    from tailback.validation import Comparison


def compare(
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="Results folder: before.", show_default=False)],
    candidate: Annotated[
        Path, typer.Argument(metavar="CANDIDATE", help="Results folder to compare with it: after.", show_default=False)
    ],
    judgement: Judgement,
    out: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write an HTML report with figures there.", show_default=False),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Compare two results folders, metric by metric, over their common runs."""
    from tailback import results, validation
    from tailback.cli import criteria, opening, show, verdicts

    by = criteria.of_comparison(judgement.tolerances or [], judgement.divergence)
    sides = opening.opened(reference), opening.opened(candidate)

    def over(left: "Results", right: "Results") -> "tuple[Comparison, Path | None]":
        found = validation.compare(results.pair(left, right), by)
        return found, None if out is None else validation.write(found, out)

    compared, report = opening.over_undamaged(
        sides[0], lambda left: opening.over_undamaged(sides[1], lambda right: over(left, right))
    )
    show.result(compared, validation.document, verdicts.comparison, as_json=as_json)
    verdicts.written(report)

"""`tailback compare`: two results, metric by metric."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailback.cli.found import Extent, Findings
from tailback.cli.options import Columns, Judgement, Printed, Where

if TYPE_CHECKING:
    from tailback.results import Results
    from tailback.validation import Comparison


class Shown(Printed, frozen=True):
    """What is compared, and how it is printed."""

    columns: Columns = None
    findings: Findings = Extent.FEW


def compare(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="REFERENCE CANDIDATE | DIR AXIS=REFERENCE AXIS=CANDIDATE",
            help="Two results folders, before and after, or two values of an axis of one folder.",
            show_default=False,
        ),
    ],
    judgement: Judgement,
    where: Where = None,
    out: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write an HTML report with figures there.", show_default=False),
    ] = None,
    *,
    shown: Shown,
) -> None:
    """Compare two results folders, or two parts of one, metric by metric, over their common runs."""
    from tailback import extras, results, validation
    from tailback.cli import criteria, opening, show, verdicts

    if out is not None:
        extras.need("matplotlib")
    by = criteria.of_comparison(judgement.tolerances or [], judgement.divergence, shown.columns)
    left, right = opening.two(sides, where or [])

    def over(reference: "Results", candidate: "Results") -> "tuple[Comparison, Path | None]":
        found = validation.compare(results.pair(reference, candidate), by)
        return found, None if out is None else validation.write(found, out)

    compared, report = opening.over_undamaged(
        left, lambda reference: opening.over_undamaged(right, lambda candidate: over(reference, candidate))
    )
    show.result(
        compared,
        lambda each: validation.document(each, shown.findings.value),
        lambda each: verdicts.comparison(each, shown.findings.value),
        as_json=shown.as_json,
    )
    verdicts.written(report)

"""`tailback validate`: one experiment on two backends."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli.options import Changes, File, Jobs, Judgement, Printed, Trust, backend_name, out_folder


class Backends(Struct, frozen=True):
    """The backends to compare."""

    candidate: Annotated[str, backend_name("The backend to judge.")] = "sim"
    reference: Annotated[str, backend_name("The backend to compare it with.", "--against")] = "uml"
    walk: Annotated[
        list[str] | None,
        typer.Option("--every", metavar="AXIS", help="Vary cc or qdisc over the whole registry.", show_default=False),
    ] = None
    most: Annotated[
        int | None,
        typer.Option(
            "--most", min=1, metavar="N", help="Repeat undecided configurations until decided, up to N times.",
            show_default="20",
        ),
    ] = None  # fmt: skip
    jobs: Jobs = None
    trust: Trust = False


class Outcome(Printed, frozen=True):
    """Output and exit status."""

    out: Annotated[Path | None, out_folder("Results and report.", default="results/FILE-validation")] = None
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 1 if a metric is out of tolerance.")] = (
        False
    )


def validate(file: File, changes: Changes, backends: Backends, judgement: Judgement, outcome: Outcome) -> None:
    """Run an experiment on two backends, compare the results, and judge the differences by tolerances."""
    from tailback import extras, scenario, validation
    from tailback.cli import criteria, progress, show, sweeps, verdicts

    extras.need("matplotlib")
    settings = [*validation.every(backends.walk or []), *changes.settings]
    experiment = scenario.load(file, settings)
    show.warnings(scenario.lint(experiment))
    by = criteria.of_validation(judgement.tolerances or [], judgement.divergence)
    most = validation.MOST if backends.most is None else backends.most
    request = validation.Request(backends.candidate, backends.reference, by, backends.jobs, outcome.out, settings, most)
    with progress.bar() as watch:
        done = validation.validate(experiment, request, watch)
    report = validation.write_validation(done)
    show.result(done, validation.validation_document, verdicts.validated, as_json=outcome.as_json)
    for carried in done.carried:
        sweeps.failed(carried)
    verdicts.written(report)
    raise typer.Exit(1 if done.failed or (outcome.strict and done.off) else 0)

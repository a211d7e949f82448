"""`tailback assess`: a congestion control, judged by a suite of criteria."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli import completions
from tailback.cli.options import Jobs, Printed, Repeat, backend_name, out_folder


class Asked(Struct, frozen=True):
    """The criteria."""

    suite: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="rfc9743, bbr-draft, rfc8867, satellite, rfc7928 (of disciplines), or a folder of your own.",
            show_default="rfc9743; of disciplines rfc7928",
        ),
    ] = None
    qdisc: Annotated[
        bool, typer.Option("--qdisc", help="CONTROL is a queue discipline with its options: 'fq_codel target 5ms'.")
    ] = False
    row: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only these rows: fairness, 5.2.1. May be repeated.", show_default=False),
    ] = None


class Runs(Struct, frozen=True):
    """Where and how the runs are made."""

    backend: Annotated[str, backend_name("The backend: sim, uml, uml:KERNEL or netns.")] = "sim"
    jobs: Jobs = None
    repeat: Repeat = None
    alone: Annotated[
        bool, typer.Option("--alone", help="Without the baselines that no verdict needs: sooner on a kernel.")
    ] = False
    out: Annotated[
        Path | None, out_folder("Results folder; the page is assessment.html.", default="results/assess/CONTROL")
    ] = None


class Shown(Printed, frozen=True):
    """The output."""

    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit's XML, for a CI.", show_default=False)
    ] = None
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect", help="The status for `git bisect run`: 0 if no row fails, 1 if one does, 125 if nothing tells."
        ),
    ] = False


def assess(
    control: Annotated[
        str,
        typer.Argument(
            metavar="CONTROL",
            help="A control, or a file: bbr, ./tcp_mine.c, 'mine.py beta 0.7'.",
            show_default=False,
            autocompletion=completions.of("cc"),
        ),
    ],
    asked: Asked,
    runs: Runs,
    shown: Shown,
) -> None:
    """Judge a congestion control by the criteria of a suite, with Reno, CUBIC and BBR beside it."""
    from tailback import assess as assessing
    from tailback import extras

    extras.need("matplotlib")
    suite = assessing.load_suite(asked.suite or ("rfc7928" if asked.qdisc else "rfc9743")).only(asked.row or ())
    assessing.fits(suite, qdisc=asked.qdisc)
    from tailback.assess import documents, page
    from tailback.cli import assessed, bisection, progress, show
    from tailback.results.durable import write_file

    wanted = assessing.Wanted(control, suite, runs.backend, runs.jobs, runs.out, runs.repeat, runs.alone)
    with progress.bar() as watch:
        found = assessing.assess(wanted, watch)
    written = [page.write_page(found, show.command())]
    if shown.junit is not None:
        write_file(shown.junit, documents.junit(found))
        written.append(shown.junit)
    if shown.as_json:
        show.document(documents.document(found))
    else:
        assessed.scorecard(found)
        show.paths(written)
    status = documents.status(found)
    if shown.bisect:
        bisection.decide(bisection.CANNOT_TELL if status is None else status)
    raise typer.Exit(status or 0)

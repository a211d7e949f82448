"""`tailback recommend`: the setting to choose under a bound."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli.options import Changes, Choose, Given, Jobs, Printed, Repeat, Selection, Set, Where


class Question(Struct, frozen=True):
    """The options of the question."""

    bounds: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="BOUNDS",
            help='"ping p99 < 10ms and jain > 0.9", "goodput >= 95% of best", "latency < 50ms"',
            show_default=False,
        ),
    ] = ""
    best: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The metric to optimise: high goodput, low ping p99.",
            show_default="goodput",
        ),
    ] = None
    maximise: Annotated[
        str | None, typer.Option(metavar="NAME", help="The metric to maximise.", show_default=False)
    ] = None
    minimise: Annotated[
        str | None, typer.Option(metavar="NAME", help="The metric to minimise.", show_default=False)
    ] = None
    given: Given = None
    choose: Choose = None
    where: Where = None


class Running(Struct, frozen=True):
    """Options for running an experiment."""

    sets: Set = None
    repeat: Repeat = None
    jobs: Jobs = None


def recommend(
    source: Annotated[
        Path, typer.Argument(metavar="FILE|DIR", help="An experiment to run, or its results.", show_default=False)
    ],
    question: Question,
    running: Running,
    printed: Printed,
) -> None:
    """Find the best setting under bounds, for example the one with most goodput under a bound on latency."""
    from tailback import advice, scenario
    from tailback.cli import advised, opening, show
    from tailback.limits import is_file

    file = scenario.file_of(source)
    folder = _run(file, running) if is_file(file) else source
    found = opening.selected(Selection(folder, question.where))
    wish = advice.wish(question.best, question.maximise, question.minimise, found)
    answers = advice.recommend(found, question.bounds, wish, question.given or (), question.choose or ())
    show.result(answers, advice.recommendation_document, advised.recommendations, as_json=printed.as_json)


def _run(file: Path, running: Running) -> Path:
    """Runs the missing runs of an experiment; returns its results folder."""
    from tailback import scenario, sweep
    from tailback.cli import progress, sweeps

    settings = Changes(running.sets, repeat=running.repeat).settings
    experiment = scenario.load(file, settings)
    with progress.board() as watch:
        carried = sweep.run_experiment(experiment, sweep.Request(jobs=running.jobs, settings=settings), watch)
    sweeps.failed(carried, watch)
    return carried.folder

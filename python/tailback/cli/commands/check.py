"""`tailback check`: errors and likely mistakes in an experiment file."""

from typing import Annotated

import typer

from tailback.cli.options import File, Printed, Set, Trust, backend_name, once


class Form(Printed, frozen=True):
    """What is printed."""

    expand: Annotated[
        bool,
        typer.Option("--expand", help="Print the first configuration, without variables and short forms, instead."),
    ] = False


def check(
    file: File,
    form: Form,
    sets: Set = None,
    backend: Annotated[
        str | None,
        backend_name(
            "The backend to check for: sim, uml, uml:KERNEL, netns or ssh:FILE.", default="sim, for programs any kernel"
        ),
    ] = None,
    *,
    trust: Trust = False,
) -> None:
    """Check an experiment file for errors and likely mistakes, without running it."""
    from tailback import fitting, limits, scenario
    from tailback.cli import failures, progress, show

    if form.expand and form.as_json:
        failures.one_of({"--expand": True, "--json": True})
    with progress.reading(file):
        experiment = scenario.load(file, once(sets or ()))
        found = scenario.lint(experiment)
    if form.table is not None:
        show.found_in_file(found)
    elif not form.as_json:
        show.findings(found)
    if form.expand:
        show.file(scenario.expanded(experiment.configurations[0]))
        return
    if any(configuration.keys.expect for configuration in experiment.configurations):
        # Imported here, because the names of metrics come with the slow import of the analysis.
        from tailback import sweep

        sweep.expected(experiment)
    runs = fitting.check(experiment, backend, limits.trust.code())
    untouched = [] if trust else fitting.code_in(experiment.runs())
    if form.as_json:
        show.document(show.check_document(file, runs, found, untouched))
    else:
        show.not_executed(untouched)
        show.checked(file, runs, fitting.programs_in(experiment.runs()) if backend is None else ())

"""`tailback check`: errors and likely mistakes in an experiment file."""

from typing import Annotated

from tailback.cli.options import File, Set, backend_name


def check(
    file: File,
    sets: Set = None,
    backend: Annotated[str, backend_name("The backend to check for: sim, uml, uml:KERNEL, netns or ssh:FILE.")] = "sim",
) -> None:
    """Check an experiment file for errors and likely mistakes, without running it."""
    from tailback import fitting, scenario
    from tailback.cli import show

    experiment = scenario.load(file, sets or [])
    show.findings(scenario.lint(experiment))
    if any(configuration.keys.expect for configuration in experiment.configurations):
        # Imported here, because the names of metrics come with the slow import of the analysis.
        from tailback import sweep

        sweep.expected(experiment)
    show.checked(file, fitting.check(experiment, backend))

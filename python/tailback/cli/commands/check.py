"""`tailback check`: errors and likely mistakes in an experiment file."""

from tailback.cli.options import File, Set


def check(file: File, sets: Set = None) -> None:
    """Check an experiment file for errors and likely mistakes, without running it."""
    from tailback import fitting, scenario
    from tailback.cli import show

    experiment = scenario.load(file, sets or [])
    show.findings(scenario.lint(experiment))
    show.checked(file, fitting.check(experiment))

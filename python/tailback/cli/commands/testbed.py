"""`tailback testbed`: checks the machines of a testbed, and prints the commands of a run."""

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.groups import App, Listed
from tailback.cli.options import Printed, Set, grouped, once

app = App(cls=Listed, help="Check the machines of `--backend ssh`.", no_args_is_help=True)

Testbed = Annotated[Path, typer.Argument(metavar="TESTBED", help="The testbed file (YAML).", show_default=False)]


@app.command()
@grouped
def check(
    testbed: Testbed,
    experiment: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="An experiment to check for.", show_default=False)
    ] = None,
    sets: Set = None,
    *,
    printed: Printed,
) -> None:
    """Check the machines of a testbed: pass, warn or fail, with remedies. Changes nothing on them."""
    from tailback import scenario
    from tailback.cli import show, testbeds

    backend = testbeds.opened(testbed)
    if experiment is None:
        found = list(backend.findings())
    else:
        found = testbeds.distinct(backend, scenario.load(experiment, once(sets or ())))
    show.result(found, testbeds.document, testbeds.show, as_json=printed.as_json)
    raise typer.Exit(1 if any(finding.verdict == "fail" for finding in found) else 0)


@app.command()
def plan(testbed: Testbed, experiment: Annotated[Path, typer.Argument(metavar="FILE")], sets: Set = None) -> None:
    """Print all commands of a run, by machine, without executing them."""
    from tailback import scenario
    from tailback.cli import testbeds

    testbeds.commands(testbeds.opened(testbed), scenario.load(experiment, once(sets or ())))


@app.command()
def schema() -> None:
    """Print the JSON Schema of testbed files, for editors."""
    from tailback import testbed
    from tailback.cli import show

    show.document(testbed.json_schema())

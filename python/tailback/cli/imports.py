"""What is said of a configuration that was imported: what was left out, and what has to be corrected by hand."""

from collections.abc import Sequence
from pathlib import Path

from tailback.cli.failures import WrongInput


def teacup(files: Sequence[Path], folder: Path) -> None:
    """A configuration as an experiment file and a testbed file."""
    from tailback import formats, scenario, testbed
    from tailback.cli import show

    if len(files) != 1:
        raise WrongInput("one configuration at a time\n  hint: tailback import teacup config.py --out DIR")
    written, notes = formats.import_teacup(files[0], folder)
    show.paths(written)
    show.errors(f"not imported: {note}" for note in notes)
    experiment, machines = written
    for read in (lambda: scenario.load(experiment), lambda: testbed.load(machines)):
        try:
            read()
        except scenario.ScenarioError as wrong:
            show.errors([f"to be corrected by hand:\n{wrong}"])

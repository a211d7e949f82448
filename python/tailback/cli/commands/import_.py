"""`tailback import`: measurements of other programs as results, and their configurations as experiments."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli import failures
from tailback.cli.options import out_folder


class Configuration(Struct, frozen=True):
    """Options of `teacup`."""

    delay_first: Annotated[
        bool,
        typer.Option(
            "--delay-first",
            help="teacup: delay and loss before the bottleneck, as CAIA's report 140630A has it; TEACUP 1.x: after it.",
        ),
    ] = False


def import_(
    kind: Annotated[
        str, typer.Argument(metavar="flent|pcap|teacup", help="The kind of the files.", show_default=False)
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The files.", show_default=False)],
    configuration: Configuration,
    out: Annotated[Path, out_folder("Folder of the results.")] = Path("results/imported"),
    axes: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="AXIS=VALUE", help="Label of these results.", show_default=False),
    ] = None,
) -> None:
    """Import Flent files or captures as results, or a TEACUP configuration as an experiment."""
    from tailback import formats
    from tailback.cli import show

    if kind == "teacup":
        _teacup(files, out, configuration)
        return
    show.paths([formats.import_files(kind, files, out, failures.pairs(axes or [], "--axis"))])


def _teacup(files: Sequence[Path], folder: Path, configuration: Configuration) -> None:
    """Imports a configuration as an experiment file and a testbed file."""
    from tailback import formats, scenario, testbed
    from tailback.cli import show

    if len(files) != 1:
        raise failures.WrongInput("give one configuration\n  hint: tailback import teacup config.py --out DIR")
    written, notes = formats.import_teacup(files[0], folder, delay_first=configuration.delay_first)
    show.paths(written)
    show.errors(notes)
    experiment, machines = written
    for read in (lambda: scenario.load(experiment), lambda: testbed.load(machines)):
        try:
            read()
        except scenario.ScenarioError as wrong:
            show.errors([f"correct this by hand:\n{wrong}"])

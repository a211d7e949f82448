"""`tailback drill`: packetdrill scripts."""

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.options import Printed


def drill(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="packetdrill scripts (*.pkt).", show_default=False)
    ],
    tolerance: Annotated[
        int | None,
        typer.Option(
            "--tolerance-usecs",
            metavar="N",
            min=0,
            help="Tolerance of times, in microseconds.",
            show_default="the script's own, or 4000",
        ),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Network stack: linux-6.12, linux-5.10, ...", show_default="linux-6.12"),
    ] = None,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="sim, or a real kernel: uml, uml:NAME.", show_default="sim")
    ] = "sim",
    *,
    printed: Printed,
) -> None:
    """Run packetdrill scripts against the simulator's TCP or a kernel's. Status 1: one failed; 2: one cannot run."""
    from tailback import drill
    from tailback.cli import drills, show

    reports = drill.run_files(files, drill.Settings(tolerance, stack, backend))
    show.result(reports, drill.as_document, drills.reported, as_json=printed.as_json)
    raise typer.Exit(drill.status(reports))

"""`tailback export`: results for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli import failures
from tailback.cli.options import Selection, out_folder


def export(
    selection: Selection,
    *,
    flent: Annotated[bool, typer.Option("--flent", help="Data files of Flent, one per run.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="All tables and summaries as CSV.")] = False,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The Flent test to name in the files, e.g. rrul.",
            show_default="the one with these flows",
        ),
    ] = None,
    out: Annotated[Path | None, out_folder("Output folder.", default="DIR/flent, DIR/csv")] = None,
) -> None:
    """Export results as Flent or CSV files."""
    from tailback import formats
    from tailback.cli import opening, show

    failures.one_of({"--flent": flent, "--csv": csv})
    found = opening.selected(selection)
    if flent:
        flents = out or selection.folder / "flent"
        show.paths(opening.over_undamaged(found, lambda sound: formats.export_flent(sound, flents, test)))
    else:
        show.paths(
            opening.over_undamaged(found, lambda sound: formats.export_csv(sound, out or selection.folder / "csv"))
        )

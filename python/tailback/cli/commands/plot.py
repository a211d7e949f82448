"""`tailback plot`: figures of a results folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.options import Selection, out_file


def _show_plots(wanted: bool) -> None:
    """Implements `plot --list`, which needs no folder."""
    if wanted:
        from tailback.cli import listings, show

        show.names(listings.listed("plot"))
        raise typer.Exit


Beside = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="DIR", help="Add these results to the figure; the axis `results` distinguishes them."
    ),
]


@dataclass(frozen=True)
class Figure:
    """The figure to draw, and its file."""

    name: Annotated[
        str | None, typer.Option("-p", "--plot", metavar="NAME", help="The plot; see --list.", show_default=False)
    ] = None
    out: Annotated[Path | None, out_file("png, pdf or svg.", "DIR/plots/NAME.png")] = None
    _list: Annotated[
        bool, typer.Option("--list", help="List the plots and exit.", is_eager=True, callback=_show_plots)
    ] = False


@dataclass(frozen=True)
class Layout:
    """The content of a figure, and its layout."""

    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The metric of bar, heatmap (ping_ms.p90), cdf or band (rtt).", show_default=False
        ),
    ] = None
    x: Annotated[str | None, typer.Option("--x", metavar="AXIS", help="The axis along x.", show_default=False)] = None
    colour: Annotated[
        str | None, typer.Option(metavar="AXIS", help="The axis shown by colour; y of a heat map.", show_default=False)
    ] = None
    facet: Annotated[
        list[str] | None, typer.Option(metavar="AXIS", help="One panel for each value of AXIS.", show_default=False)
    ] = None


def plot(selection: Selection, figure: Figure, layout: Layout, beside: Beside = None) -> None:
    """Draw a figure from a results folder, and write its data as CSV beside it."""
    from tailback import plots
    from tailback.cli import opening, show

    found = opening.selected(selection, beside or ())
    chosen = plots.find_plot(figure.name) if figure.name else plots.default_plot(found)
    target = figure.out if figure.out is not None else selection.folder / "plots" / f"{chosen.name}.png"
    choice = plots.Choice(layout.x, layout.colour, tuple(layout.facet or ()), layout.metric)
    output = plots.Output(target, show.command())
    show.paths(opening.over_undamaged(found, lambda sound: plots.draw_to(chosen, sound, output, choice)))

"""`tailback plot`: figures of a results folder."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli import completions
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


class Figure(Struct, frozen=True):
    """The figure to draw, and its file."""

    name: Annotated[
        str | None,
        typer.Option(
            "-p",
            "--plot",
            metavar="NAME",
            help="The plot; see --list.",
            show_default=False,
            autocompletion=completions.of("plot"),
        ),
    ] = None
    out: Annotated[Path | None, out_file("png, pdf or svg.", "DIR/plots/NAME.png")] = None
    _list: Annotated[
        bool, typer.Option("--list", help="List the plots and exit.", is_eager=True, callback=_show_plots)
    ] = False


class Shared(StrEnum):
    """Which panels have the same scale."""

    ALL = "all"
    ROW = "row"
    COL = "col"
    NONE = "none"


class Layout(Struct, frozen=True):
    """The content of a figure, and its layout."""

    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The metric of bar, heatmap (ping_ms.p90), cdf or band (ping).",
            show_default=False,
            autocompletion=completions.of("metric"),
        ),
    ] = None
    x: Annotated[str | None, typer.Option("--x", metavar="AXIS", help="The axis along x.", show_default=False)] = None
    colour: Annotated[
        str | None, typer.Option(metavar="AXIS", help="The axis shown by colour; y of a heat map.", show_default=False)
    ] = None
    facet: Annotated[
        list[str] | None, typer.Option(metavar="AXIS", help="One panel for each value of AXIS.", show_default=False)
    ] = None
    share_y: Annotated[
        Shared | None,
        typer.Option(
            "--share-y",
            help="The panels of lines with the same scale along y: all, those of a row or of a column, or none.",
            show_default=False,
        ),
    ] = None
    bin: Annotated[
        str | None,
        typer.Option(
            "--bin", metavar="TIME", help="Width of the bins of a curve over time: 100ms.", show_default=False
        ),
    ] = None


class Scale(StrEnum):
    """The scale of an axis."""

    LINEAR = "linear"
    LOG = "log"


class Style(StrEnum):
    """Where a figure will be seen."""

    PAPER = "paper"
    SLIDES = "slides"


class Frame(Struct, frozen=True):
    """What the user sets about the finished figure."""

    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The title.", show_default=False)] = None
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="Width and height in inches: 7x4.", show_default=False)
    ] = None
    x_scale: Annotated[Scale | None, typer.Option(help="The scale along x.", show_default=False)] = None
    y_scale: Annotated[Scale | None, typer.Option(help="The scale along y.", show_default=False)] = None
    x_limits: Annotated[
        str | None, typer.Option("--xlim", metavar="A:B", help="The range along x: 0:50.", show_default=False)
    ] = None
    y_limits: Annotated[
        str | None, typer.Option("--ylim", metavar="A:B", help="The range along y: 0:50.", show_default=False)
    ] = None
    style: Annotated[Style, typer.Option(help="For a column or page of a paper, or for slides (16:9).")] = Style.PAPER


def plot(selection: Selection, figure: Figure, layout: Layout, frame: Frame, beside: Beside = None) -> None:
    """Draw a figure from a results folder, and write its data as CSV beside it."""
    from tailback import plots
    from tailback.cli import opening, show
    from tailback.plots import frame as frames

    around = frames.Frame(
        frame.title,
        None if frame.size is None else frames.size(frame.size),
        None if frame.x_scale is None else frame.x_scale.value,
        None if frame.y_scale is None else frame.y_scale.value,
        None if frame.x_limits is None else frames.limits(frame.x_limits, "--xlim"),
        None if frame.y_limits is None else frames.limits(frame.y_limits, "--ylim"),
        frame.style.value,
    )
    found = opening.selected(selection, beside or ())
    chosen = plots.find_plot(figure.name) if figure.name else plots.default_plot(found)
    target = figure.out if figure.out is not None else selection.folder / "plots" / f"{chosen.name}.png"
    choice = plots.Choice(
        x=layout.x,
        colour=layout.colour,
        facet=tuple(layout.facet or ()),
        metric=layout.metric,
        bin_ns=_bin(layout.bin),
        share_y=None if layout.share_y is None else layout.share_y.value,
    )
    output = plots.Output(target, show.command(), around)
    show.paths(opening.over_undamaged(found, lambda sound: plots.draw_to(chosen, sound, output, choice)))


def _bin(text: str | None) -> int | None:
    """The width of bins in ns."""
    from tailback.plots.errors import NotDrawable
    from tailback.tc import units
    from tailback.tc.errors import WordError

    try:
        return None if text is None else units.span(text)
    except WordError as error:
        raise NotDrawable(f"--bin: {error}\n  hint: write a time: --bin 100ms") from None

"""`tailback pareto`: the trade-off between goodput and latency."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from tailback.cli.options import Choose, Given, Printed, Selection, out_file

if TYPE_CHECKING:
    from tailback.advice import Front


class Apart(Struct, frozen=True):
    """Which axes have a front for each of their values."""

    given: Given = None
    choose: Choose = None


def pareto(
    selection: Selection,
    apart: Apart,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The latency: ping p99, rtt p50, ...",
            show_default="that of the application, else ping p99",
        ),
    ] = None,
    out: Annotated[Path | None, out_file("The figure.", "DIR/plots/pareto.png")] = None,
    *,
    printed: Printed,
) -> None:
    """Show and draw the Pareto front of goodput and latency."""
    from tailback import advice, plots
    from tailback.cli import advised, opening, show

    found = opening.selected(selection)
    given, choose = apart.given or (), apart.choose or ()

    def shown_and_drawn(fronts: "Sequence[Front]") -> None:
        advised.fronts(fronts)
        target = plots.Output(out if out is not None else selection.folder / "plots" / "pareto.png", show.command())
        choice = plots.Choice(metric=metric, facet=tuple(given), choose=tuple(choose))
        show.paths(plots.draw_to(plots.find_plot("pareto"), found, target, choice))

    show.result(
        advice.fronts(found, metric, given, choose), advice.front_document, shown_and_drawn, as_json=printed.as_json
    )

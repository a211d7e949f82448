"""`tailback reproduce`: runs the experiments of papers and checks their claims."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from msgspec import Struct

from tailback.cli.options import Printed, backend_name, out_folder, parallel

Conditions = Literal["stated", "search", "what-if"]


class Under(Struct, frozen=True):
    """Options for the conditions of the testbed."""

    conditions: Annotated[
        Conditions,
        typer.Option(
            help="stated: what the paper states, with our choices where it is silent; search: compare these choices "
            "by the claims; what-if: with what contradicts the paper, too.",
        ),
    ] = "stated"
    search: Annotated[bool, typer.Option("--search", help="The same as --conditions search.")] = False


class Running(Struct, frozen=True):
    """Options for running the experiments."""

    quick: Annotated[bool, typer.Option("--quick", help="Run one shorter repetition of each configuration.")] = False
    jobs: Annotated[int | None, parallel("all cores")] = None
    out: Annotated[Path, out_folder("Folder of the results.")] = Path("results")
    backend: Annotated[str, backend_name("uml:KERNEL: run PAPER on it, and beside it on the simulator.")] = "sim"


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="access21, wlan18, ton22, teacup14; default: all.")
    ] = None,
    figure: Annotated[str | None, typer.Argument(metavar="FIGURE", help="5, 5a, fig5, …; default: all.")] = None,
    *,
    under: Under,
    running: Running,
    printed: Printed,
) -> None:
    """Reproduce papers: run their experiments, check each claim, print a scorecard."""
    from tailback import extras

    extras.need("matplotlib")
    from tailback import papers
    from tailback.cli import progress, scorecards, show
    from tailback.papers import search

    if running.backend != "sim":
        raise typer.Exit(_on_kernel_and_simulator(paper or "", figure, running, printed))
    if under.search or under.conditions == "search":
        with progress.bar() as watch:
            tried = search.search(papers.Wanted(paper or "", jobs=running.jobs, out=running.out), watch)
        return show.result(tried, search.as_document, scorecards.search_table, as_json=printed.as_json)
    conditions = under.conditions
    names = [paper] if paper else papers.with_conditions(conditions)
    wanted = [
        papers.Wanted(name, figure, running.quick, running.jobs, running.out, conditions=conditions) for name in names
    ]
    with progress.bar() as watch:
        found = [papers.reproduce(one, watch) for one in wanted]
    page = papers.write_page(found, papers.folder_of_pages(running.out, conditions))
    rows = [row for reproduction in found for row in reproduction.rows]
    show.result(rows, papers.as_document, lambda rows: scorecards.scorecard(rows, page), as_json=printed.as_json)
    errors = [error for reproduction in found for error in reproduction.errors]
    show.errors(errors)
    raise typer.Exit(1 if errors else 0)


def _on_kernel_and_simulator(paper: str, figure: str | None, running: Running, printed: Printed) -> int:
    """Reproduces a paper on a kernel and on the simulator; returns the exit status."""
    from tailback import papers
    from tailback.cli import progress, scorecards, show

    wanted = papers.Wanted(paper, figure, running.quick, running.jobs, running.out, running.backend)
    with progress.bar() as watch:
        found = papers.beside(wanted, watch)
    pages = papers.write_pages(found, wanted)
    show.result(
        found, papers.beside_as_document, lambda found: scorecards.both_sides(found, pages), as_json=printed.as_json
    )
    show.errors(found.errors)
    return 1 if found.errors else 0

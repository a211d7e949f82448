"""`tailback reproduce`: runs the experiments of papers and checks their claims."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli.options import Printed, backend_name, out_folder, parallel


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
    search: Annotated[
        bool, typer.Option("--search", help="Compare the inferred conditions of PAPER's testbed by its claims.")
    ] = False,
    running: Running,
    printed: Printed,
) -> None:
    """Reproduce papers: run their experiments, check each claim, print a scorecard."""
    from tailback import papers
    from tailback.cli import progress, scorecards, show

    if running.backend != "sim":
        raise typer.Exit(_on_kernel_and_simulator(paper or "", figure, running, printed))
    if search:
        with progress.bar() as watch:
            tried = papers.search(papers.Wanted(paper or "", jobs=running.jobs, out=running.out), watch)
        return show.result(tried, papers.search_as_document, scorecards.search_table, as_json=printed.as_json)
    names = [paper] if paper else papers.papers()
    wanted = [papers.Wanted(name, figure, quick=running.quick, jobs=running.jobs, out=running.out) for name in names]
    with progress.bar() as watch:
        found = [papers.reproduce(one, watch) for one in wanted]
    page = papers.write_page(found, running.out)
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

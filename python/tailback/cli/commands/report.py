"""`tailback report`: a results folder as one page."""

from pathlib import Path
from typing import Annotated

from tailback.cli.options import Selection, out_file


def report(
    selection: Selection,
    out: Annotated[Path | None, out_file("The HTML page.", "DIR/report.html")] = None,
) -> None:
    """Write an interactive report of a results folder as one HTML page that needs no network."""
    from tailback import report as reports
    from tailback.cli import failures, opening, show

    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise failures.WrongInput(
            f"`{out}` is not the name of a page\n  hint: end it in .html; a browser prints the page as PDF"
        )
    found = opening.selected(selection)
    unread = reports.unread(found)
    if unread is not None:
        show.errors([unread])
    target = out if out is not None else selection.folder / "report.html"
    show.paths([opening.over_undamaged(found, lambda sound: reports.write(sound, target))])

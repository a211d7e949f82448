"""`tailback rerun`: runs a bundle again, and says whether every table is the same."""

import os
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli.options import Jobs, Printed, Trust, Where, out_folder


class Which(Struct, frozen=True):
    """Which runs are run again, and how."""

    where: Where = None
    jobs: Jobs = None
    out: Annotated[Path | None, out_folder("Keep the new results here.", default="they are not kept")] = None
    trust: Trust = False


def rerun(
    bundle: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A bundle of `tailback bundle`, or a results folder.", show_default=False),
    ],
    which: Which,
    shown: Printed,
) -> None:
    """Run a bundle again, and say whether every table is equal to the byte.

    The status is 0 if all are, 1 if one is not.
    """
    from tailback import bundle as bundles
    from tailback.bundle.rerun import How
    from tailback.cli import again, opening, progress, show
    from tailback.cli.options import Selection

    with bundles.opened(bundle) as folder:
        found = opening.selected(Selection(folder, which.where))
        with progress.board() as watch:
            done = bundles.rerun(found, How(which.jobs or os.cpu_count() or 1, which.out), watch)
    show.result(done, bundles.Again.document, again.told, as_json=shown.as_json)
    raise typer.Exit(1 if done.different else 0)

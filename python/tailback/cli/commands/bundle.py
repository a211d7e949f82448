"""`tailback bundle`: results as one file for others to check."""

from pathlib import Path
from typing import Annotated

from tailback.cli.options import Selection, out_file


def bundle(
    selection: Selection,
    out: Annotated[Path | None, out_file("The archive.", "DIR.zip")] = None,
) -> None:
    """Pack a results folder, with its figures and all that it takes to run it again, into one file.

    Whoever has it can check it: `tailback rerun FILE`.
    """
    from tailback import bundle as bundles
    from tailback.cli import failures, opening, show

    if out is not None and out.suffix.lower() != ".zip":
        raise failures.WrongInput(f"`{out}` is not the name of a bundle\n  hint: end it in .zip")
    found = opening.selected(selection)
    folder = found.path.resolve()
    target = out if out is not None else folder.parent / f"{folder.name}.zip"
    show.paths([bundles.write(found, target)])

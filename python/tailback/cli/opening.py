"""Opens results folders for commands: damaged runs are named on stderr and left out."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from tailback import results
from tailback.cli import failures, show
from tailback.cli.options import Selection
from tailback.results import Results, RunDamaged

Made = TypeVar("Made")


def opened(folder: Path) -> Results:
    """The sound runs in `folder`."""
    found = results.open_results(folder)
    left_out(found.damaged)
    return found


def selected(selection: Selection, beside: Sequence[Path] = ()) -> Results:
    """The sound runs that `--where` selects, of a folder and those `beside` it."""
    found = opened(selection.folder)
    if beside:
        found = results.combined([found, *map(opened, beside)])
    return found.select(**failures.pairs(selection.where or [], "--where"))


def over_sound(found: Results, use: Callable[[Results], Made]) -> Made:
    """What `use` makes of the runs, again without one that turns out to be damaged when its tables are read."""
    while True:
        try:
            return use(found)
        except RunDamaged as damaged:
            found = found.without(damaged)
            left_out([damaged])


def left_out(damaged: Iterable[RunDamaged]) -> None:
    """Names them."""
    show.errors(f"left out: {each}" for each in damaged)

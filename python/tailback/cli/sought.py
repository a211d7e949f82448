"""Prints searches."""

import contextlib
from collections.abc import Iterator

from tailback.cli import console, failures
from tailback.cli.console import stderr
from tailback.search import Found, Wanted
from tailback.search.finding import Kept
from tailback.search.session import Watch


@contextlib.contextmanager
def progress() -> Iterator[Watch]:
    """A bar on stderr if that is a terminal."""
    from tailback.cli import progress as bars

    with failures.interruptible(), bars.bar() as shown:

        def watch(count: int, best: float, spent: float) -> None:
            del best
            shown.update(count, count, spent)

        yield watch


def result(found: Found, wanted: Wanted, place: Kept) -> None:
    """Prints the finding, or how near the search came."""
    effort = f"{found.evaluations} runs"
    if not found.text:
        at = ", ".join(found.settings)
        console.line(f"not found in {effort}: {wanted.condition.text}")
        console.line(f"  nearest, with a score of {found.score:.3f} (above 0 it would hold): {at}")
        console.line("  hint: search longer (--budget 5min), or over more keys")
        return
    stderr().print(
        f"found after {effort}, shrunk in {found.shrinking} more to {found.lines} lines; "
        f"{found.per_cpu_s:.0f} runs per CPU second"
    )
    console.line(found.text.rstrip())
    for said in place.verified:
        console.line(said)
    for path in place.files:
        stderr().print(str(path))

"""The two streams a command prints to, a terminal or a pipe."""

import sys

from rich.console import Console, RenderableType

PIPE_WIDTH = 1000
"""Columns of a table that is not printed to a terminal: nothing is cut or wrapped."""


def emit(*parts: RenderableType) -> None:
    """On stdout; on a pipe without the blanks that fill lines up."""
    console = stdout()
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def stdout() -> Console:
    """A terminal as it is; a pipe as wide as anything printed."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(width=PIPE_WIDTH, highlight=False)


def stderr() -> Console:
    """Where everything goes that is not a result."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def counted(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

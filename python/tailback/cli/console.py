"""The two output streams of a command, each a terminal or a pipe.

Everything a command prints goes through here: text is `plain.visible` and never markup, whoever wrote it.
"""

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tailback import plain

PIPE_WIDTH = 1000
"""Columns of a table that is not printed to a terminal: nothing is cut or wrapped."""


class _Plain(Console):
    """A console on which only its own styles are escapes."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain.visible(segment.text))


def line(text: object) -> None:
    """A line on stdout."""
    print(plain.visible(str(text)))


def error(text: object) -> None:
    """What went wrong, on stderr."""
    print(plain.visible(str(text)), file=sys.stderr)


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
    return _Plain() if sys.stdout.isatty() else _Plain(width=PIPE_WIDTH)


def stderr() -> Console:
    """The stream for everything except results."""
    return _Plain(stderr=True, soft_wrap=True)


def counted(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

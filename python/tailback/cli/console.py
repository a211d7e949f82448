"""The output streams of a command, each a terminal or a pipe.

All output goes through this module, which makes text safe (`plain.visible`) and interprets no markup.
"""

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tailback import plain

PIPE_WIDTH = 1000
"""Width of tables that are not printed to a terminal, so that nothing is truncated or wrapped."""


class _Plain(Console):
    """A console whose only escape sequences are its own styles."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain.visible(segment.text))


def line(text: object) -> None:
    """Prints a line to stdout."""
    print(plain.visible(str(text)))


def error(text: object) -> None:
    """Prints an error to stderr."""
    print(plain.visible(str(text)), file=sys.stderr)


def emit(*parts: RenderableType) -> None:
    """Prints to stdout; on a pipe, without trailing spaces."""
    console = stdout()
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def stdout() -> Console:
    """The console of stdout; a pipe has unlimited width."""
    return _Plain() if sys.stdout.isatty() else _Plain(width=PIPE_WIDTH)


def stderr() -> Console:
    """The stream for everything except results."""
    return _Plain(stderr=True, soft_wrap=True)


def counted(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

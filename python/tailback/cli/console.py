"""The output streams of a command, each a terminal or a pipe.

All output goes through this module, which makes text safe (`plain.visible`) and interprets no markup. Commands that
print lines only start without the library that draws tables. With `--table` the table is alone on stdout, and
everything else goes to stderr (`give`).
"""

import sys
from typing import TYPE_CHECKING, TextIO

from tailback import plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPE_WIDTH = 1000
"""Width of tables that are not printed to a terminal, so that nothing is truncated or wrapped."""

MAX_NAMED = 5
"""Maximum number of configurations in a remark."""


class _State:
    form: str | None = None
    tables = 0


def give(form: str | None) -> None:
    """Sets the form of tables (`csv`, `markdown`, `latex`) for this command; `None` is text."""
    _State.form, _State.tables = form, 0


def form() -> str | None:
    """The form of tables; `None` is text."""
    return _State.form


def alone(text: str) -> None:
    """Prints a table in its form to stdout, with an empty line before each further one."""
    print(f"\n{text}" if _State.tables else text)
    _State.tables += 1


def line(text: object) -> None:
    """Prints a line to stdout."""
    print(plain.visible(str(text)), file=stream())


def aside(text: object) -> None:
    """Prints a line to stderr: an error, a warning, a remark."""
    print(plain.visible(str(text)), file=sys.stderr)


def emit(*parts: "RenderableType") -> None:
    """Prints to stdout; on a pipe, without trailing spaces."""
    console = stdout()
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()), file=stream())


def stdout() -> "Console":
    """The console of stdout; a pipe has unlimited width."""
    from tailback.cli.styled import PlainConsole

    out = stream()
    return PlainConsole(file=out) if out.isatty() else PlainConsole(file=out, width=PIPE_WIDTH)


def stderr() -> "Console":
    """The stream for everything except results."""
    from tailback.cli.styled import PlainConsole

    return PlainConsole(stderr=True, soft_wrap=True)


def stream() -> TextIO:
    """Where results go that are not a table in a form of its own."""
    return sys.stdout if _State.form is None else sys.stderr


def counted(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

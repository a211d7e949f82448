"""Shows the progress of a command on stderr if that is a terminal, and handles Ctrl-C."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailback.cli import failures
from tailback.cli.console import stderr

if TYPE_CHECKING:
    from rich.progress import Progress

    from tailback.sweep import Audience, Watch


@contextlib.contextmanager
def board() -> "Iterator[Audience]":
    """The progress of one sweep: a table, a bar, the remaining time."""
    with failures.interruptible(), _board() as watch:
        yield watch


@contextlib.contextmanager
def _board() -> "Iterator[Audience]":
    if not sys.stderr.isatty():
        from tailback.cli import lines

        yield lines.Lines()
        return
    from tailback.cli import live

    with live.board() as watch:
        yield watch


PATIENCE_S = 2.0
"""How long a command may be silent."""


@contextlib.contextmanager
def reading(file: object) -> Iterator[None]:
    """Says what is done, if reading an experiment takes longer than users wait: 100,000 entries take ten seconds."""
    if not sys.stderr.isatty():
        yield
        return
    said = threading.Timer(PATIENCE_S, lambda: stderr().print(f"reading and checking {file}, which is large ..."))
    said.daemon = True
    said.start()
    try:
        yield
    finally:
        said.cancel()


@contextlib.contextmanager
def bar() -> "Iterator[Watch]":
    """The progress of several sweeps: a bar."""
    with failures.interruptible(), _bar() as watch:
        yield watch


@contextlib.contextmanager
def _bar() -> "Iterator[Watch]":
    if not sys.stderr.isatty():
        from tailback.sweep import Silent

        yield Silent()
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description} {task.fields[done]}", markup=False),
        BarColumn(bar_width=40),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr(), transient=True) as shown:
        yield _Bar(shown)


class _Bar:
    """An observer that updates a bar."""

    def __init__(self, bar: "Progress") -> None:
        self._bar = bar
        self._task = bar.add_task("runs", total=1.0, done="")

    def update(self, done: int, total: int, fraction: float) -> None:
        self._bar.update(self._task, completed=fraction, done=f"{done}/{total}")

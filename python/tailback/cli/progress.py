"""Shows the progress of a command on stderr if that is a terminal, and tells a user who interrupts it that nothing
is lost.
"""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tailback.cli import failures
from tailback.cli.console import stderr

if TYPE_CHECKING:
    from rich.progress import Progress

    from tailback.sweep import Audience, Watch


@contextlib.contextmanager
def board() -> "Iterator[Audience]":
    """Of one sweep: a table that fills up, a bar, the time left."""
    from tailback.cli import live

    with failures.interruptible(), live.board() as watch:
        yield watch


@contextlib.contextmanager
def bar() -> "Iterator[Watch]":
    """Of several sweeps: a bar."""
    with failures.interruptible(), _bar() as watch:
        yield watch


@contextlib.contextmanager
def _bar() -> "Iterator[Watch]":
    if not sys.stderr.isatty():
        yield _Nobody()
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
    """A watch that moves a bar."""

    def __init__(self, bar: "Progress") -> None:
        self._bar = bar
        self._task = bar.add_task("runs", total=1.0, done="")

    def update(self, done: int, total: int, fraction: float) -> None:
        self._bar.update(self._task, completed=fraction, done=f"{done}/{total}")


class _Nobody:
    """A watch that looks away."""

    def update(self, done: int, total: int, fraction: float) -> None:
        pass

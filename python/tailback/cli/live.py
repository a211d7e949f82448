"""Shows a running sweep on stderr, a terminal: a table of results, a progress bar, the remaining time."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tailback.analysis.choosing import chosen
from tailback.analysis.digits import significant
from tailback.analysis.metric import Column
from tailback.analysis.repetitions import means
from tailback.cli.console import PIPE_WIDTH, stderr
from tailback.cli.show import time_span
from tailback.results import RunPlan
from tailback.sweep import Audience, Listener, Outcome
from tailback.sweep.pace import Pace

MOST_COLUMNS = 5
"""Columns of the table while a sweep runs: of the numbers that its runs have, those that matter most."""

OTHER_LINES = 10
"""Number of lines of the terminal that are not rows: heading, remark, bar, prompt."""

NARROW = 60
"""Width of the terminal below which no bar is shown."""

REFRESH_HZ = 4

EARLIEST_S = 1.0
"""Time before which no estimate of the remaining time is shown."""

Place = tuple[tuple[str, str], ...]


class Board(Listener):
    """The state of a sweep, and how it is displayed."""

    def __init__(self, height: int, say: Callable[[str], None] = print) -> None:
        self._say = say
        self._rows = max(1, height - OTHER_LINES)
        self._wanted: dict[Place, int] = {}
        self._ended: dict[Place, list[Outcome]] = {}
        self._began = time.monotonic()
        self._failed = 0
        self._pace = Pace(())
        columns = (
            TextColumn("{task.description}", markup=False), BarColumn(bar_width=40), TaskProgressColumn(),
            TimeElapsedColumn(), TextColumn("{task.fields[left]}", markup=False),
        )  # fmt: skip
        self._bar = Progress(*columns)
        self._text = "runs"
        self._task = self._bar.add_task("runs", total=1.0, left="")

    def begun(self, runs: Sequence[RunPlan]) -> None:
        """Called with all possible runs."""
        self._wanted, self._ended, self._failed = {}, {}, 0
        self._pace = Pace(runs)
        self._began = time.monotonic()
        for run in runs:
            place = tuple(run.axes.items())
            self._wanted[place] = self._wanted.get(place, 0) + 1

    def ended(self, outcome: Outcome) -> None:
        """Adds a finished run; its configuration moves to the end of the table."""
        place = tuple(outcome.run.axes.items())
        self._ended[place] = [*self._ended.pop(place, []), outcome]
        self._pace.ended(outcome)
        self._failed += outcome.status != "ok"

    def said(self, run: str, notice: str) -> None:
        """Prints what a backend says of a run above the table."""
        self._say(f"run {run}: {notice}")

    def update(self, done: int, total: int, fraction: float) -> None:
        """Moves the bar."""
        text = f"runs {done}/{total}" + (f", {self._failed} failed" if self._failed else "")
        self._text = f"{text}, {fraction:.0%}"
        self._bar.update(
            self._task, completed=fraction, description=text, left=self._time_left(fraction * total - done)
        )

    def _time_left(self, under_way: float) -> str:
        passed = time.monotonic() - self._began
        span = None if passed < EARLIEST_S else self._pace.left(passed, under_way)
        return "" if span is None else f"{time_span(span.low, span.high)} left"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Renders the table and the bar, reduced to the width of the terminal."""
        if options.max_width < NARROW:
            yield Text(self._text, no_wrap=True, overflow="ellipsis")
            return
        places = list(self._ended)[-self._rows :]
        columns = self._columns(places)
        for shown in range(len(columns), -1, -1) if places else ():
            table = self._table(places, columns[:shown])
            if Measurement.get(console, options.update(max_width=PIPE_WIDTH), table).maximum <= options.max_width:
                yield table
                hidden = len(self._wanted) - len(places)
                more = "configuration" if hidden == 1 else "configurations"
                yield Text(f"and {hidden} more {more}" if hidden > 0 else "", style="dim")
                break
        yield self._bar

    def _columns(self, places: Sequence[Place]) -> list[Column]:
        """What the table after the run has first, in its order."""
        found = chosen(outcome.summary for place in places for outcome in self._ended[place] if outcome.summary)
        most = sorted(found, key=lambda each: each.rank)[:MOST_COLUMNS]
        return [each.column for each in found if each in most]

    def _table(self, places: Sequence[Place], columns: Sequence[Column]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for axis, _ in places[0]:
            table.add_column(axis, no_wrap=True, vertical="bottom")
        table.add_column("runs", justify="right", no_wrap=True, vertical="bottom")
        for column in columns:
            heading = "\n".join((*column.title.rsplit(" ", 1), column.unit))
            table.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
        for place in places:
            table.add_row(*map(Text, self._cells(place, columns)))
        return table

    def _cells(self, place: Place, columns: Sequence[Column]) -> list[str]:
        ended = self._ended[place]
        runs = [(outcome.run.axes, outcome.summary) for outcome in ended if outcome.summary is not None]
        numbers = ["–"] * len(columns)
        if runs:
            [configuration] = means(runs, columns)
            numbers = [_number(found.mean) for found in configuration.means.values()]
        return [*(value for _, value in place), f"{len(ended)}/{self._wanted.get(place, len(ended))}", *numbers]


def _number(value: float) -> str:
    return "–" if math.isnan(value) else significant(value)


@contextlib.contextmanager
def board() -> Iterator[Audience]:
    """A live display on stderr, which is a terminal."""
    console = stderr()
    shown = Board(console.height, lambda text: console.print(text, markup=False))
    with Live(shown, console=console, transient=True, refresh_per_second=REFRESH_HZ):
        yield shown

"""A running sweep where stderr is no terminal: failures, and what backends say, in lines as they come."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.cli.console import stderr
from tailback.results import RunPlan
from tailback.sweep import Listener, Outcome

Failure = tuple[str, str | None]
"""The status of a run and its error."""


class Lines(Listener):
    """Prints each failure once, with the first run that it befell."""

    def __init__(self) -> None:
        self.printed: set[Failure] = set()
        """What need not be printed at the end unless it befell more runs."""

    def begun(self, runs: Sequence[RunPlan]) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        failure = (outcome.status, outcome.error)
        if outcome.status != "ok" and failure not in self.printed:
            self.printed.add(failure)
            stderr().print(f"{outcome.status}: run {outcome.run.name}: {outcome.error}")

    def said(self, run: str, notice: str) -> None:
        stderr().print(f"run {run}: {notice}", markup=False)

    def update(self, done: int, total: int, fraction: float) -> None:
        pass

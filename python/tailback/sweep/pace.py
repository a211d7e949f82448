"""How long a sweep will still take, from the times of its runs.

Runs of one configuration take about the same time: the median of those that have ended, so that the first run, which
also loads programs, does not count for more than another. A configuration that no run of has ended takes as long per
simulated second as the others: as the fastest of them to as the slowest, which is why the result is a range. What a run
takes is measured beside the others, so it includes what they take from each other.
"""

from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct

from tailback.results import RunPlan
from tailback.sweep.local import Outcome

NANOSECONDS = 1e9

UNSURE = 2.0
"""How much slower the rest may be than what was seen, as long as a single configuration has been seen."""

Place = tuple[tuple[str, str], ...]


class Span(Struct, frozen=True):
    """A time in s, from `low` to `high`."""

    low: float
    high: float


class Costs:
    """What runs take, in s, from those that have ended."""

    def __init__(self) -> None:
        self._seconds: dict[Place, list[float]] = {}
        self._simulated: dict[Place, float] = {}

    def add(self, run: RunPlan, seconds: float) -> None:
        """Adds a run that has ended."""
        place = place_of(run)
        self._seconds.setdefault(place, []).append(seconds)
        self._simulated[place] = simulated_s(run)

    @property
    def known(self) -> bool:
        """Whether any run has ended."""
        return bool(self._seconds)

    def has(self, run: RunPlan) -> bool:
        """Whether a run of its configuration has ended."""
        return place_of(run) in self._seconds

    def of(self, runs: Iterable[RunPlan]) -> list[Span]:
        """What each of these runs will take."""
        medians = {place: median(each) for place, each in self._seconds.items()}
        paces = [seconds / self._simulated[place] for place, seconds in medians.items() if self._simulated[place]]
        ends = (min(paces), max(paces)) if paces else (0.0, 0.0)
        if len(paces) == 1:
            ends = (ends[0] / UNSURE, ends[1] * UNSURE)
        return [_span(medians.get(place_of(run)), ends, simulated_s(run)) for run in runs]


def _span(known: float | None, ends: tuple[float, float], simulated: float) -> Span:
    return Span(ends[0] * simulated, ends[1] * simulated) if known is None else Span(known, known)


class Pace:
    """The remaining time of a sweep."""

    def __init__(self, runs: Sequence[RunPlan]) -> None:
        self._ahead = {run.name: run for run in runs}
        self._costs = Costs()
        self._spent = 0.0

    def ended(self, outcome: Outcome) -> None:
        """Adds a run that has ended, or was complete before."""
        self._ahead.pop(outcome.run.name, None)
        if outcome.seconds is None:
            return
        self._costs.add(outcome.run, outcome.seconds)
        if not outcome.reused:
            self._spent += outcome.seconds

    def left(self, passed_s: float, under_way: float) -> Span | None:
        """The remaining time, `passed_s` after the beginning. `under_way` runs are done of those that have not ended:
        half of two runs is one. `None` if nothing can be told.
        """
        ahead = list(self._ahead.values())
        if not ahead:
            return Span(0.0, 0.0)
        if not self._costs.known:
            return _by_share(passed_s, under_way, len(ahead))
        spans = self._costs.of(ahead)
        rest = 1 - min(under_way / len(ahead), 1.0)
        found = [
            self._at_speed(sum(ends), rest, passed_s)
            for ends in zip(*((each.low, each.high) for each in spans), strict=True)
        ]
        return None if None in found else Span(*(each for each in found if each is not None))

    def _at_speed(self, work: float, rest: float, passed_s: float) -> float | None:
        """The time for the rest of `work`, at the speed with which work was done so far."""
        done = self._spent + work * (1 - rest)
        return passed_s * work * rest / done if done else None


def _by_share(passed_s: float, under_way: float, ahead: int) -> Span | None:
    """The remaining time before any run has ended: the runs that have begun are a part of all that may be unlike."""
    if under_way <= 0:
        return None
    left = passed_s * (ahead - under_way) / under_way
    return Span(left / UNSURE, left * UNSURE) if ahead > 1 else Span(left, left)


def place_of(run: RunPlan) -> Place:
    """The configuration of a run."""
    return tuple(run.axes.items())


def simulated_s(run: RunPlan) -> float:
    """The duration of a run in simulated time."""
    return run.scenario.duration_ns / NANOSECONDS

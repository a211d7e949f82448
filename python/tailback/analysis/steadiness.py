"""Whether a run is steady in its measurement window, and by how much its means are off if it is not.

MSER-5 ([warmup](warmup.py)) finds a warm-up that ends in the first half of a series. What it leaves is tested here. It
is cut into 20 batches. The batch means of a steady series are as good as independent; those of a series that climbs,
falls, steps or swings more slowly than the window are alike from one batch to the next. Young's C measures that:

    C = 1 - Σ (yᵢ - yᵢ₊₁)² / (2 Σ (yᵢ - ȳ)²)        for independent batches: mean 0, variance (n - 2) / ((n - 1)(n + 1))

which is von Neumann's ratio of the mean square successive difference to the variance. [vonneumann1941] [young1941] To
test batch means by it is the rule of [fishman1997]. A series is unsteady if C is significant and a third of the window
is farther from the mean than a difference that matters. Saw teeth of which the window has three or more are steady.

If a series climbs or falls throughout the window, it was on its way to a value beyond that of the last third, so the
mean is off by at least its distance from the last third (`bias`). When it can be steady follows from the pace: if each
third changes less than the one before, the change goes on in the same ratio (Aitken's Δ² process [aitken1926]); goodput
that climbs evenly ends at the rate of its path; else it is not known, and not before the end of the window.
"""

import math
from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from tailback.analysis.warmup import Series, Settling
from tailback.analysis.window import NANOSECONDS, Window

State: TypeAlias = Literal["steady", "unsteady", "short", "varied"]

PARTS = 20
"""Batches of the test."""

FEWEST_BINS = 2 * PARTS
"""A window with fewer sampling intervals is too short to be judged."""

SIGNIFICANT = 2.576
"""Standard deviations of C of independent batches, of which one run in 200 has more by chance."""

MATTERS: Mapping[str, float] = {"goodput_mbps": 0.03, "tcp_rtt_ms": 0.10}
"""The share of the mean by which a third of the window must be off: the tolerances of these metrics (`registry`)."""

MATTERS_RTT_MS = 0.5
"""A TCP RTT must be off by this much, too."""

SLOWS = 0.8
"""Thirds whose changes have a larger ratio than this do not approach a value that can be told."""

BACK = 0.25
"""A step back between sixths of the window by this share of the whole way: the series does not head one way."""

FAINT = 1e-3
"""Goodput below this share of the greatest is none: an answer to who has ended."""

QUIET = 0.1
"""Without goodput for this share of the window at its end, the traffic has ended."""

THIRDS = ("first", "middle", "last")


class Course(Struct, frozen=True):
    """A series in the window, in the unit of its metric."""

    name: str
    settling: Settling
    window: Window
    changes: bool = False
    """Whether the file lets something change in the window."""
    most: float | None = None
    """The largest possible value."""

    @property
    def inside(self) -> Series:
        """The part of the series in the window."""
        return in_units(self.name, self.settling)[self.settling.begin :]

    @property
    def state(self) -> State:
        """Whether it is steady."""
        if self.changes:
            return "varied"
        if len(self.inside) < FEWEST_BINS:
            return "short"
        return "unsteady" if self._drifts() else "steady"

    def _drifts(self) -> bool:
        begin, cut = self.settling.begin, self.settling.cut
        values = self.inside
        if cut is None or cut <= begin:
            return is_drifting(self.name, values)
        # The warm-up is at most half of the series. What is left may still be on its way.
        rest = values[cut - begin :]
        return is_drifting(self.name, rest) and is_drifting(self.name, values)

    @property
    def thirds(self) -> tuple[float, float, float]:
        """The means of the thirds of the window."""
        first, middle, last = (float(part.mean()) for part in np.array_split(self.inside, 3))
        return first, middle, last

    @property
    def bias(self) -> float | None:
        """By how much at least the mean is off; `None` if it does not head one way."""
        last = self.thirds[-1]
        told = last > 0 and self.ended_s is None and self._heads_one_way()
        return float(self.inside.mean()) / last - 1 if told else None

    @property
    def ended_s(self) -> float | None:
        """When the traffic ended, if that is well before the window does."""
        values = self.inside
        if self.name != "goodput_mbps" or not values.any():
            return None
        after = int(np.flatnonzero(values > FAINT * values.max())[-1]) + 1
        if len(values) - after < QUIET * len(values):
            return None
        return (self.settling.start_ns + (self.settling.begin + after) * self.settling.bin_ns) / NANOSECONDS

    def _heads_one_way(self) -> bool:
        """Whether it climbs or falls throughout: no step between two sixths goes far the other way."""
        steps = np.diff([float(part.mean()) for part in np.array_split(self.inside, 6)])
        whole = float(steps.sum())
        first, middle, last = self.thirds
        return bool((steps * np.sign(whole) > -BACK * abs(whole)).all()) and (middle - first) * (last - middle) > 0

    @property
    def steady_at_s(self) -> float:
        """The time before which it cannot be steady."""
        return max(self.window.end_ns / NANOSECONDS, self._extrapolated() or 0.0)

    def _extrapolated(self) -> float | None:
        if not self._heads_one_way():
            return None
        first, middle, last = self.thirds
        step, third_s = last - middle, self.window.seconds / 3
        ratio = step / (middle - first)
        centre_s = self.window.end_ns / NANOSECONDS - third_s / 2
        if ratio <= SLOWS:
            gap = step * ratio / (1 - ratio)
            near = MATTERS[self.name] * abs(last + gap)
            return centre_s + third_s * max(0.0, math.log(near / abs(gap)) / math.log(ratio)) if near else None
        if step > 0 and self.most is not None and self.most > last:
            return centre_s + third_s * (self.most - last) / ((last - first) / 2)
        return None


def in_units(name: str, settling: Settling) -> Series:
    """The values of a series in Mbit/s or ms."""
    return settling.values * (8e3 / settling.bin_ns if name == "goodput_mbps" else 1e-3)


def is_drifting(name: str, values: Series) -> bool:
    """Whether the means of batches are alike from one to the next, and thirds differ by what matters."""
    count = len(values) // PARTS * PARTS
    if count < PARTS:
        return False
    mean = float(values.mean())
    apart = max(abs(float(part.mean()) - mean) for part in np.array_split(values, 3))
    matters = max(MATTERS[name] * mean, MATTERS_RTT_MS if name == "tcp_rtt_ms" else 0.0)
    return apart > matters and young(values[:count].reshape(PARTS, -1).mean(axis=1)) > SIGNIFICANT


def young(batches: Series) -> float:
    """Young's C in standard deviations; 0 if all batches are equal."""
    count = len(batches)
    squares = float(((batches - batches.mean()) ** 2).sum())
    if squares <= 0:
        return 0.0
    ratio = 1 - float((np.diff(batches) ** 2).sum()) / (2 * squares)
    return ratio / math.sqrt((count - 2) / ((count - 1) * (count + 1)))


Courses: TypeAlias = Mapping[str, Course]


def states(courses: Courses) -> dict[str, str]:
    """Whether the goodput of all flows and the mean TCP RTT are steady in the window: `steady`; `unsteady`: they climb,
    fall, step or swing throughout it, so that a longer run has another mean; `short`: the window has fewer than 40
    sampling intervals, too few to tell; `varied`: flows or links change inside the window because the file says so.
    Unsteady are batch means that are alike from one to the next by Young's test, if a third of the window is 3 %
    (goodput), or 10 % and 0.5 ms (TCP RTT), from the mean.
    """
    return {name: course.state for name, course in courses.items()}


def thirds(courses: Courses) -> dict[str, dict[str, float]]:
    """Means of the same series in the `first`, `middle` and `last` third of the window (Mbit/s and ms), from the first
    byte on; absent if the window is too short to be judged.
    """
    judged = {name: course for name, course in courses.items() if len(course.inside) >= FEWEST_BINS}
    return {
        name: {third: round(mean, 6) for third, mean in zip(THIRDS, course.thirds, strict=True)}
        for name, course in judged.items()
    }


def biases(courses: Courses) -> dict[str, float]:
    """By how much at least the mean of a series over the window is off that of a longer run, as a share: -0.2 is a mean
    that is 20 % too low. Of an unsteady series that climbs or falls throughout the window; others have none.
    """
    return {name: round(bias, 6) for name, course in _unsteady(courses) if (bias := course.bias) is not None}


def steady_not_before(courses: Courses) -> dict[str, float]:
    """The time before which an unsteady series cannot be steady (s, in time of the run): at least the end of the
    window, later if the pace of its thirds tells.
    """
    return {name: round(course.steady_at_s, 6) for name, course in _unsteady(courses)}


def _unsteady(courses: Courses) -> list[tuple[str, Course]]:
    return [(name, course) for name, course in courses.items() if course.state == "unsteady"]

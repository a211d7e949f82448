"""The number of repetitions of a configuration: fixed, or until its confidence intervals are narrow.

    repeat: 5
    repeat: until ci95 < 3%                                       of goodput and the median TCP RTT
    repeat: until ci95 of goodput and ping < 3%, at least 5, at most 50

`ci95` is half of the 95 % confidence interval of the mean over the repetitions, as a share of that mean
(`analysis.intervals`).
"""

from __future__ import annotations

import re

from msgspec import Struct

from tailback.scenario import defaults
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import shown

MAX = 10_000
"""Maximum number of repetitions."""

QUANTITIES = ("goodput", "rtt", "ping", "jain")
"""The quantities of `until`: total goodput, median TCP RTT, median ping RTT, Jain's index."""

HINT = "write a number, or: until ci95 < 3%, at most 30"

_UNTIL = (
    r"until ci95(?: of (?P<names>[a-z]+(?:(?: and |, )[a-z]+)*))? < (?P<percent>[0-9]{1,9}(?:\.[0-9]{1,9})?)\s?%"
    r"(?:, at least (?P<min>[0-9]{1,9}))?(?:, at most (?P<max>[0-9]{1,9}))?"
)


class Repeat(Struct, frozen=True):
    """At least `min` and at most `max` repetitions, until the interval of each quantity is narrow enough."""

    min: int
    max: int
    share: float | None = None
    """Highest half-width of an interval, as a fraction of the mean; `None` if the number is fixed."""
    quantities: tuple[str, ...] = ()


def repeat(word: object) -> Repeat:
    """Reads the value of `repeat`."""
    if isinstance(word, int) and not isinstance(word, bool):
        if word < 1:
            raise WordError(f"`{word}` is too small", "it must be at least 1")
        if word > MAX:
            raise WordError(f"`{word}` is too large", f"it must be at most {MAX}")
        return Repeat(word, word)
    match = re.fullmatch(_UNTIL, " ".join(word.split())) if isinstance(word, str) else None
    if match is None:
        raise WordError(f"`{shown(word)}` is not a number of repetitions", HINT)
    fewest = int(match["min"] or min(defaults.REPEAT_MIN, int(match["max"] or defaults.REPEAT_MIN)))
    most = int(match["max"] or max(defaults.REPEAT_MAX, fewest))
    if not 2 <= fewest <= most <= MAX:
        raise WordError(f"at least {fewest} and at most {most} is not a valid range", f"from 2 up to {MAX}: {HINT}")
    percent = float(match["percent"])
    if not 0 < percent < 100:
        raise WordError(f"`{match['percent']}%` is not between 0 and 100 %", HINT)
    return Repeat(fewest, most, percent / 100, _quantities(match["names"]))


def _quantities(names: str | None) -> tuple[str, ...]:
    found = tuple(re.split(r" and |, ", names)) if names else defaults.REPEAT_QUANTITIES
    unknown = next((name for name in found if name not in QUANTITIES), None)
    if unknown is not None:
        raise WordError(f"`{unknown}` cannot be used with `until`", nearest_hint(unknown, list(QUANTITIES)))
    return found

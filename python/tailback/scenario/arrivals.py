"""Connections that arrive during a run, and how much each sends: the words of `arrivals` and `size`.

Times and sizes are drawn from two streams of random numbers, which depend only on the seed and on the name of the
entry, so a repetition has the same arrivals in every configuration (common random numbers), and another rate does not
change the sizes. A stream is Python's Mersenne Twister with the first 8 bytes of SHA-256("SEED/NAME/STREAM") as seed;
only its uniform numbers are used, which are the same in every version of Python.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

SECOND_NS = 10**9

SIZE_HINT = "write 100kb, exponential 100kb, lognormal 100kb sigma 1.5 or pareto 100kb shape 1.3 (100kb is the mean)"
ARRIVALS_HINT = "write poisson 20/s, periodic 10/s or onoff 20/s on 1s off 2s"

LARGEST_SIGMA = 5.0
"""Above it the mean of a sample of 100,000 sizes says nothing about the mean of the distribution."""


EXPLAINED = """\
{tcp: server -> client, size: exponential 100kb, arrivals: poisson 20/s}

Each arrival opens a connection, which sends its size and closes. All are drawn from the seed and the entry's name.

arrivals:
  poisson 20/s              independent arrivals, 20 per second on average
  periodic 10/s             one every 100 ms, the first at `start`
  onoff 20/s on 1s off 2s   Poisson arrivals in bursts; bursts and pauses have exponential lengths with these means

size (100kb is the mean):
  100kb                          all are equal
  exponential 100kb
  lognormal 100kb sigma 1.5      sigma is that of the logarithm
  pareto 100kb shape 1.3         the shape is above 1, otherwise the mean is infinite"""


@dataclass(frozen=True)
class Sizes:
    """A distribution of sizes in bytes with this mean; `shape` is sigma (lognormal) or alpha (pareto)."""

    kind: Literal["constant", "exponential", "lognormal", "pareto"]
    mean: int
    shape: float = 0.0

    def draw(self, uniform: Callable[[], float]) -> int:
        """One size: the drawn number, rounded up, so it is never zero."""
        return max(1, math.ceil(self._drawn(uniform)))

    def _drawn(self, uniform: Callable[[], float]) -> float:
        match self.kind:
            case "constant":
                return self.mean
            case "exponential":
                return self.mean * _exponential(uniform)
            case "lognormal":
                centre = math.log(self.mean) - self.shape**2 / 2
                return math.exp(centre + self.shape * _normal(uniform))
            case "pareto":
                least = self.mean * (self.shape - 1) / self.shape
                return least * math.exp(_exponential(uniform) / self.shape)


@dataclass(frozen=True)
class Arrivals:
    """When connections open: `rate` per second, for `onoff` during the bursts, whose mean lengths are given."""

    kind: Literal["poisson", "periodic", "onoff"]
    rate: float
    on_ns: int = 0
    off_ns: int = 0

    @property
    def mean_rate(self) -> float:
        """Arrivals per second over bursts and pauses."""
        return self.rate * self.on_ns / (self.on_ns + self.off_ns) if self.kind == "onoff" else self.rate

    def times(self, start_ns: int, stop_ns: int, uniform: Callable[[], float]) -> Iterator[int]:
        """The times of the arrivals from `start_ns` to before `stop_ns`."""
        found = self._bursts(start_ns, uniform) if self.kind == "onoff" else self._steady(start_ns, uniform)
        return itertools.takewhile(lambda at: at < stop_ns, found)

    def _steady(self, start_ns: int, uniform: Callable[[], float]) -> Iterator[int]:
        """A period, or an exponential time, between two arrivals; the first of a period is at the start."""
        mean = SECOND_NS / self.rate
        if self.kind == "periodic":
            yield from (start_ns + round(number * mean) for number in itertools.count())
        at = float(start_ns)
        while True:
            at += mean * _exponential(uniform)
            yield int(at)

    def _bursts(self, start_ns: int, uniform: Callable[[], float]) -> Iterator[int]:
        """Poisson arrivals in bursts of exponential length, between pauses of exponential length; a burst is first."""
        at = float(start_ns)
        while True:
            end = at + self.on_ns * _exponential(uniform)
            while (at := at + SECOND_NS / self.rate * _exponential(uniform)) < end:
                yield int(at)
            at = end + self.off_ns * _exponential(uniform)


def schedule(arrivals: Arrivals, sizes: Sizes, within: tuple[int, int], stream: str) -> Iterator[tuple[int, int]]:
    """Time in ns and size in bytes of each arrival within these times; `stream` is SEED/NAME."""
    times = arrivals.times(*within, _uniform(f"{stream}/arrivals"))
    drawn = _uniform(f"{stream}/sizes")
    return ((at, sizes.draw(drawn)) for at in times)


def _uniform(stream: str) -> Callable[[], float]:
    """Uniform numbers in [0, 1) of the stream with this name."""
    seed = int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "big")
    return random.Random(seed).random


def _exponential(uniform: Callable[[], float]) -> float:
    """An exponential number with mean 1."""
    return -math.log(1 - uniform())


def _normal(uniform: Callable[[], float]) -> float:
    """A standard normal number, by Box and Muller's transform of two uniform ones."""
    return math.sqrt(2 * _exponential(uniform)) * math.cos(2 * math.pi * uniform())


def size(word: object) -> Sizes:
    """Reads a size or a distribution of sizes."""
    match str(word).split():
        case ["exponential", mean]:
            return Sizes("exponential", _mean(mean))
        case ["lognormal", mean, "sigma", sigma]:
            return Sizes("lognormal", _mean(mean), _sigma(sigma))
        case ["pareto", mean, "shape", shape]:
            return Sizes("pareto", _mean(mean), _shape(shape))
        case [first, *_] if first[:1].isalpha():
            raise WordError(f"`{shown(word)}` is not a distribution of sizes", SIZE_HINT)
    return Sizes("constant", _mean(word))


def arrivals(word: object) -> Arrivals:
    """Reads when connections arrive."""
    match str(word).split():
        case ["poisson", rate]:
            return Arrivals("poisson", _per_second(rate))
        case ["periodic", rate]:
            return Arrivals("periodic", _per_second(rate))
        case ["onoff", rate, "on", on, "off", off]:
            return Arrivals("onoff", _per_second(rate), units.span(on), units.span(off))
    raise WordError(f"`{shown(word)}` does not say when connections arrive", ARRIVALS_HINT)


def _mean(word: object) -> int:
    found = units.size(word)
    if found == 0:
        raise WordError(f"`{shown(word)}` is a size of zero", "give a size above zero, such as 100kb")
    return found


def _sigma(word: str) -> float:
    found = _number(word, SIZE_HINT)
    if not 0 < found <= LARGEST_SIGMA:
        raise WordError(f"`{word}` is not a valid sigma", f"give a number above 0, at most {LARGEST_SIGMA:g}")
    return found


def _shape(word: str) -> float:
    found = _number(word, SIZE_HINT)
    if found <= 1:
        raise WordError(
            f"sizes with the Pareto shape `{word}` have an infinite mean", "give a shape above 1, such as 1.3"
        )
    return found


def _per_second(word: str) -> float:
    number, slash, unit = word.partition("/")
    found = _number(number, ARRIVALS_HINT)
    if (slash, unit) != ("/", "s") or found <= 0:
        raise WordError(f"`{word}` is not a rate of arrivals above zero", "write a number per second: 20/s")
    return found


def _number(word: str, hint: str) -> float:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise WordError(f"`{shown(word)}` is not a number", hint)
    return found

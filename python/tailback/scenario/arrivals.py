"""Connections that arrive during a run, and how much each sends: the words of `arrivals` and `size`.

Times and sizes are drawn from two streams of random numbers, which depend only on the seed and on the name of the
entry, so a repetition has the same arrivals in every configuration (common random numbers), and another rate does not
change the sizes. A stream is Python's Mersenne Twister with the first 8 bytes of SHA-256("SEED/NAME/STREAM") as seed;
only its uniform numbers are used, which are the same in every version of Python.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tailback.limits import FileRefused, read_regular
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

SECOND_NS = 10**9

SIZE_HINT = (
    "write 100kb, exponential 100kb, lognormal 100kb sigma 1.5, pareto 100kb shape 1.3 (100kb is the mean), websearch, "
    "datamining, cache or file sizes.txt"
)
ARRIVALS_HINT = (
    "write poisson 20/s, periodic 10/s, onoff 20/s on 1s off 2s, poisson 60% of router -> client or file flows.txt"
)
SIZES_FILE_HINT = "each line is a size in bytes and the share of the flows up to it, both growing to 1: 1000 0.5"
FLOWS_FILE_HINT = "each line is a time in seconds, no earlier than the line before, and a size in bytes: 0.25 1000"

LARGEST_FILE = 4_000_000
"""Bytes of a file of sizes or flows."""

LARGEST_SIGMA = 5.0
"""Above it the mean of a sample of 100,000 sizes says nothing about the mean of the distribution."""


EXPLAINED = """\
{tcp: server -> client, size: exponential 100kb, arrivals: poisson 20/s}

Each arrival opens a connection, which sends its size and closes. All are drawn from the seed and the entry's name.

arrivals:
  poisson 20/s              independent arrivals, 20 per second on average
  periodic 10/s             one every 100 ms, the first at `start`
  onoff 20/s on 1s off 2s   Poisson arrivals in bursts; bursts and pauses have exponential lengths with these means
  poisson 60% of router -> client   the rate at which the data, without headers, is 60 % of this device's rate; so
                            for periodic, too
  file flows.txt            a time in seconds and a size in bytes on each line; without `size`

size (100kb is the mean):
  100kb                          all are equal
  exponential 100kb
  lognormal 100kb sigma 1.5      sigma is that of the logarithm
  pareto 100kb shape 1.3         the shape is above 1, otherwise the mean is infinite
  websearch                      answers of a search cluster, mean 1.7 MB (DCTCP, 2010)
  datamining                     flows of a data mining cluster, mean 7.5 MB, half of one packet (VL2, 2009)
  cache                          values of Facebook's memcached, mean 329 bytes (Atikoglu et al., 2012)
  file sizes.txt                 a size in bytes and the share of flows up to it on each line, linear in between"""


class Sizes(Struct, frozen=True):
    """A distribution of sizes in bytes with this mean; `shape` is sigma (lognormal) or alpha (pareto)."""

    kind: Literal["constant", "exponential", "lognormal", "pareto", "general pareto", "points"]
    mean: float
    shape: float = 0.0
    points: tuple[tuple[int, float], ...] = ()
    """For `points`: sizes and the share of flows up to each; linear in between."""

    def draw(self, uniform: Callable[[], float]) -> int:
        """One size: the drawn number, rounded up, so it is never zero."""
        return max(1, math.ceil(self._drawn(uniform)))

    def _drawn(self, uniform: Callable[[], float]) -> float:
        match self.kind:
            case "constant":
                return self.mean
            case "exponential":
                return self.mean * exponential(uniform)
            case "lognormal":
                centre = math.log(self.mean) - self.shape**2 / 2
                return math.exp(centre + self.shape * _normal(uniform))
            case "pareto":
                least = self.mean * (self.shape - 1) / self.shape
                return least * math.exp(exponential(uniform) / self.shape)
            case "general pareto":
                scale = self.mean * (1 - self.shape)
                return scale * math.expm1(self.shape * exponential(uniform)) / self.shape
            case "points":
                return self._size_at(uniform())

    def _size_at(self, share: float) -> float:
        """The size up to which this share of the flows is."""
        place = bisect.bisect_left(self.points, share, key=lambda point: point[1])
        (below, low), (above, high) = self.points[max(0, place - 1)], self.points[place]
        return above if high <= low else below + (above - below) * (share - low) / (high - low)


def of_points(points: Sequence[tuple[int, float]]) -> Sizes:
    """The distribution through these points, with its mean."""
    (first, share), *_ = points
    jumps = first * share
    mean = jumps + sum((high - low) * (below + above) / 2 for (below, low), (above, high) in itertools.pairwise(points))
    return Sizes("points", mean, points=tuple(points))


PACKET = 1460
"""The bytes of a packet in the published distributions."""

PACKETS = {
    # [alizadeh2010 Fig. 4], as pFabric's simulations have it.
    "websearch": (
        (6, 0.15), (13, 0.2), (19, 0.3), (33, 0.4), (53, 0.53), (133, 0.6), (667, 0.7), (1333, 0.8), (3333, 0.9),
        (6667, 0.97), (20_000, 1.0),
    ),
    # [greenberg2009 Fig. 2], as pFabric's simulations have it.
    "datamining": (
        (1, 0.5), (2, 0.6), (3, 0.7), (7, 0.8), (267, 0.9), (2107, 0.95), (66_667, 0.99), (666_667, 1.0),
    ),
}  # fmt: skip
"""Published distributions: sizes in packets, and the share of flows up to each."""

CACHE_SCALE, CACHE_SHAPE = 214.476, 0.348238
"""The generalised Pareto distribution of value sizes of the pool ETC. [atikoglu2012 §5.1]"""

NAMED: dict[str, Sizes] = {
    **{name: of_points([(packets * PACKET, share) for packets, share in points]) for name, points in PACKETS.items()},
    "cache": Sizes("general pareto", CACHE_SCALE / (1 - CACHE_SHAPE), CACHE_SHAPE),
}
"""Distributions that papers published."""


class Arrivals(Struct, frozen=True):
    """When connections open: `rate` per second, for `onoff` during the bursts, whose mean lengths are given."""

    kind: Literal["poisson", "periodic", "onoff", "trace"]
    rate: float = 0.0
    on_ns: int = 0
    off_ns: int = 0
    load: float = 0.0
    """The share of the device's rate that the data takes, instead of a rate."""
    device: str = ""
    flows: tuple[tuple[int, int], ...] = ()
    """For `trace`: time in ns after the start, and size, of each flow."""

    def loading(self, rate_bps: int, sizes: Sizes) -> Arrivals:
        """With the rate at which flows of these sizes load a device of this rate."""
        return replace(self, rate=self.load * rate_bps / (8 * sizes.mean))

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
            at += mean * exponential(uniform)
            yield int(at)

    def _bursts(self, start_ns: int, uniform: Callable[[], float]) -> Iterator[int]:
        """Poisson arrivals in bursts of exponential length, between pauses of exponential length; a burst is first."""
        at = float(start_ns)
        while True:
            end = at + self.on_ns * exponential(uniform)
            while (at := at + SECOND_NS / self.rate * exponential(uniform)) < end:
                yield int(at)
            at = end + self.off_ns * exponential(uniform)


def schedule(
    arrivals: Arrivals, sizes: Sizes | None, within: tuple[int, int], stream: str
) -> Iterator[tuple[int, int]]:
    """Time in ns and size in bytes of each arrival within these times; `stream` is SEED/NAME. A trace has its sizes."""
    if sizes is None:
        started = ((within[0] + at, size) for at, size in arrivals.flows)
        return itertools.takewhile(lambda each: each[0] < within[1], started)
    times = arrivals.times(*within, uniform(f"{stream}/arrivals"))
    drawn = uniform(f"{stream}/sizes")
    return ((at, sizes.draw(drawn)) for at in times)


def uniform(stream: str) -> Callable[[], float]:
    """Uniform numbers in [0, 1) of the stream with this name."""
    seed = int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "big")
    return random.Random(seed).random


def exponential(uniform: Callable[[], float]) -> float:
    """An exponential number with mean 1."""
    return -math.log(1 - uniform())


def _normal(uniform: Callable[[], float]) -> float:
    """A standard normal number, by Box and Muller's transform of two uniform ones."""
    return math.sqrt(2 * exponential(uniform)) * math.cos(2 * math.pi * uniform())


def size(word: object, folder: Path = Path()) -> Sizes:
    """Reads a size or a distribution of sizes; a file is relative to `folder`."""
    match str(word).split():
        case [name] if name in NAMED:
            return NAMED[name]
        case ["file", name]:
            return _sizes_of(name, folder)
        case ["exponential", mean]:
            return Sizes("exponential", _mean(mean))
        case ["lognormal", mean, "sigma", sigma]:
            return Sizes("lognormal", _mean(mean), _sigma(sigma))
        case ["pareto", mean, "shape", shape]:
            return Sizes("pareto", _mean(mean), _shape(shape))
        case [first, *_] if first[:1].isalpha():
            raise WordError(f"`{shown(word)}` is not a distribution of sizes", SIZE_HINT)
    return Sizes("constant", _mean(word))


def arrivals(word: object, folder: Path = Path()) -> Arrivals:
    """Reads when connections arrive; a file is relative to `folder`."""
    match str(word).split():
        case ["poisson" | "periodic" as kind, load, "of", source, "->", target] if load.endswith("%"):
            found: Literal["poisson", "periodic"] = "poisson" if kind == "poisson" else "periodic"
            return Arrivals(found, load=_load(load), device=f"{source} -> {target}")
        case ["file", name]:
            return Arrivals("trace", flows=_flows_of(name, folder))
        case ["poisson", rate]:
            return Arrivals("poisson", _per_second(rate))
        case ["periodic", rate]:
            return Arrivals("periodic", _per_second(rate))
        case ["onoff", rate, "on", on, "off", off]:
            return Arrivals("onoff", _per_second(rate), units.span(on), units.span(off))
    raise WordError(f"`{shown(word)}` does not say when connections arrive", ARRIVALS_HINT)


def _load(word: str) -> float:
    percent = _number(word.removesuffix("%"), ARRIVALS_HINT)
    if not 0 < percent <= 100:
        raise WordError(f"`{shown(word)}` is not a load", "give a share above 0% and at most 100%")
    return percent / 100


def _sizes_of(name: str, folder: Path) -> Sizes:
    points: list[tuple[int, float]] = []
    for number, (first, second) in numbers_of(name, folder, SIZES_FILE_HINT):
        last_size, last_share = points[-1] if points else (0, 0.0)
        if not (first >= max(1, last_size) and max(last_share, 0.0) <= second <= 1):
            raise WordError(f"line {number} of `{shown(name)}` is out of order", SIZES_FILE_HINT)
        points.append((int(first), second))
    if not points or points[-1][1] != 1:
        raise WordError(f"the shares in `{shown(name)}` do not end at 1", SIZES_FILE_HINT)
    return of_points(points)


def _flows_of(name: str, folder: Path) -> tuple[tuple[int, int], ...]:
    flows: list[tuple[int, int]] = []
    for number, (first, second) in numbers_of(name, folder, FLOWS_FILE_HINT):
        at_ns = round(first * SECOND_NS)
        if at_ns < (flows[-1][0] if flows else 0) or second < 1:
            raise WordError(f"line {number} of `{shown(name)}` is out of order or has no size", FLOWS_FILE_HINT)
        flows.append((at_ns, int(second)))
    if not flows:
        raise WordError(f"`{shown(name)}` has no flows", FLOWS_FILE_HINT)
    return tuple(flows)


def numbers_of(name: str, folder: Path, hint: str) -> Iterator[tuple[int, tuple[float, float]]]:
    """The two numbers of each line of a file, with its number; empty lines and comments (#) are left out."""
    try:
        text = read_regular(folder / name, LARGEST_FILE).decode("ascii", "replace")
    except (OSError, FileRefused) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it cannot be read"
        raise WordError(f"`{shown(name)}` cannot be read: {reason}", hint) from None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            first, second = (float(word) for word in words)
        except ValueError:
            first = second = math.nan
        if not (math.isfinite(first) and math.isfinite(second)):
            raise WordError(f"line {number} of `{shown(name)}` is not two numbers", hint)
        yield number, (first, second)


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

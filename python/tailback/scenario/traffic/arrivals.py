"""Flows that arrive during a run: when, and how large they are.

    arrivals: poisson 20/s            gaps are exponential, with this mean rate; `periodic 20/s`: all gaps are equal
    size: 100kB                       all alike
    size: exponential 100kB           by their mean
    size: lognormal 100kB 1.5         the mean, and sigma of the logarithm
    size: pareto 100kB 1.3            the mean, and the shape; the mean is infinite up to a shape of 1

Gaps and sizes are drawn by inversion: the k-th draw of an entry is u = (the first 52 bits of
SHA-256("SEED/NAME/gap/k" or "SEED/NAME/size/k") + 1/2) / 2^52. They depend on seed and name of the entry only, so
a repetition has the same flows in every configuration (common random numbers).   [rfc5166 §2.2]
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

from tailback.tc import units
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import shown

MAX_FLOWS = 10_000
"""Most flows of an entry: each is an entry of the resolved scenario, and its socket stays until the run ends."""

MARGIN = 6.0
"""Standard deviations above the expected number of arrivals for which there are names."""

NANOSECONDS = 1_000_000_000

_RATE = re.compile(r"([0-9.]+)/(ms|s|min)")
_PER = {"ms": 1000.0, "s": 1.0, "min": 1 / 60}


@dataclass(frozen=True)
class Arrivals:
    """When flows begin."""

    kind: str
    """`poisson` or `periodic`."""
    per_s: float

    def most(self, span_ns: int) -> int:
        """The number of flows that have a name in a time of this length. All of them may come, or fewer."""
        expected = self.per_s * span_ns / NANOSECONDS
        margin = MARGIN * math.sqrt(expected) + MARGIN if self.kind == "poisson" else 0.0
        return math.ceil(expected + margin)

    def gap_s(self, u: float) -> float:
        """A gap between two flows."""
        return -math.log1p(-u) / self.per_s if self.kind == "poisson" else 1 / self.per_s


@dataclass(frozen=True)
class Sizes:
    """How many bytes flows send."""

    kind: str
    mean: int
    shape: float = 0.0

    def draw(self, u: float) -> int:
        """The size at the share `u` of the distribution, at least 1."""
        return max(1, round(_SIZES[self.kind](self.mean, self.shape, u)))


def _pareto(mean: float, shape: float, u: float) -> float:
    return mean * (shape - 1) / shape * math.pow(1 - u, -1 / shape)


def _lognormal(mean: float, sigma: float, u: float) -> float:
    return mean * math.exp(sigma * NormalDist().inv_cdf(u) - sigma * sigma / 2)


_SIZES: dict[str, Callable[[float, float, float], float]] = {
    "constant": lambda mean, _, _u: mean,
    "exponential": lambda mean, _, u: -mean * math.log1p(-u),
    "lognormal": _lognormal,
    "pareto": _pareto,
}
_SHAPES = {"lognormal": "sigma", "pareto": "shape"}


def arrivals(word: object) -> Arrivals:
    """Reads `poisson 20/s`."""
    words = word.split() if isinstance(word, str) else []
    if not words:
        raise WordError(f"`{shown(word)}` does not say how flows arrive", "write `poisson 20/s` or `periodic 20/s`")
    if words[0] not in ("poisson", "periodic"):
        hint = f"{nearest_hint(words[0], ('poisson', 'periodic'))}; write it with its rate: poisson 20/s"
        raise WordError(f"`{shown(words[0])}` is not a process of arrivals", hint)
    found = _RATE.fullmatch(words[1]) if len(words) == 2 else None
    rate = _number(found[1]) * _PER[found[2]] if found else 0.0
    if not 0 < rate <= 1e6:
        hint = f"give the mean number of flows per s, ms or min: {words[0]} 20/s"
        raise WordError(f"`{shown(word)}` has no rate of arrivals", hint)
    return Arrivals(words[0], rate)


def sizes(word: object) -> Sizes:
    """Reads `100kB` or `pareto 100kB 1.3`."""
    words = word.split() if isinstance(word, str) else []
    if not words or words[0] not in _SIZES:
        if words and words[0].isalpha():
            known = [name for name in _SIZES if name != "constant"]
            hint = f"{nearest_hint(words[0], known)}; or give one size for all: 100kB"
            raise WordError(f"`{shown(words[0])}` is not a distribution of sizes", hint)
        return Sizes("constant", _mean(word))
    kind, *values = words
    wanted = [_SHAPES[kind]] if kind in _SHAPES else []
    if len(values) != 1 + len(wanted):
        example = {"lognormal": " 1.5", "pareto": " 1.3"}.get(kind, "")
        given = " and ".join(["a mean", *(f"a {name}" for name in wanted)])
        raise WordError(f"`{shown(word)}` needs {given}", f"write {kind} 100kB{example}")
    shape = _number(values[1]) if wanted else 0.0
    if kind == "pareto" and not 1 < shape <= 100:
        raise WordError(
            f"a Pareto distribution of shape {shown(values[1])} has no finite mean", "give a shape above 1, such as 1.3"
        )
    if kind == "lognormal" and not 0 < shape <= 10:
        raise WordError(f"`{shown(values[1])}` is no sigma", "give a number above 0 and up to 10, such as 1.5")
    return Sizes(kind, _mean(values[0]), shape)


def _mean(word: object) -> int:
    mean = units.size(word)
    if mean == 0:
        raise WordError("a flow of 0 bytes has nothing to send", "give a size, such as 100kB")
    return mean


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if math.isfinite(found) else 0.0


@dataclass(frozen=True)
class Schedule:
    """The flows of an entry between `start_ns` and `end_ns`."""

    name: str
    arrivals: Arrivals
    sizes: Sizes
    start_ns: int
    end_ns: int

    def flows(self, seed: int) -> Iterator[tuple[int, int]]:
        """Start in ns and size in bytes of each flow that arrives before the end. The first comes after one gap."""
        at_s = 0.0
        for number in range(1, self.arrivals.most(self.end_ns - self.start_ns) + 1):
            at_s += self.arrivals.gap_s(_share(f"{seed}/{self.name}/gap/{number}"))
            start_ns = self.start_ns + round(at_s * NANOSECONDS)
            if start_ns >= self.end_ns:
                return
            yield start_ns, self.sizes.draw(_share(f"{seed}/{self.name}/size/{number}"))


def _share(words: str) -> float:
    """A number between 0 and 1, which it never is."""
    drawn = int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big")
    # 53 bits, so that the sum is exact.
    return ((drawn >> 12) + 0.5) / 2**52

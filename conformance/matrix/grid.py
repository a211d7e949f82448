"""The cells of the matrix: parts of experiments/conformance/full.yaml, whose full product would take days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback import scenario
from tailback.scenario import Experiment
from tailback.validation import every

FILE = Path(__file__).resolve().parents[2] / "experiments" / "conformance" / "full.yaml"
AXES = ("bottleneck", "qdisc", "rtt", "cc", "tsq")
LINE = "bottleneck=[L10M, R10M, L100M, R100M]"
MIDDLE = ("rtt=[10ms]", "tsq=[1ms]")


@dataclass(frozen=True)
class Place:
    """A cell of the grid: its labels in the order of `AXES`."""

    part: str
    values: tuple[str, ...]

    @classmethod
    def of(cls, part: str, labels: Mapping[str, str]) -> Place:
        """The cell with these labels."""
        return cls(part, tuple(labels[axis] for axis in AXES))

    @property
    def labels(self) -> dict[str, str]:
        """Label by axis."""
        return dict(zip(AXES, self.values, strict=True))

    @property
    def key(self) -> str:
        """Its name, unique in the matrix."""
        return " ".join((self.part, *self.values))

    @property
    def group(self) -> str:
        """The control."""
        return self.labels["cc"]


@dataclass(frozen=True)
class Part:
    """A part of the grid, possibly with axes over whole registries."""

    name: str
    settings: tuple[str, ...]
    walks: tuple[str, ...] = ()

    def all_settings(self) -> list[str]:
        """Settings as for `--set`; axes over registries have all current values."""
        return [*every(self.walks), *self.settings]

    def experiment(self, changes: Sequence[str] = ()) -> Experiment:
        """The part as an experiment, with additional settings."""
        return scenario.load(FILE, [*self.all_settings(), *changes])


_AQM = (
    "codel", "fq_codel", "pie", "fq_pie", "sfq", "fq", "cake", "codel ecn", "fq_codel noecn limit 500",
    "sfq limit 500 redflowlimit 100000 min 8000 max 60000 probability 0.1",
)  # fmt: skip
"""AQM disciplines below a shaper; some with options."""


def _red(rate: int) -> str:
    """RED for a rate in Mbit/s: thresholds of 10 and 30 ms."""
    least = rate * 1250
    thresholds = f"limit {20 * least} min {least} max {3 * least}"
    return f"red {thresholds} avpkt 1000 burst {least // 600} probability 0.1 bandwidth {rate}mbit"


def _shapers(rate: int) -> tuple[str, ...]:
    """Disciplines that are shapers."""
    return (
        f"cake bandwidth {rate}mbit",
        f"cake bandwidth {rate}mbit besteffort flows rtt 30ms overhead 18 atm",
        f"tbf rate {rate}mbit burst 10kb latency 50ms",
        f"htb rate {rate}mbit burst 15k cburst 15k | codel",
    )


def _several(words: Iterable[str]) -> str:
    return f"vary.qdisc=[{', '.join(words)}]"


AQM_DISCIPLINES = _several([*_AQM, _red(10)])
"""The disciplines at 10 Mbit/s."""
_AQM_PATHS = ("rtt=[10ms, 100ms]", "tsq=[1ms]", "cc=[reno, cubic]", "repeat=3")

PARTS = (
    Part("grid", (LINE, "repeat=2")),
    # One virtual second at this rate takes about one second, with one segment per skb.
    Part("gigabit", ("bottleneck=[LR1000M]", "rtt=[10ms]", "repeat=1")),
    Part("controls", ("bottleneck=[R10M, L100M, R100M]", *MIDDLE, "repeat=1"), ("cc",)),
    Part("aqm10", ("bottleneck=[R10M]", *_AQM_PATHS, AQM_DISCIPLINES)),
    Part("aqm50", ("bottleneck=[R50M]", *_AQM_PATHS, _several([*_AQM, _red(50)]))),
    Part("shapers10", ("bottleneck=[S10M]", *_AQM_PATHS, _several(_shapers(10)))),
    Part("shapers50", ("bottleneck=[S50M]", *_AQM_PATHS, _several(_shapers(50)))),
    Part("disciplines", ("bottleneck=[R10M, L100M, R100M]", "cc=[cubic, bbr]", *MIDDLE, "repeat=1"), ("qdisc",)),
)


def parts() -> Iterator[tuple[Part, Experiment]]:
    """All parts, with their experiments."""
    for part in PARTS:
        yield part, part.experiment()

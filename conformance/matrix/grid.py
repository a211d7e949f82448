"""Which cells the matrix has: parts of experiments/conformance/full.yaml, for its whole product would take days."""

from __future__ import annotations

from collections.abc import Iterator
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
class Part:
    """A cut of the grid, or a walk along registries through it."""

    name: str
    settings: tuple[str, ...]
    walks: tuple[str, ...] = ()

    def all_settings(self) -> list[str]:
        """As of `--set`; an axis that walks has every value that its registry lists today."""
        return [*every(self.walks), *self.settings]

    def experiment(self) -> Experiment:
        """The part as an experiment."""
        return scenario.load(FILE, self.all_settings())


PARTS = (
    Part("grid", (LINE, "repeat=2")),
    # A virtual second at this rate costs a wall second, with one segment per skb.
    Part("gigabit", ("bottleneck=[LR1000M]", "rtt=[10ms]", "repeat=1")),
    Part("controls", ("bottleneck=[R10M, L100M, R100M]", *MIDDLE, "repeat=1"), ("cc",)),
    Part("disciplines", ("bottleneck=[R10M, L100M, R100M]", "cc=[cubic, bbr]", *MIDDLE, "repeat=1"), ("qdisc",)),
)


def parts() -> Iterator[tuple[Part, Experiment]]:
    """All of them."""
    for part in PARTS:
        yield part, part.experiment()

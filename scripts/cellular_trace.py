"""Writes the traces of experiments/cellular.yaml: delivery opportunities of a made-up cellular link.

    python scripts/cellular_trace.py experiments/traces

Nothing was recorded. The rate wanders as that of a phone in a car does: every 20 ms it is multiplied by a random factor
and drawn back a little, the scheduler serves the phone in turns of a few milliseconds, and twice the link is gone for
a while. Whole numbers and one seed, so that the files are the same everywhere.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPPORTUNITY_BITS = 12_000
LENGTH_MS = 30_000
STEP_MS = 20


@dataclass(frozen=True)
class Link:
    """One direction."""

    name: str
    level_bps: int
    """Where the rate is drawn to; its mean is above that."""
    turn_ms: int
    seed: int
    gone_ms: tuple[range, ...] = (range(9_000, 9_600), range(21_000, 22_200))


LINKS = (
    Link("cellular-down", level_bps=2_400_000, turn_ms=3, seed=1),
    Link("cellular-up", level_bps=1_200_000, turn_ms=5, seed=2),
)


def stamps(link: Link) -> Iterator[int]:
    """The instants of the opportunities."""
    draws = random.Random(link.seed)
    rate, waiting = link.level_bps, 0
    for ms in range(1, LENGTH_MS + 1):
        if ms % STEP_MS == 0:
            rate = rate * draws.choice((80, 100, 125)) // 100 + (link.level_bps - rate) // 20
        if any(ms in gone for gone in link.gone_ms):
            waiting = 0
            continue
        waiting += rate // 1000
        # It is the phone's turn, and it gets all that came together.
        if ms % link.turn_ms == 0:
            yield from [ms] * (waiting // OPPORTUNITY_BITS)
            waiting %= OPPORTUNITY_BITS
    yield LENGTH_MS


def text(link: Link) -> str:
    """The file of a link."""
    return "".join(f"{stamp}\n" for stamp in stamps(link))


if __name__ == "__main__":
    for link in LINKS:
        (Path(sys.argv[1]) / f"{link.name}.trace").write_text(text(link), encoding="ascii")

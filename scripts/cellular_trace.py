"""Writes the traces of experiments/cellular.yaml: delivery opportunities of an invented cellular link.

    python scripts/cellular_trace.py experiments/traces

It is not a recording. The rate varies as for a phone in a car: every 20 ms it is multiplied by a random factor and
pulled back towards its mean, the scheduler serves the phone in turns of a few milliseconds, and there are two outages.
It uses integers and a fixed seed, so that the files are the same everywhere.
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
    """The level to which the rate returns; the mean rate is higher."""
    turn_ms: int
    seed: int
    gone_ms: tuple[range, ...] = (range(9_000, 9_600), range(21_000, 22_200))


LINKS = (
    Link("cellular-down", level_bps=2_400_000, turn_ms=3, seed=1),
    Link("cellular-up", level_bps=1_200_000, turn_ms=5, seed=2),
)


def stamps(link: Link) -> Iterator[int]:
    """The times of the opportunities in ms."""
    draws = random.Random(link.seed)
    rate, waiting = link.level_bps, 0
    for ms in range(1, LENGTH_MS + 1):
        if ms % STEP_MS == 0:
            rate = rate * draws.choice((80, 100, 125)) // 100 + (link.level_bps - rate) // 20
        if any(ms in gone for gone in link.gone_ms):
            waiting = 0
            continue
        waiting += rate // 1000
        # The phone's turn: it gets all opportunities since its last turn.
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

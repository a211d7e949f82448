"""Fuzzes one reader with mutations selected by a seed, without a library."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from campaigns import guard, mutation
from campaigns.journal import Journal
from campaigns.targets import target


def main(words: Sequence[str]) -> None:
    """Fuzzes one target for a number of executions or seconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("place", type=Path)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args(words)

    ends = time.monotonic() + options.seconds
    chosen, journal = target(options.target), Journal(options.place)
    inputs = mutation.endless(chosen.seeds(), chosen.dictionary(), options.seed)
    with guard.scratch() as folder, guard.continuing_clocks():
        for content in islice(inputs, options.runs):
            journal.hold(chosen, content, Path(folder))
            if time.monotonic() > ends:
                break
    journal.tell(now=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])

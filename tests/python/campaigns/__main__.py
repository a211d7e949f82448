"""The long campaigns: `python -m campaigns kills --kills 1000`, `fuzz [TARGET...] --runs 100000`, `random --runs 2000`.

Findings are stored in `target/campaign/TARGET`, and the exit status is then 1; `target/campaign/log.jsonl` has a line
for each part with its executions, seconds and findings.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from campaigns import fuzzing, guard, kills, random_runs
from campaigns.seeds import REPOSITORY
from campaigns.targets import TARGETS

WORK = REPOSITORY / "target" / "campaign"
KILLS_AT_ONCE = 10
"""After so many the campaign says how far it is."""


def main(words: Sequence[str]) -> int:
    """Runs one campaign; returns 1 if it found something."""
    options = _parser().parse_args(words)
    signal.signal(signal.SIGTERM, _end)
    return int(options.campaign(options))


def _end(number: int, _frame: FrameType | None) -> None:
    """As at Ctrl-C: running processes end with the campaign."""
    sys.exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parts = parser.add_subparsers(required=True)
    killing = parts.add_parser("kills", help="kill sweeps and go on with them")
    killing.add_argument("--kills", type=int, default=1000)
    killing.add_argument("--seed", type=int, default=1)
    killing.set_defaults(campaign=_kills)
    mutating = parts.add_parser("fuzz", help="mutate what readers read")
    mutating.add_argument("targets", nargs="*", metavar="TARGET", help=f"all of {', '.join(_names())} if none is named")
    mutating.add_argument("--runs", type=int, default=1_000_000, help="executions of each target at most")
    mutating.add_argument("--minutes", type=float, default=10.0, help="of each target at most")
    mutating.add_argument("--seed", type=int, default=1)
    ways = [way.value for way in fuzzing.Chosen]
    mutating.add_argument("--by", choices=ways, default=ways[0], help="how inputs of readers in Python are chosen")
    mutating.set_defaults(campaign=_fuzz)
    drawing = parts.add_parser("random", help="run experiments drawn at random over all keys")
    drawing.add_argument("--runs", type=int, default=2000)
    drawing.add_argument("--seed", type=int, default=1)
    drawing.add_argument("--checked", type=Path, help="an extension with assertions, for the same runs")
    drawing.set_defaults(campaign=_random)
    return parser


def _kills(options: argparse.Namespace) -> int:
    done = 0
    while done < options.kills:
        count = min(KILLS_AT_ONCE, options.kills - done)
        with guard.scratch() as place:
            tally = kills.campaign(count, options.seed + done // KILLS_AT_ONCE, Path(place))
        done += tally.kills
        note(
            {"part": "kills", "kills": tally.kills, "sweeps": tally.sweeps, "seconds": round(tally.seconds), "finds": 0}
        )
    return 0


def _random(options: argparse.Namespace) -> int:
    place = WORK / "random" / str(options.seed)
    place.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    checked = None if options.checked is None else random_runs.Checked(options.checked)
    tally = random_runs.campaign(options.runs, options.seed, place, checked)
    if checked is not None:
        checked.close()
    seconds = round(time.monotonic() - began)
    # Of fewer runs some rare key may be in none.
    absent = tally.absent if options.runs >= random_runs.RUNS_FOR_ALL_KEYS else []
    note(
        {"part": "random", "seed": options.seed, "runs": tally.runs, "refused": tally.refused,
         "unsuitable": sum(tally.unsuitable.values()), "seconds": seconds,
         "checked": checked is not None, "absent": absent, "finds": tally.finds}
    )  # fmt: skip
    return int(bool(tally.finds or absent))


def _names() -> list[str]:
    return [*(target.name for target in TARGETS), *fuzzing.RUST]


def _fuzz(options: argparse.Namespace) -> int:
    found = 0
    for name in options.targets or _names():
        if name not in _names():
            print(f"`{name}` is not a target; use one of {', '.join(_names())}", file=sys.stderr)
            return 2
        wanted = fuzzing.Wanted(options.runs, options.minutes, options.seed, fuzzing.Chosen(options.by))
        try:
            fuzzed = fuzzing.fuzz(name, wanted, WORK / name)
        except fuzzing.Missing as missing:
            print(missing, file=sys.stderr)
            return 2
        finds = [str(file) for file in fuzzed.finds]
        note(
            {
                "part": name,
                "by": _by(name, options.by),
                "executions": fuzzed.executions,
                "seconds": round(fuzzed.seconds),
                "finds": finds,
            }
        )
        found += len(finds)
    return int(found > 0)


def _by(name: str, way: str) -> str:
    return "coverage" if name in fuzzing.RUST else way


def note(entry: Mapping[str, Any]) -> None:
    """Prints a line and logs it."""
    WORK.mkdir(parents=True, exist_ok=True)
    line = json.dumps(dict(entry))
    print(line, flush=True)
    with (WORK / "log.jsonl").open("a") as log:
        log.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

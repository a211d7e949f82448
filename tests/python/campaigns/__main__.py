"""The long campaigns: `python -m campaigns kills --kills 1000`, `fuzz [TARGET...] --runs 100000`, `random --runs 2000`,
`endpoints --runs 2000`.

Findings are stored in `target/campaign/TARGET`, and the exit status is then 1; `target/campaign/log.jsonl` has a line
for each part with its executions, seconds and findings.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from campaigns import endpoints, fuzzing, guard, kills, mutants, mutants_page, planting, random_runs
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
    answering = parts.add_parser("endpoints", help="run a library that answers at random through the C ABI")
    answering.add_argument("--runs", type=int, default=2000)
    answering.add_argument("--seed", type=int, default=1)
    answering.set_defaults(campaign=_endpoints)
    changing = parts.add_parser("mutants", help="change the crates one operator at a time: each must fail a test")
    changing.add_argument("--each", type=int, default=150, help="mutants of each crate")
    changing.add_argument("--seed", type=int, default=1)
    changing.add_argument("--minutes", type=float, default=math.inf, help="of judging; the next call goes on")
    changing.add_argument("--write", action="store_true", help=f"rewrite {mutants_page.PAGE.relative_to(REPOSITORY)}")
    changing.set_defaults(campaign=_mutants)
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


def _endpoints(options: argparse.Namespace) -> int:
    began, place = time.monotonic(), WORK / "endpoints"
    place.mkdir(parents=True, exist_ok=True)
    tally = endpoints.campaign(options.runs, options.seed, endpoints.compiled(place))
    note(
        {"part": "endpoints", "seed": options.seed, "runs": tally.runs, "completed": tally.completed,
         "reasons": len(tally.reasons), "seconds": round(time.monotonic() - began), "finds": tally.finds}
    )  # fmt: skip
    return int(bool(tally.finds))


def _mutants(options: argparse.Namespace) -> int:
    place = WORK / "mutants"
    place.mkdir(parents=True, exist_ok=True)
    began, journal = time.monotonic(), place / "judged.jsonl"
    copy, (found, listed) = planting.Copy(place), planting.drawn(options.each, options.seed)
    known = {one.mutant: one.outcome for one in mutants_page.kept(journal)}
    # Those that are judged stay in the copy, which is then built once.
    planted = copy.plant([each for each in found if known.get(each.name) != "not compiled"])
    compiled = {each.number for each in planted}
    refused = [each for each in found if each.number not in compiled and each.name not in known]
    mutants_page.keep(journal, [mutants_page.record(each, None) for each in refused])
    nets = mutants.Nets(copy)
    for mutant in planted:
        if time.monotonic() - began > 60 * options.minutes:
            break
        if mutant.name not in known:
            mutants_page.keep(journal, [mutants_page.record(mutant, mutants.judge(mutant, nets))])
    records = mutants_page.kept(journal)
    if options.write:
        command = f"make campaign-mutants EACH={options.each} SEED={options.seed} WRITE=--write"
        mutants_page.PAGE.write_text(mutants_page.page(records, listed, command), encoding="utf-8")
    gaps = [one.mutant for one in records if one.outcome == "gap"]
    note({"part": "mutants", "judged": len(records), "seconds": round(time.monotonic() - began), "finds": gaps})
    return int(bool(gaps))


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

"""Whether a change leaves every result as it was, to the byte: the proof of a step that only saves time.

    python -m performance.unchanged --write before.json     # with the old build
    python -m performance.unchanged before.json             # with the new build: names what differs, exits with 1

Some runs of each file in `experiments/` and of the golden experiments, cut to a few seconds, and every case of the
tables of docs/performance.md. Compared are all tables, captures and counters of disciplines, and the numbers of events,
packets and segments. A step that saves events on purpose names `--events-may-change`.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from performance.cases import CASES, controls, disciplines
from tailback import _core, scenario
from tailback.resolved import to_json

ROOT = Path(__file__).parents[1]
LONGEST_S = 8
"""Runs are cut to this many seconds: the traffic of most papers starts after 5 s."""
RUNS_PER_FILE = 15


def scenarios(per_file: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and resolved scenario of each run; of each file evenly spaced ones, and the last."""
    for case in (*CASES, *disciplines(), *controls()):
        yield case.name, case.resolved()
    for file in sorted((*ROOT.glob("experiments/**/*.yaml"), *ROOT.glob("tests/golden/*.yaml"))):
        runs = scenario.load(file).runs()
        step = max(1, -(-len(runs) // per_file))
        for number in sorted({*range(0, len(runs), step), len(runs) - 1}):
            if not runs[number].scenario.controls:
                yield f"{file.relative_to(ROOT)} {number}", cut(to_json(runs[number].scenario))


def cut(resolved: Mapping[str, Any]) -> Mapping[str, Any]:
    """The scenario, ended early."""
    return {**resolved, "duration_ns": min(resolved["duration_ns"], LONGEST_S * 1_000_000_000)}


def digests(resolved: Mapping[str, Any]) -> Mapping[str, str]:
    """A digest of each part of what the simulator gives back."""
    try:
        found = _core.run(json.dumps(resolved), None)
    except (ValueError, RuntimeError) as error:
        return {"error": str(error)}
    parts = {f"table {name}": table.stream for name, table in found["tables"].items()}
    parts |= {f"capture {name}": capture for name, capture in found["captures"].items()}
    parts["qdiscs"] = found["qdiscs"].encode()
    numbers = {name: str(int(found["cost"][name])) for name in ("events", "packets", "segments")}
    return {name: hashlib.sha256(part).hexdigest()[:16] for name, part in parts.items()} | numbers


def differences(
    before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]], ignored: Sequence[str]
) -> list[str]:
    """A line for each run of before that differs now, with the parts that do."""
    lines = []
    for name, one in before.items():
        other = now.get(name, {})
        parts = sorted(part for part in one.keys() | other.keys() if one.get(part) != other.get(part))
        if parts := [part for part in parts if part not in ignored]:
            lines.append(f"{name}: {', '.join(parts)}")
    return sorted(lines)


def main() -> None:
    """Writes or compares."""
    words = argparse.ArgumentParser(prog="python -m performance.unchanged", description=__doc__)
    words.add_argument("file", type=Path, help="the digests of the old build")
    words.add_argument("--write", action="store_true", help="write the file instead of comparing with it")
    words.add_argument("--events-may-change", action="store_true", help="ignore the numbers of events")
    words.add_argument("--per-file", type=int, default=RUNS_PER_FILE, help="runs of each experiment file")
    words.add_argument("--jobs", type=int, default=2, help="runs at a time")
    asked = words.parse_args()
    named = dict(scenarios(asked.per_file))
    with ThreadPoolExecutor(asked.jobs) as threads:
        now = dict(zip(named, threads.map(digests, named.values()), strict=True))
    if asked.write:
        asked.file.write_text(json.dumps(now, indent=1))
        print(f"{len(now)} runs written")
        return
    before = json.loads(asked.file.read_text())
    lines = differences(before, now, ["events"] if asked.events_may_change else [])
    new = f", {len(now.keys() - before.keys())} more are not in {asked.file.name}" if now.keys() - before.keys() else ""
    print("\n".join([*lines, f"{len(before)} runs, {len(lines)} differ{new}"]))
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()

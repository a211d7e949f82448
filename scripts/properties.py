"""Runs the property tests of the crates with a multiple of their cases (`properties.py 200`), and prints their times.

`properties.py 200 cc tcp --jobs 1` runs those of two crates, one after the other. The cases are fresh ones, of a seed
that is printed; `--seed N` tries those of N again. A property is a test within
`proptest!`, built with optimisation and all assertions (profile `properties`). A failing case is stored beside the
source (`FILE.regressions`): commit it, and correct the mechanism.
"""

import argparse
import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEFAULT_CASES = 256
"""Of proptest: what `PROPTEST_CASES` is measured by (crates/properties)."""

BLOCK = re.compile(r"^( *)proptest! \{\n(.*?)^\1\}", re.MULTILINE | re.DOTALL)
CONFIG = re.compile(r"#!\[proptest_config\(.*?\bcases\(([\d_]+)\)")
TEST = re.compile(r"#\[test\]\s+fn (\w+)\(")


@dataclass(frozen=True)
class Property:
    crate: str
    name: str
    cases: int


@dataclass(frozen=True)
class Program:
    """A built test program of a crate."""

    crate: str
    path: str

    def names(self) -> list[str]:
        listed = subprocess.run([self.path, "--list", "--format", "terse"], capture_output=True, text=True, check=True)
        return [line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")]


def properties() -> list[Property]:
    """All property tests in the sources."""
    found = []
    for file in sorted((ROOT / "crates").rglob("*.rs")):
        crate = file.relative_to(ROOT / "crates").parts[0]
        for _, block in BLOCK.findall(file.read_text()):
            config = CONFIG.search(block)
            if not config:
                raise SystemExit(f"{file}: a proptest! without #![proptest_config(cases(N))] (crates/properties)")
            cases = int(config[1].replace("_", ""))
            found += [Property(crate, name, cases) for name in TEST.findall(block)]
    return found


def built(crates: set[str]) -> list[Program]:
    command = ["cargo", "test", "--locked", "--profile", "properties", "--no-run", "--message-format", "json"]
    command += [word for crate in sorted(crates) for word in ("-p", f"tailback-{crate}")]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        Program(Path(message["manifest_path"]).parent.name, message["executable"])
        for message in messages
        if message.get("executable") and message["profile"]["test"]
    ]


def places(wanted: list[Property]) -> dict[Property, tuple[Program, str]]:
    """The program of each property test, and its full name there."""
    programs = [(program, program.names()) for program in built({one.crate for one in wanted})]
    found = {}
    for one in wanted:
        where = [
            (program, name)
            for program, names in programs
            if program.crate == one.crate
            for name in names
            if name.rpartition("::")[2] == one.name
        ]
        if len(where) != 1:
            raise SystemExit(f"{one.crate}: {one.name} is {len(where)} tests; each property needs a name of its own")
        found[one] = where[0]
    return found


@dataclass(frozen=True)
class Cases:
    """How many each property tries, and which."""

    times: int
    seed: int

    def environment(self) -> dict[str, str]:
        """proptest's own variables."""
        asked = {"PROPTEST_CASES": str(DEFAULT_CASES * self.times), "PROPTEST_RNG_SEED": str(self.seed)}
        return {**os.environ, **asked}


def tried(one: Property, program: Program, name: str, cases: Cases) -> bool:
    """Runs one property test; returns whether it passed."""
    start = time.monotonic()
    done = subprocess.run(
        [program.path, "--exact", name],
        cwd=ROOT / "crates" / one.crate,
        env=cases.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - start
    holds = done.returncode == 0
    verdict = "holds" if holds else "BROKEN"
    print(f"{verdict:6} {one.cases * cases.times:9} cases {seconds:8.1f} s  {one.crate}: {one.name}", flush=True)
    if not holds:
        print(done.stdout, flush=True)
    return holds


def main(words: Sequence[str]) -> int:
    there = properties()
    crates = sorted({one.crate for one in there})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int)
    parser.add_argument("crates", nargs="*", metavar="CRATE", help=f"of {', '.join(crates)}; all if none is named")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of the cases; by default a fresh one")
    options = parser.parse_args(words)
    cases = Cases(options.times, options.seed)
    if unknown := set(options.crates) - set(crates):
        parser.error(f"no properties in {', '.join(sorted(unknown))}")
    where = places([one for one in there if one.crate in (options.crates or crates)])
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda one: tried(one, *where[one], cases), where))
    print(
        f"{sum(outcomes)} of {len(outcomes)} properties hold with {cases.times} times their cases of seed {cases.seed}"
    )
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

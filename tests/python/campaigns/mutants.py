"""Judges mutants of the crates: each changes one operator, one value or one arm of the code.

    python -m campaigns mutants --each 150 --seed 1

Three nets try each mutant, the cheapest first: the golden tables, a run of each file in `experiments` (its first two
seconds), and the tests of its crate. One that passes the first and the last but not the second is a **gap**: it changes
results, and no test sees it. One that passes all is equivalent, or changes what no scenario does.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from campaigns.planting import CRATES, Copy, Mutant
from campaigns.seeds import REPOSITORY
from tailback import scenario
from tailback.resolved import to_json

RUNS = REPOSITORY / "tests" / "golden" / "runs"
EXPERIMENTS = REPOSITORY / "experiments"
LENGTH_NS = 2_000_000_000
"""Of a run of an experiment, from the start of its first flow."""
LARGEST = 300_000
"""Characters of a scenario that is still run."""
MEMORY = 3 << 30
SPARE_S = 20
"""Seconds of the processor beside five times of what the code without mutants takes."""


@dataclass(frozen=True)
class Net:
    """What tries mutants."""

    name: str
    command: Callable[[Mutant], Sequence[tuple[Sequence[str], Path]]]
    """Commands that fail if they see the mutant, each with its folder."""
    seconds: Mapping[str, float]
    """What each takes without a mutant, by its program and first argument."""

    def sees(self, mutant: Mutant) -> str:
        """What saw the mutant; empty if nothing did."""
        for words, folder in self.command(mutant):
            done = chosen(words, mutant.number, folder, 5 * self.seconds[key(words)] + SPARE_S)
            if done.returncode != 0:
                failed = next((line.strip() for line in done.stdout.splitlines() if line.startswith("    ")), "")
                return failed or done.stdout.strip().split("\n")[0] or "it does not end"
        return ""


def key(words: Sequence[str]) -> str:
    """By what the time of a command is known."""
    return " ".join(words[:2])


def chosen(words: Sequence[str], number: int, folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """Runs a program with a mutant, within limits: many mutants never end."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    environment = {**os.environ, "MUTANT": str(number)}
    return subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        preexec_fn=limit,
        check=False,
    )


def timed(words: Sequence[str], folder: Path) -> tuple[float, str]:
    """What a program takes without a mutant, and prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = chosen(words, 0, folder, 3600)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} fails without a mutant:\n{done.stdout[-2000:]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout


def golden() -> Iterator[tuple[str, str]]:
    """The runs of the golden tables."""
    for file in sorted(RUNS.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            yield f"{file.stem} {run['run']}", json.dumps(run["scenario"])


def experiments() -> Iterator[tuple[str, str]]:
    """The first run of each experiment, cut short."""
    for file in sorted(EXPERIMENTS.rglob("*.yaml")):
        found = to_json(scenario.load(file).runs()[0].scenario)
        starts = [flow["start_ns"] for flow in found["traffic"] if flow["kind"] != "ping"]
        found["duration_ns"] = min(found["duration_ns"], LENGTH_NS + min(starts, default=0))
        text = json.dumps(found)
        # Those with a control of their own need its library.
        if len(text) < LARGEST and not found.get("controls"):
            yield file.relative_to(REPOSITORY).as_posix(), text


def of_scenarios(name: str, scenarios: Iterator[tuple[str, str]], copy: Copy, program: str) -> Net:
    """Scenarios, compared with what they give without a mutant."""
    listed, sums = copy.place / f"{name}.list", copy.place / f"{name}.sums"
    # The short ones first: most see most mutants.
    listed.write_text("".join(f"{each}\t{text}\n" for each, text in sorted(scenarios, key=lambda one: len(one[1]))))
    seconds, printed = timed([program, str(listed)], REPOSITORY)
    sums.write_text(printed)
    words = (program, str(listed), str(sums))
    return Net(name, lambda _: [(words, REPOSITORY)], {key(words): seconds})


def of_tests(copy: Copy) -> Net:
    """The tests of the crates."""
    packages = [word for crate in CRATES for word in ("--package", f"tailback-{crate}")]
    messages = copy.cargo("test", "--no-run", "--lib", "--tests", *packages)
    found: dict[str, list[tuple[Sequence[str], Path]]] = {crate: [] for crate in CRATES}
    seconds = {}
    for message in messages:
        if message.get("executable") and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            words = (message["executable"], "--quiet")
            seconds[key(words)], _ = timed(words, folder)
            found[folder.name].append((words, folder))
    return Net("tests of the crate", lambda mutant: found[mutant.crate], seconds)


class Nets:
    """All of them, in the order in which they try. Each is built when a mutant comes to it."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy

    def __iter__(self) -> Iterator[Net]:
        yield self._golden
        yield self._experiments
        yield self._tests

    @cached_property
    def _golden(self) -> Net:
        return of_scenarios("golden tables", golden(), self._copy, self._program)

    @cached_property
    def _experiments(self) -> Net:
        return of_scenarios("experiments", experiments(), self._copy, self._program)

    @cached_property
    def _tests(self) -> Net:
        return of_tests(self._copy)

    @cached_property
    def _program(self) -> str:
        messages = self._copy.cargo("build", "--package", "tailback-bench", "--bin", "compare-scenarios")
        return next(str(message["executable"]) for message in messages if message.get("executable"))


@dataclass(frozen=True)
class Judged:
    """What has become of a mutant."""

    mutant: Mutant
    seen: Mapping[str, str]
    """By each net that saw it, what in it."""

    @property
    def outcome(self) -> str:
        """In a word."""
        if "golden tables" in self.seen or "tests of the crate" in self.seen:
            return "killed"
        return "gap" if self.seen else "survived"


def judge(mutant: Mutant, nets: Iterable[Net]) -> Judged:
    """Tries a mutant until one net has seen it; one that only experiments see is tried by the tests, too."""
    seen: dict[str, str] = {}
    for net in nets:
        found = net.sees(mutant)
        if found:
            seen[net.name] = found
            if net.name != "experiments":
                break
    return Judged(mutant, seen)

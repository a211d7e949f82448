"""A copy of the crates with many mutants in one build, of which an environment variable chooses one.

`cargo mutants` lists them, [mutants](../../../mutants/README.md) writes them into the copy, and those that the compiler
refuses are taken out until it refuses none.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns.seeds import REPOSITORY

CRATES = ("cc", "qdisc", "tcp", "wifi")
COPIED = ("crates", "tests/golden", "Cargo.toml", "Cargo.lock")
OF_TESTS = re.compile(r"/(testing|operations|toy|example)\.rs|_tests\.rs")
"""Files that only tests compile."""

CHOICE = """
static MUTANT: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(u32::MAX);

/// The mutant that runs; 0 is none.
#[inline(always)]
pub fn mutant() -> u32 {
    let chosen = MUTANT.load(core::sync::atomic::Ordering::Relaxed);
    if chosen != u32::MAX { chosen } else { chosen_mutant() }
}

#[cold]
#[inline(never)]
fn chosen_mutant() -> u32 {
    let chosen = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    MUTANT.store(chosen, core::sync::atomic::Ordering::Relaxed);
    chosen
}
"""
"""What the copy has in its lowest crate."""

PROFILE = """
[profile.mutants]
inherits = "dev"
opt-level = 1
debug = false
incremental = false
"""


@dataclass(frozen=True)
class Mutant:
    """A change of the crates."""

    number: int
    listed: dict[str, Any]
    """As `cargo mutants` lists it."""

    @property
    def name(self) -> str:
        """File, line and what is changed."""
        return str(self.listed["name"]).removeprefix("crates/").replace("/src/", "/", 1)

    @property
    def crate(self) -> str:
        """The crate that is changed."""
        return str(self.listed["package"]).removeprefix("tailback-")


def drawn(each: int, seed: int) -> tuple[list[Mutant], int]:
    """So many mutants of each crate, and how many there are."""
    packages = [word for crate in CRATES for word in ("--package", f"tailback-{crate}")]
    words = ["cargo", "mutants", "--list", "--json", *packages]
    done = subprocess.run(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True)
    listed = [one for one in json.loads(done.stdout) if not OF_TESTS.search(one["file"])]
    source, found = random.Random(seed), []
    for crate in CRATES:
        of_crate = [one for one in listed if one["package"] == f"tailback-{crate}"]
        found += source.sample(of_crate, min(each, len(of_crate)))
    return [Mutant(number, one) for number, one in enumerate(found, 1)], len(listed)


@dataclass(frozen=True)
class Copy:
    """The copy."""

    place: Path

    @property
    def source(self) -> Path:
        """The workspace."""
        return self.place / "source"

    def cargo(self, *words: str) -> list[dict[str, Any]]:
        """The messages of a command of cargo."""
        environment = {**os.environ, "CARGO_TARGET_DIR": str(self.place / "target")}
        command = ["cargo", *words, "--profile", "mutants", "--message-format", "json", "--quiet"]
        done = subprocess.run(command, cwd=self.source, env=environment, capture_output=True, text=True, check=False)
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode and not list(_errors(messages)):
            raise RuntimeError(done.stderr)
        return messages

    def plant(self, mutants: Sequence[Mutant]) -> list[Mutant]:
        """Writes the copy with these mutants. Returns those that have a place in it and compile."""
        self._take()
        planted = list(mutants)
        while True:
            homeless = self._write(planted)
            refused = self._refused()
            planted = [mutant for mutant in planted if mutant.number not in homeless]
            if not refused:
                return planted
            planted = [mutant for mutant in planted if mutant.number not in refused]

    def _take(self) -> None:
        """Copies what is not planted."""
        words = ["git", "ls-files", "-z", *COPIED]
        files = subprocess.run(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True).stdout
        more = {"Cargo.toml": PROFILE, "crates/units/src/lib.rs": CHOICE}
        for name in filter(None, files.split("\0")):
            if not any(name.startswith(f"crates/{crate}/src/") for crate in CRATES):
                self._keep(name, (REPOSITORY / name).read_bytes() + more.get(name, "").encode())

    def _keep(self, name: str, content: bytes) -> None:
        """Writes a file of the copy if it differs: cargo goes by the time of the last change."""
        file = self.source / name
        if not file.is_file() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def _write(self, mutants: Sequence[Mutant]) -> set[int]:
        """Plants these; returns the numbers of those that have no place."""
        listed, planted = self.place / "planted.json", self.place / "planted"
        shutil.rmtree(planted, ignore_errors=True)
        files = [file for crate in CRATES for file in (REPOSITORY / "crates" / crate / "src").rglob("*.rs")]
        names = [file.relative_to(REPOSITORY).as_posix() for file in files]
        for name in names:
            (planted / name).parent.mkdir(parents=True, exist_ok=True)
        listed.write_text(json.dumps([{**mutant.listed, "id": mutant.number} for mutant in mutants]))
        program = ["--manifest-path", f"{REPOSITORY}/mutants/Cargo.toml", "--target-dir", f"{self.place}/planter"]
        words = ["cargo", "run", "--quiet", *program, "--", str(listed), str(REPOSITORY), str(planted)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
        for name in names:
            changed = planted / name
            self._keep(name, (changed if changed.is_file() else REPOSITORY / name).read_bytes())
        return {int(number) for number in done.stdout.split()}

    def _refused(self) -> set[int]:
        """The numbers of the mutants that the compiler refuses now."""
        packages = [word for crate in (*CRATES, "world") for word in ("--package", f"tailback-{crate}")]
        errors = list(_errors(self.cargo("check", "--keep-going", *packages)))
        refused = {number for error in errors for span in error["spans"] for number in self._of(span)}
        # An error without a mutant of its own follows from that of another, and goes with it.
        if errors and not refused:
            raise RuntimeError(errors[0]["rendered"])
        return refused

    def _of(self, span: dict[str, Any]) -> set[int]:
        """The mutants of a place that the compiler names: the nearest before it in its line, or in its function."""
        file = self.source / span["file_name"]
        if not file.is_file():
            return set()
        lines = file.read_text(encoding="utf-8").splitlines()
        first, last = span["line_start"] - 1, span["line_end"]
        in_lines = _marks("\n".join(lines[first:last]))
        if in_lines and span["line_end"] == span["line_start"]:
            before = _marks(lines[first][: span["column_start"] - 1])
            return {before[-1] if before else in_lines[0]}
        if in_lines or not span["is_primary"]:
            return set(in_lines)
        while first > 0 and not re.match(r"\s*(pub(\([^)]*\))? )?fn ", lines[first]):
            first -= 1
        end = next((at for at in range(first, len(lines)) if re.fullmatch(r"( {4})?}", lines[at])), len(lines))
        return set(_marks("\n".join(lines[first:end])))


def _marks(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"/\*M(\d+)\*/", text)]


def _errors(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Those with a place: the last of a crate only counts the others."""
    found = (message["message"] for message in messages if message.get("reason") == "compiler-message")
    return (error for error in found if error["level"] == "error" and error["spans"])

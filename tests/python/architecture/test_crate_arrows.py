"""The crates depend downwards only, and use neither a clock nor random numbers of their own (ARCHITECTURE.md)."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

BELOW: dict[str, set[str]] = {
    "properties": set(),
    "units": set(),
    "engine": {"units"},
    "packet": {"units"},
    "record": {"units"},
    "table": {"units", "record"},
    "pcapng": set(),
    "traffic": {"units"},
    "cc": {"units", "packet"},
    "qdisc": {"units", "packet"},
    "wifi": {"units", "packet", "qdisc"},
    "tcp": {"units", "packet", "cc"},
    "script": set(),
    "drill": {"units", "packet", "cc", "tcp", "script"},
    "world": {"units", "packet", "cc", "qdisc", "wifi", "tcp", "engine", "record", "pcapng", "traffic"},
    "net": {"units", "packet", "cc", "engine", "record", "world"},
    "browser": {"record", "world"},
    "air": {"units", "packet", "qdisc", "wifi", "world", "record", "table"},
    "python": {"units", "packet", "cc", "qdisc", "wifi", "drill", "library", "module", "net", "world", "air", "table"},
    "library": {"module", "net"},
    "module": {"units", "cc"},
    "agent": {"units", "script", "pcapng", "traffic"},
    "bench": {"units", "packet", "cc", "qdisc", "wifi", "tcp", "engine", "record", "world"},
}
"""What each crate may depend on, in its tests and benches too."""

OF_TESTS = {"properties"}
"""What the tests of any crate may depend on, and nothing else may."""

PACKETDRILL = {"drill", "script"}
"""Crates of the extension through which no run goes."""

MACHINES = ("packet", "cc", "qdisc", "wifi", "tcp", "script", "drill", "traffic")
"""The crates that take the time and random draws as arguments."""

FORBIDDEN_METHODS = {
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "std::env::var",
    "std::thread::sleep",
}
FORBIDDEN_TYPES = {"std::collections::HashMap", "std::collections::HashSet", "std::hash::RandomState"}


CORE = {
    "fnv", "indexmap", "equivalent", "hashbrown",
    "rand_core", "rand_xoshiro",
    "serde", "serde_core", "serde_derive", "serde_json", "serde_path_to_error", "itoa", "memchr", "zmij",
    "thiserror", "thiserror-impl", "proc-macro2", "quote", "syn", "unicode-ident",
}  # fmt: skip
"""What the simulator stands on that is not ours: maps in order, random numbers, JSON, errors."""


@pytest.fixture(scope="module")
def crates() -> dict[str, Any]:
    """The metadata that cargo has of each crate, by its folder."""
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    packages = json.loads(done.stdout)["packages"]
    return {Path(package["manifest_path"]).parent.name: package for package in packages}


def test_every_crate_has_its_place(crates: dict[str, Any]) -> None:
    assert sorted(crates) == sorted(BELOW)


@pytest.mark.parametrize("crate", BELOW)
def test_a_crate_depends_only_on_what_lies_below(crate: str, crates: dict[str, Any]) -> None:
    names = [dependency["name"] for dependency in crates[crate]["dependencies"]]
    ours = {name.removeprefix("tailback-") for name in names if name.startswith("tailback-")}
    assert ours - OF_TESTS <= BELOW[crate]


def test_the_engine_version_covers_every_crate_that_a_run_goes_through() -> None:
    command = [
        "cargo",
        "tree",
        "--offline",
        "--package=tailback-python",
        "--edges=normal",
        "--prefix=none",
        "--format={p}",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = {
        line.split()[0].removeprefix("tailback-") for line in done.stdout.splitlines() if line.startswith("tailback-")
    }
    (listed,) = re.findall(r"const ENGINE: .*?= \[(.*?)\];", (ROOT / "crates/python/build.rs").read_text(), re.DOTALL)
    assert set(re.findall(r'"(\w+)"', listed)) == found - PACKETDRILL


def test_the_simulator_by_itself_stands_on_a_short_list() -> None:
    command = [
        "cargo",
        "tree",
        "--offline",
        "--package=tailback-world",
        "--edges=normal",
        "--prefix=none",
        "--format={p}",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = {line.split()[0] for line in done.stdout.splitlines() if line}
    assert {name for name in names if not name.startswith("tailback-")} == CORE


@pytest.mark.parametrize("crate", BELOW)
def test_crates_for_tests_are_only_dev_dependencies(crate: str, crates: dict[str, Any]) -> None:
    dependencies = crates[crate]["dependencies"]
    kinds = {found["kind"] for found in dependencies if found["name"].removeprefix("tailback-") in OF_TESTS}
    assert kinds <= {"dev"}


@pytest.mark.parametrize("crate", MACHINES)
def test_no_state_machine_depends_on_engine_record_or_world(crate: str) -> None:
    assert not BELOW[crate] & {"engine", "record", "world"}


@pytest.mark.parametrize("crate", BELOW)
def test_every_crate_has_the_lints_of_the_workspace(crate: str) -> None:
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    assert manifest["lints"] == {"workspace": True}


def test_clocks_and_random_numbers_are_forbidden_with_a_reason() -> None:
    lints = tomllib.loads((ROOT / "clippy.toml").read_text())
    methods, types = lints["disallowed-methods"], lints["disallowed-types"]
    assert {ban["path"] for ban in methods} >= FORBIDDEN_METHODS
    assert {ban["path"] for ban in types} >= FORBIDDEN_TYPES
    assert all(ban["reason"] for ban in [*methods, *types])
    clippy = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["lints"]["clippy"]
    assert clippy["disallowed_methods"] == clippy["disallowed_types"] == "deny"


def test_no_file_lifts_the_ban() -> None:
    lifted = re.compile(r"#!?\[\s*(allow|expect|warn)\s*\([^]]*disallowed_(methods|types)")
    files = [file for crate in BELOW for file in sorted((ROOT / "crates" / crate / "src").rglob("*.rs"))]
    assert len(files) > 80
    assert [str(file.relative_to(ROOT)) for file in files if lifted.search(file.read_text())] == []


def test_what_the_published_crate_stands_on_is_published_with_it() -> None:
    def needs(crate: str) -> set[str]:
        below = BELOW[crate] - OF_TESTS
        return {crate, *(each for name in below for each in needs(name))}

    published = {
        folder.name
        for folder in (ROOT / "crates").iterdir()
        if tomllib.loads((folder / "Cargo.toml").read_text())["package"].get("publish") is True
    }
    named = re.search(r"^PUBLISHED := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert named is not None
    assert published == needs("net") == set(named[1].split())

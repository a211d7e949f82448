"""Each missing prerequisite of a machine is reported in one line, with the command that installs it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ALWAYS_THERE = ("sh", "bash", "sed", "sort", "head", "dirname")

Machine = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Runs a script of the repository on a machine that has little besides the given programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ALWAYS_THERE:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)

    def run(*words: str, ci: str = "", **scripts: str) -> subprocess.CompletedProcess[str]:
        for name, script in scripts.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        environment = {"PATH": str(programs), "CI": ci}
        return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    return run


PYTHON = f'exec "{sys.executable}" "$@"'
CARGO = "echo cargo 1.99.0"
LINKER = "exit 0"


def test_on_a_complete_machine_only_the_python_version_is_printed(machine: Machine) -> None:
    done = machine("scripts/prerequisites.sh", python3=PYTHON, cargo=CARGO, cc=LINKER)
    assert (done.returncode, done.stdout, done.stderr) == (0, "python3\n", "")


def test_each_thing_that_is_missing_is_one_line_with_its_remedy(machine: Machine) -> None:
    done = machine("scripts/prerequisites.sh")
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert [line.split()[0:2] for line in lines] == [["missing:", "Python"], ["missing:", "cargo"], ["missing:", "a"]]
    for line, remedy in zip(
        lines, ("apt-get install python3", "https://rustup.rs", "apt-get install gcc"), strict=True
    ):
        assert remedy in line


def test_a_python_that_is_too_old_or_does_not_start_is_skipped(machine: Machine) -> None:
    done = machine("scripts/prerequisites.sh", python3="exit 127", cargo=CARGO, cc=LINKER, python=PYTHON)
    assert (done.returncode, done.stdout) == (0, "python\n")
    done = machine("scripts/prerequisites.sh", python="exit 1")
    assert done.returncode == 1
    assert "Python 3.11 or newer" in done.stderr


@pytest.mark.parametrize(
    ("version", "enough"), [("1.9.0", False), ("1.87.1", False), ("1.88.0", True), ("2.0.0", True)]
)
def test_an_old_rust_gives_the_remedy_to_update(version: str, enough: bool, machine: Machine) -> None:
    done = machine("scripts/prerequisites.sh", python3=PYTHON, cargo=f"echo cargo {version}", cc=LINKER)
    assert done.returncode == (0 if enough else 1)
    assert ("rustup update" in done.stderr) != enough


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_a_missing_component_is_reported_and_fails_the_ci_only(ci: str, status: int, machine: Machine) -> None:
    done = machine("scripts/component.sh", "fmt", "cargo", "fmt", "--check", ci=ci, cargo="exit 1")
    assert done.returncode == status
    assert done.stderr.startswith("missing: cargo fmt: rustup component add rustfmt\n")
    assert ("left out: cargo fmt --check" in done.stderr) == (not ci)


def test_a_component_that_is_there_is_run_and_its_status_is_that_of_the_step(machine: Machine) -> None:
    cargo = 'test "$2" = --version && exit 0; echo "$@"; exit 3'
    done = machine("scripts/component.sh", "fmt", "cargo", "fmt", "--check", cargo=cargo)
    assert (done.returncode, done.stdout) == (3, "fmt --check\n")


def test_a_ci_machine_without_make_is_reported(machine: Machine) -> None:
    done = machine("bash", ".ci/run")
    assert done.returncode == 1
    assert done.stderr.startswith("missing: make: ")


FAILS_TWICE = """
count=$(cat "$0.count" 2>/dev/null || echo 0)
echo $((count + 1)) > "$0.count"
[ "$count" -ge 2 ] || exit 7
echo "$@"
"""


def test_a_download_that_fails_for_a_while_is_repeated_and_each_failure_is_told(machine: Machine) -> None:
    words = ("scripts/retried.sh", "downloading crates", "cargo", "fetch", "a b")
    done = machine(*words, cargo=FAILS_TWICE, sleep="exit 0", cat='read line < "$1" && echo "$line"')
    assert (done.returncode, done.stdout) == (0, "fetch a b\n")
    assert done.stderr == "".join(f"downloading crates failed with status 7; again in {pause} s\n" for pause in (5, 10))


def test_a_download_that_keeps_failing_fails_with_its_status(machine: Machine) -> None:
    done = machine("scripts/retried.sh", "downloading crates", "cargo", cargo="exit 7", sleep="exit 0")
    assert done.returncode == 7
    assert done.stderr.splitlines()[5:] == ["downloading crates failed six times"]


def test_packages_are_installed_though_a_list_of_them_or_a_lock_could_not_be_had_at_once(machine: Machine) -> None:
    apt = FAILS_TWICE.replace("-ge 2", "-ge 3")
    scripts = {"apt-get": apt, "sleep": "exit 0", "cat": 'read line < "$1" && echo "$line"'}
    done = machine("scripts/apt-packages.sh", "flex", "bison", **scripts)
    assert done.returncode == 0
    assert done.stderr == "installing flex bison failed with status 7; again in 5 s\n"


def test_this_machine_is_complete() -> None:
    done = subprocess.run(
        ["scripts/prerequisites.sh"], cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")

"""A segment costs the expected number of instructions, which does not depend on the load of the machine."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from performance import expected
from performance.cases import GUARDED, Case
from performance.count import ROOT, Counted, Runner, count, extension
from performance.profile import COMPILER, FOLDER, kept


@pytest.fixture(scope="module", autouse=True)
def valgrind() -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("needs valgrind (Debian: apt-get install valgrind)")


@pytest.fixture(scope="module")
def runner() -> Runner:
    if expected.compiler() != expected.read()["compiler"]:
        pytest.skip("this machine has another compiler: compare two builds with python -m performance.report")
    return extension()


@pytest.mark.parametrize("case", GUARDED, ids=lambda case: case.name)
def test_a_segment_costs_no_more_instructions_than_expected(case: Case, runner: Runner) -> None:
    before, counted = expected.read()["cases"][case.name], count(runner, case.resolved())
    rise = expected.rise(before, counted)
    assert rise <= expected.MAX_RISE, "\n".join(
        [
            f"{counted.per_segment:.0f} instructions per segment, {rise:+.1%}; what rose:",
            *expected.risen(before, counted),
            "after a change of code that runs often, `make profile`; a build without it has some 4 % more",
            "if it must be so: python -m performance.expected, and say why in CHANGELOG.md",
        ]
    )


def test_an_extension_without_names_of_functions_is_reported() -> None:
    nameless = Runner(["echo", "events: 1, packets: 1, segments: 1"], extension().flags)
    with pytest.raises(ValueError, match="has no names of functions; build it with `make`"):
        count(nameless, {})


def test_the_profiles_are_of_the_compiler_of_the_counts() -> None:
    assert COMPILER.read_text().splitlines()[0] == expected.read()["compiler"]


def test_a_profile_keeps_the_functions_of_which_a_block_ran_often() -> None:
    rare = "rarely\n# Func Hash:\n12345678\n# Num Counters:\n2\n# Counter Values:\n3\n0"
    often = "often\n# Func Hash:\n7\n# Num Counters:\n2\n# Counter Values:\n0\n500\n# Num Value Kinds:\n1"
    head = "# IR level Instrumentation Flag\n:ir\n"
    assert "".join(kept(f"{head}{rare}\n\n{often}\n\n", 100)) == f"{head}{often}\n\n"


def built_with(environment: Mapping[str, str]) -> str:
    """The flags that a command behind `profiled.sh` is given."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [str(ROOT / "scripts" / "profiled.sh"), "fast", "sh", "-c", 'printf %s "$CARGO_ENCODED_RUSTFLAGS"'],
        env={**{name: value for name, value in os.environ.items() if "RUSTFLAGS" not in name}, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def a_compiler(folder: Path, says: str) -> Mapping[str, str]:
    """An environment whose `rustc` says this of itself."""
    (folder / "said.txt").write_text(says)
    (folder / "rustc").write_text(f"#!/bin/sh\ncat '{folder}/said.txt'\n")
    (folder / "rustc").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_the_profile_is_used_by_the_compiler_that_it_was_collected_with(tmp_path: Path) -> None:
    flags = built_with(a_compiler(tmp_path, COMPILER.read_text())).split("\x1f")
    assert flags[0] == f"-Cprofile-use={FOLDER / 'fast.profdata'}"


def test_another_compiler_and_flags_of_the_user_build_without_the_profile(tmp_path: Path) -> None:
    assert built_with(a_compiler(tmp_path, "rustc 1.88.0")) == ""
    same = a_compiler(tmp_path, COMPILER.read_text())
    assert built_with({**same, "RUSTFLAGS": "-C target-cpu=native"}) == ""


def test_a_rise_is_reported_with_the_functions_that_rose() -> None:
    before = {"instructions_per_segment": 1000, "functions": {"take": 600, "give": 400}}
    counted = Counted(
        segments=10, events=40, instructions=11_000, functions={"take": 650.0, "give": 400.0, "new": 50.0}
    )
    assert expected.rise(before, counted) == pytest.approx(0.1)
    assert expected.risen(before, counted) == ["   600 ->    650  take", "     0 ->     50  new"]

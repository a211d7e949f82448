"""A segment costs the expected number of instructions, which does not depend on the load of the machine."""

import os
import shutil

import pytest

from performance import expected
from performance.cases import GUARDED, Case
from performance.count import Counted, Runner, count, extension


@pytest.fixture(scope="module", autouse=True)
def valgrind() -> None:
    if shutil.which("valgrind") is None and os.environ.get("CI") != "true":
        pytest.skip("needs valgrind (Debian: apt-get install valgrind)")


@pytest.fixture(scope="module")
def runner() -> Runner:
    if expected.compiler() != expected.read()["compiler"]:
        pytest.skip("the counts are those of another compiler: compare two builds with python -m performance.report")
    return extension()


@pytest.mark.parametrize("case", GUARDED, ids=lambda case: case.name)
def test_a_segment_costs_no_more_instructions_than_expected(case: Case, runner: Runner) -> None:
    before, counted = expected.read()["cases"][case.name], count(runner, case.resolved())
    rise = expected.rise(before, counted)
    assert rise <= expected.MAX_RISE, "\n".join(
        [
            f"{counted.per_segment:.0f} instructions per segment, {rise:+.1%}; what rose:",
            *expected.risen(before, counted),
            "if it must be so: python -m performance.expected, and say why in CHANGELOG.md",
        ]
    )


def test_an_extension_without_names_of_functions_is_reported() -> None:
    nameless = Runner(["echo", "events: 1, packets: 1, segments: 1"], extension().flags)
    with pytest.raises(ValueError, match="has no names of functions; build it with `make`"):
        count(nameless, {})


def test_a_rise_is_reported_with_the_functions_that_rose() -> None:
    before = {"instructions_per_segment": 1000, "functions": {"take": 600, "give": 400}}
    counted = Counted(
        segments=10, events=40, instructions=11_000, functions={"take": 650.0, "give": 400.0, "new": 50.0}
    )
    assert expected.rise(before, counted) == pytest.approx(0.1)
    assert expected.risen(before, counted) == ["   600 ->    650  take", "     0 ->     50  new"]

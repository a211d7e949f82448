"""How the values of stacks are known: what drill scripts on the kernels tell."""

from __future__ import annotations

import pytest

from conformance import fields
from conformance.fields import (
    KERNELS,
    OTHERS,
    SCRIPTS,
    agreeing,
    differing,
    name_of,
    read_verdicts,
    simulated,
    tells,
)
from conformance.page import ROOT
from tailback.drill import WrongDrill
from tailback.scenario.stacks import differences

VERDICTS = read_verdicts()
MEASURED = [
    (each, stack, run)
    for each in differences()
    for stack, run in each.evidence.measured.items()
    if run.startswith("conformance/drill/") and stack in VERDICTS
]


@pytest.mark.parametrize("stack", KERNELS)
def test_every_script_ends_on_a_stack_as_on_its_kernel_but_for_those_that_are_known(stack: str) -> None:
    assert list(differing({stack: VERDICTS[stack]})) == []
    names = {name_of(script) for script in fields.scripts()}
    assert VERDICTS[stack].keys() <= names, "a script is gone: run `python -m conformance.fields --measure`"
    assert len(agreeing(VERDICTS, stack)) > 100


@pytest.mark.parametrize(
    "place", range(len(MEASURED)), ids=lambda place: "-".join((MEASURED[place][0].key, MEASURED[place][1]))
)
def test_a_measured_value_is_told_by_the_script_that_its_evidence_names(place: int) -> None:
    difference, stack, run = MEASURED[place]
    assert VERDICTS[stack][run] == simulated(ROOT / run, stack)
    assert tells(ROOT / run, difference, stack)


def test_a_field_that_no_script_can_tell_is_measured_by_none() -> None:
    told = {difference.key for difference, _, _ in MEASURED}
    assert told.isdisjoint(OTHERS)
    assert OTHERS.keys() <= {each.key for each in differences()}


def test_a_known_difference_is_of_a_script_that_still_differs() -> None:
    for script, stack in fields.KNOWN:
        file = SCRIPTS / f"{script}.pkt"
        assert VERDICTS[stack][name_of(file)] != simulated(file, stack)


def test_a_stack_with_a_field_of_another_differs_in_that_field_alone() -> None:
    script = SCRIPTS / "stacks" / "syn-timeouts-double.pkt"
    assert simulated(script, "linux-6.12").startswith("failed")
    assert simulated(script, "linux-6.12 with syn_linear_timeouts of linux-6.1") == "passed"
    assert simulated(script, "linux-6.12 with last_fin of linux-6.1").startswith("failed")


@pytest.mark.parametrize(
    "rest", ["linux-6.12 with nothing of linux-6.1", "linux-6.12 with last_fin", "linux-6.12 with last_fin of x"]
)
def test_a_field_or_stack_that_there_is_not_is_refused(rest: str) -> None:
    with pytest.raises(WrongDrill, match="is not a stack here; there are"):
        simulated(SCRIPTS / "cork.pkt", f"linux-6.12 with {rest}")

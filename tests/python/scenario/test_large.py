"""Large and hostile files: quotes stay short, and the work grows linearly with the file. The tests count calls, not
time.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tailback import scenario
from tailback.tc.errors import nearest_hint

LINKS = "links: [{ends: [a, b], rate: 100mbit, delay: 1ms}]\nduration: 10s\n"
LONG = "x" * 300_000


def calls(work: Callable[[], object]) -> int:
    """The number of functions that `work` calls, including those in C."""
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def entries(count: int) -> str:
    return LINKS + "traffic:\n" + "".join(f"  - {{tcp: a -> b, name: f{each}, cc: reno}}\n" for each in range(count))


def star(count: int) -> str:
    links = "".join(f"  - {{ends: [h{each}, r], rate: 1gbit, delay: 1ms}}\n" for each in range(count))
    flows = "".join(f"  - {{tcp: h{each} -> h0, name: f{each}}}\n" for each in range(1, count))
    return f"links:\n{links}duration: 10s\ntraffic:\n{flows}"


def segment(count: int) -> str:
    hosts = ", ".join(f"h{each}" for each in range(count))
    return f"links: [{{lan: [{hosts}], rate: 1gbit}}]\nduration: 10s\ntraffic: [{{tcp: h0 -> h1}}]\n"


def flows(count: int) -> str:
    return f"{LINKS}traffic: [{{tcp: a -> b, flows: {count}}}]\n"


def choices(count: int) -> str:
    return entries(1) + f"vary: {{duration: [{', '.join(f'{10 + each}s' for each in range(count))}]}}\n"


def planned(text: str) -> int:
    experiment = scenario.loads(text)
    return len(scenario.lint(experiment)) + len(experiment.runs())


@pytest.mark.parametrize("file", [entries, star, segment, flows, choices])
def test_reading_checking_and_planning_grow_as_the_file(file: Callable[[int], str]) -> None:
    planned(file(3))
    small, large = (calls(partial(planned, file(count))) for count in (20, 80))
    assert large < 5 * small, (small, large)


def test_a_control_for_all_flows_replaces_those_of_many_flows_in_linear_time() -> None:
    small, large = (calls(partial(scenario.loads, entries(count), ["cc=cubic"])) for count in (20, 80))
    assert large < 5 * small


@pytest.mark.parametrize(
    "text",
    [
        f"{LINKS}traffic: [{{tcp: a -> b}}]\n? {LONG}\n: 1\n",
        f"{LINKS}traffic: [{{tcp: a -> b, cc: {LONG}}}]\n",
        f"{LINKS}traffic: [{{tcp: a -> {LONG}}}]\n",
        f"{LINKS}traffic: [{{tcp: a -> b}}]\nqdiscs: {{a -> b: {LONG} limit 5}}\n",
        f"{LINKS}traffic: [{{tcp: a -> b}}]\nqdiscs: {{a -> b: pfifo {LONG} 5}}\n",
        f"{LINKS}traffic: [{{tcp: a -> b}}]\nvary: {{cc: [{LONG}, cubic]}}\n",
        f"{LINKS}traffic: [{{tcp: a -> b}}]\nlet: {{a b: {LONG}}}\n",
    ],
)
def test_a_long_wrong_value_is_quoted_by_its_beginning(text: str) -> None:
    with pytest.raises(scenario.ScenarioError) as error:
        scenario.loads(text)
    assert len(str(error.value)) < 3000
    assert "xxx" in str(error.value) or "`a b`" in str(error.value)


def test_a_long_override_is_quoted_by_its_beginning() -> None:
    with pytest.raises(scenario.ScenarioError) as error:
        scenario.loads(entries(1), [f"{LONG}=1", f"cc={LONG}"])
    assert len(str(error.value)) < 3000


def test_of_very_many_errors_only_the_first_are_reported() -> None:
    with pytest.raises(scenario.ScenarioError) as error:
        scenario.loads(f"{LINKS}traffic: [{', '.join(['{}'] * 1000)}]\n")
    assert len(error.value.findings) == 1000
    assert str(error.value).endswith("and 950 more errors")


def test_an_unknown_word_is_compared_with_some_of_very_many() -> None:
    known = [f"host{number}" for number in range(10_000)]
    assert nearest_hint("host12x", known) == "did you mean `host12`?"
    assert nearest_hint("elsewhere", known).endswith("and 9940 more")

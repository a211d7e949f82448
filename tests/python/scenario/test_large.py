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


def work(of: Callable[[], object]) -> int:
    """The number of lines that run and of functions in C that are called: a search in a list, written as a loop or as a
    comprehension, counts for each element.
    """
    count = 0

    def lines(_frame: Any, _event: str, _argument: Any) -> Any:
        nonlocal count
        count += 1
        return lines

    def in_c(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "c_call"

    before = sys.gettrace()
    sys.settrace(lines)
    sys.setprofile(in_c)
    try:
        of()
    finally:
        sys.setprofile(None)
        sys.settrace(before)
    return count


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


def chain(count: int) -> str:
    links = "".join(f"  - {{ends: [h{each}, h{each + 1}], rate: 1gbit, delay: 1ms}}\n" for each in range(count))
    return f"links:\n{links}duration: 10s\ntraffic: [{{tcp: h0 -> h{count}}}]\n"


def cells(count: int) -> str:
    one = "{{wifi: {{ap: r, stations: [h{each}]}}, standard: 802.11n, width: 20MHz, mcs: 7, name: c{each}}}"
    links = "".join(f"  - {one.format(each=each)}\n" for each in range(count))
    return f"links:\n{links}duration: 10s\ntraffic: [{{tcp: h0 -> r}}]\n"


def stations(count: int) -> str:
    names = ", ".join(f"h{each}" for each in range(count))
    cell = f"{{wifi: {{ap: r, stations: [{names}]}}, standard: 802.11n, width: 20MHz, mcs: 7}}"
    entries = "".join(f"  - {{tcp: r -> h{each}, name: f{each}}}\n" for each in range(count))
    return f"links: [{cell}]\nduration: 10s\ntraffic:\n{entries}"


def schedule(count: int) -> str:
    changes = ", ".join(f"{{at: {each}us, rate: {1 + each % 9}mbit}}" for each in range(count))
    link = f"{{ends: [a, b], rate: 10mbit, delay: 5ms, schedule: [{changes}]}}"
    return f"links: [{link}]\nduration: 1s\ntraffic: [{{tcp: a -> b}}]\n"


def impairments(count: int) -> str:
    changes = ", ".join(
        f"{{at: {each + 1}ms, loss: {1 + each % 9}%, delay: {1 + each % 5}ms}}" for each in range(count)
    )
    link = f"{{ends: [a, b], rate: 10mbit, delay: 5ms, loss: 1%, schedule: [{changes}]}}"
    return f"links: [{link}]\nduration: 100s\ntraffic: [{{tcp: a -> b}}]\n"


def routes(count: int) -> str:
    ends = "".join(f"  - {{ends: [h{each}, {hub}], rate: 1gbit}}\n" for each in range(count) for hub in "qr")
    ways = "".join(f"  h{each} -> q: [r]\n" for each in range(count))
    return (
        f"links:\n{ends}  - {{ends: [r, q], rate: 1gbit}}\nduration: 10s\nroutes:\n{ways}traffic: [{{tcp: h0 -> q}}]\n"
    )


def tree(lines: str) -> str:
    return f"{LINKS}traffic: [{{tcp: a -> b}}]\nqdiscs:\n  a -> b: |\n    htb default 20\n{lines}"


def classes(count: int) -> str:
    return tree("".join(f"    class {each + 32:x} rate 1mbit\n" for each in range(count)))


def nested(count: int) -> str:
    below = "".join(f"    class {each + 32:x} parent {each + 31:x} rate 1mbit\n" for each in range(min(count, 6)))
    beside = "".join(f"    class {each + 64:x} parent 1f rate 1mbit | fq_codel\n" for each in range(count))
    return tree(f"    class 1f rate 5mbit\n{below}{beside}")


def filters(count: int) -> str:
    lines = "".join(f"    filter flow f{each} flowid 20\n" for each in range(count))
    return f"{entries(count)}qdiscs:\n  a -> b: |\n    htb default 20\n    class 20 rate 5mbit\n{lines}"


def kinds(count: int) -> str:
    each_kind = (
        "{{ping: a -> b, name: p{each}}}", "{{udp: a -> b, rate: 1mbit, name: u{each}}}",
        "{{call: a -> b, name: c{each}}}",
        "{{request: a -> b, answer: 10kB, name: r{each}}}", "{{video: a -> b, name: v{each}}}",
        "{{page: a -> b, name: g{each}}}", "{{tcp: a -> b}}",
    )  # fmt: skip
    lines = "".join(f"  - {kind.format(each=each)}\n" for kind in each_kind for each in range(count))
    return f"{LINKS}traffic:\n{lines}"


def hosts(count: int) -> str:
    settings = "".join(f"  h{each}: {{sysctl: {{net.ipv4.tcp_sack: 0}}}}\n" for each in range(count))
    return f"{star(count)}hosts:\n{settings}measure: {{pcap: [{', '.join(f'h{each}' for each in range(count))}]}}\n"


def axes(count: int) -> str:
    return entries(1) + "vary:\n" + "".join(f"  k{each}: {{v: {{tsq: 1ms}}}}\n" for each in range(count))


def variables(count: int) -> str:
    chained = "".join(f"  v{each + 1}: ${{v{each}}}\n" for each in range(count))
    return entries(1) + f"let:\n  v0: 1\n{chained}"


@pytest.mark.parametrize(
    "file",
    [
        entries, star, chain, segment, cells, stations, schedule, impairments, routes, classes, nested, filters, kinds,
        hosts, choices, axes, variables,
    ],
)  # fmt: skip
def test_each_kind_of_list_costs_twice_as_much_if_it_is_twice_as_long(file: Callable[[int], str]) -> None:
    planned(file(3))
    few, more, most = (work(partial(planned, file(count))) for count in (12, 24, 48))
    # Of a list whose check is quadratic, the second doubling costs four times as much as the first.
    assert most - more < 2.3 * (more - few), (few, more, most)


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
        scenario.loads(f"{LINKS}traffic:\n" + "  - {}\n" * 1000)
    assert len(error.value.findings) == 1000
    assert str(error.value).endswith("and 950 more errors")


def test_an_unknown_word_is_compared_with_some_of_very_many() -> None:
    known = [f"host{number}" for number in range(10_000)]
    assert nearest_hint("host12x", known) == "did you mean `host12`?"
    assert nearest_hint("elsewhere", known).endswith("and 9940 more")


TBF = "tbf rate 10mbit burst 10k latency 10ms"
DEEP = {
    "shapers one below the other": " | ".join([TBF] * 1000),
    "below a class": f"|\n    htb default 20\n    class 20 rate 1mbit | {' | '.join([TBF] * 1000)}",
    "classes below classes": "|\n    htb default 20\n    class 1f rate 5mbit"
    + "".join(f"\n    class {each + 32:x} parent {each + 31:x} rate 1mbit" for each in range(1000)),
    "pasted commands": f"|\n    tc qdisc add dev eth0 root handle 1: {TBF}"
    + "".join(f"\n    tc qdisc add dev eth0 parent {each:x}:1 handle {each + 1:x}: {TBF}" for each in range(1, 1000)),
    "lists in lists": "[" * 1000 + "pfifo" + "]" * 1000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_tree_of_disciplines_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(scenario.ScenarioError, match=r"one below the other|levels|nested too deeply"):
        planned(f"{LINKS}traffic: [{{tcp: a -> b}}]\nqdiscs:\n  a -> b: {text}\n")


def test_as_many_levels_as_linux_has_are_taken() -> None:
    below = "".join(f"    class {each + 32:x} parent {each + 31:x} rate 1mbit\n" for each in range(7))
    assert planned(tree(f"    class 1f rate 5mbit\n{below}")) > 0
    chained = " | ".join([TBF] * 7 + ["pfifo"])
    assert planned(f"{LINKS}traffic: [{{tcp: a -> b}}]\nqdiscs: {{a -> b: {chained}}}\n") > 0

"""Disciplines at the end of a run are printed with the words that `tc` prints and reads."""

import pytest

from conformance.tc.strings import strings
from tailback import _core, qdiscs
from tailback.cli.qdiscs import text
from tailback.scenario import CoreRegistry, words
from tailback.scenario.algorithm import Algorithm
from tailback.tc.errors import WordError

QDISCS = CoreRegistry().qdiscs


def printed(given: str) -> str:
    """The options that are printed of a discipline."""
    found = words.discipline(given, QDISCS)
    options = qdiscs.shown(found.kind, _core.resolved_qdisc(found.kind, found.options, 1500), found.options)
    counted = dict.fromkeys(("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"), 0)
    line = text([{"kind": found.kind, "handle": "1:", "root": True, "dev": "l0", "options": options, **counted}])
    return line.splitlines()[0].partition(" root ")[2]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("netem delay 10ms 2ms 25% loss 1%", "limit 1000 delay 10ms  2ms 25% loss 1%"),
        (
            "fq_codel ce_threshold 1ms ce_threshold_selector 1/0",
            "limit 10240p target 5ms interval 100ms ce_threshold 999us ecn ce_threshold_selector 0x1/0 flows 1024 "
            "quantum 1514 memory_limit 32Mb drop_batch 64",
        ),
        ("netem loss gemodel 1% 25% ecn", "limit 1000 loss gemodel p 1% r 25% 1-h 100% 1-k 0% ecn"),
        ("netem delay 5ms reorder 25% 50%", "limit 1000 delay 5ms reorder 25% 50% gap 1"),
        ("netem rate 1mbit 20 slot 1ms 2ms", "limit 1000 rate 1Mbit packetoverhead 20 slot 1ms 2ms"),
        (
            "cake bandwidth 9mbit besteffort dual-srchost nat overhead 44 ack-filter",
            "bandwidth 9Mbit besteffort dual-srchost nat nowash ack-filter split-gso rtt 100ms noatm overhead 44",
        ),
        (
            "cake ingress",
            "bandwidth unlimited diffserv3 triple-isolate nonat nowash ingress no-ack-filter split-gso rtt 100ms raw "
            "overhead 0",
        ),
    ],
)
def test_options_of_netem_and_cake_are_printed_as_tc_prints_them(given: str, shown: str) -> None:
    assert printed(given) == shown


@pytest.mark.parametrize("given", [one for one in strings() if one.startswith("cake") and "interplanetary" not in one])
def test_what_is_printed_of_cake_means_the_same_in_an_experiment(given: str) -> None:
    try:
        found = words.discipline(given, QDISCS)
    except WordError:
        return
    again = words.discipline(f"cake {printed(given)}", QDISCS)
    resolved = [_core.resolved_qdisc("cake", each.options, 1500) for each in (found, again)]
    assert resolved[0] == resolved[1]


def resolved(found: Algorithm) -> dict[str, object]:
    return dict(_core.resolved_qdisc(found.kind, found.options, 1500))


LESS = {
    "red": "avpkt",
    "choke": "bandwidth",
    "sfq": "redflowlimit",
}
"""What `tc -s` does not print although it must be given: without it, what is printed is refused by its name."""

ROUNDED = {
    "tbf": ("limit", "latency", "rate", "mtu"),
    "codel": ("target", "ce_threshold"),
    "fq_codel": ("target", "ce_threshold", "memory_limit", "ecn", "ce_threshold_selector", "ce_threshold_mask"),
    "hhf": ("reset_timeout",),
    "netem": ("delay", "distribution", "seed"),
}
"""What `tc -s` rounds (a kernel's ticks), or does not print: `noecn`, a selector of 0/0 or without `ce_threshold`, the
distribution and the seed of netem.
"""


def test_what_is_printed_of_any_discipline_means_the_same_or_is_refused_by_what_it_lacks() -> None:
    read, wrong = set(), []
    for given in (*strings(), "dualpi2", "dualpi2 target 1ms noecn"):
        try:
            found = words.discipline(given, QDISCS)
            before = resolved(found)
        except (WordError, ValueError):
            continue
        again = f"{found.kind} {printed(given)}"
        try:
            after = resolved(words.discipline(again, QDISCS))
        except WordError as error:
            if f"`{LESS.get(found.kind)}`" not in str(error):
                wrong.append((given, again, str(error)))
            continue
        read.add(found.kind)
        other = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        if other - {*ROUNDED.get(found.kind, ())}:
            wrong.append((given, again, str(other)))
    assert wrong == []
    # Always refused: `avpkt` and `bandwidth` must be given.
    assert {row.name for row in QDISCS} - read == {"red", "choke"}

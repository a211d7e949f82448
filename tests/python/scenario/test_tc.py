"""Disciplines in `tc`'s syntax: units, forms, trees; compared with the `tc` of this machine; arbitrary text."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from properties import cases
from tailback import _core
from tailback.scenario import CoreRegistry, words
from tailback.scenario.words import Algorithm, Class, Filter
from tailback.tc.errors import WordError

QDISCS = CoreRegistry().qdiscs


def read(text: object) -> Algorithm:
    return words.discipline(text, QDISCS)


def options(text: str) -> dict[str, int]:
    return read(text).options


WHOLE = 2**32 - 1
MS = 10**6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("netem delay 10ms", {"delay": 10 * MS}),
        ("netem delay 10ms 2ms 25%", {"delay": 10 * MS, "jitter": 2 * MS, "delay_correlation": round(0.25 * WHOLE)}),
        ("netem delay 10ms 2ms distribution normal", {"delay": 10 * MS, "jitter": 2 * MS, "distribution": 1}),
        ("netem delay 1000", {"delay": 1000}),
        ("netem loss 1%", {"loss": round(0.01 * WHOLE)}),
        ("netem loss random 1 25%", {"loss": round(0.01 * WHOLE), "loss_correlation": round(0.25 * WHOLE)}),
        ("netem loss gemodel 1% 25%", {"loss_model": 2, "p": round(0.01 * WHOLE), "r": round(0.25 * WHOLE)}),
        ("netem loss state 1% limit 10k", {"loss_model": 1, "p13": round(0.01 * WHOLE), "limit": 10_240}),
        ("netem rate 1mbit 20 48 5", {"rate": 10**6, "packet_overhead": 20, "cell_size": 48, "cell_overhead": 5}),
        ("netem slot 1ms 2ms packets 5", {"slot_min": MS, "slot_max": 2 * MS, "slot_packets": 5}),
        ("pfifo limit 10k", {"limit": 10_240}),
        (
            "codel limit 180 target 5ms interval 100ms ecn",
            {"limit": 180, "target": 5 * MS, "interval": 100 * MS, "ecn": 1},
        ),
        ("codel target 5000", {"target": 5 * MS}),
        ("pie noecn nobytemode no_dq_rate_estimator", {"ecn": 0, "bytemode": 0, "dq_rate_estimator": 0}),
        ("tbf rate 1mbit buffer 5kb/8 lat 50ms", {"rate": 10**6, "burst": 5120, "latency": 50 * MS}),
        (
            "red limit 400k avpkt 1000 probability 0.1",
            {"limit": 409_600, "avpkt": 1000, "probability": round(0.1 * WHOLE)},
        ),
        ("fq nopacing maxrate 10mbps horizon_cap", {"pacing": 0, "maxrate": 80_000_000, "horizon_action": 1}),
        ("fq weights 60000 40000 20000", {"weight_0": 60_000, "weight_1": 40_000, "weight_2": 20_000}),
        ("codel limit 5 limit 6", {"limit": 6}),
        ("fq_codel limit 0 quantum 100", {"quantum": 256}),
        ("fq_codel ce_threshold_selector 0x1/0x3", {"ce_threshold_selector": 1, "ce_threshold_mask": 3}),
        ("fq_codel ce_threshold_selector 010/8", {"ce_threshold_selector": 8, "ce_threshold_mask": 8}),
        ("cake pppoe-ptm ether-vlan", {"overhead": 34, "framing": 2, "raw": 0}),
        ("cake overhead -4", {"overhead": 0, "undercharge": 4, "raw": 0}),
        ("netem rate 1mbit -20 48", {"rate": 10**6, "packet_undercharge": 20, "cell_size": 48}),
        ("prio bands 2 priomap " + "1 " * 16, {"bands": 2, "priomap": 0x1111_1111_1111_1111}),
        ("sfq perturb 10 headdrop", {"perturb": 10, "headdrop": 1}),
        ("htb rate 1mbit linklayer adsl overhead 24", {"rate": 10**6, "linklayer": 1, "overhead": 24}),
    ],
)
def test_words_have_the_meaning_that_they_have_in_tc(text: str, expected: dict[str, int]) -> None:
    assert options(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("netem delay", "`delay` of `netem` has no value"),
        ("netem loss 101%", "is not a percentage"),
        ("netem jitter 5ms", "`jitter` is not an option of `netem`"),
        ("prio priomap 1 20", "names a band 20"),
        ("prio priomap 1 2²", "`2²` is not an option"),
        ("tbf rate 1mbit rate 2mbit burst 5kb latency 1s", "is given twice"),
        ("netem delay 10ms distribution normal", "`distribution` of `netem` needs `jitter`"),
        ("netem ecn", "`ecn` of `netem` needs `loss`"),
        ("netem slot 2ms 1ms", "is below the minimum"),
        ("sfq min 1000", "`min` of `sfq` needs `redflowlimit`"),
        ("htb rate 50%", "is relative to the speed of a device"),
        ("fq quantum 3k", "is not a whole number"),
        ("fq_codel ce_threshold_selector 1", "`1` is not a value and a mask"),
        ("fq_codel ce_threshold_selector 256/3", "`256` is out of range"),
        ("fq bands 4", "is always 3"),
        ("red limit 400k", "`avpkt` of `red` is missing"),
        ("pfifo; class 1:1 rate 1mbit", "`pfifo` has no classes"),
        ("htb rate 1mbit | drr; class 1 | pfifo", "has a child, and below it are classes"),
        ("prio; class 4 | pfifo", "`prio` has 3 bands, and no class 4"),
        ("mq queues 2; class 3 | pfifo", "`mq` has 2 queues, and no class 3"),
        ("htb default 20; class 1:10 rate 1mbit", "there is no class 20 for the `default`"),
        ("htb; class 1:10 parent 1:1 rate 1mbit", "class 10 has no parent 1"),
        ("htb; class 1:10 rate 1mbit; class 1:10 rate 1mbit", "class 10 is given twice"),
        ("htb; class rate 1mbit", "a class has no number"),
        ("htb; class 1:1 rate 1mbit; filter color red flowid 1:1", "is not a match of a filter"),
        ("htb; class 1:1 rate 1mbit; filter flow upload", "names no class"),
        ([], "an empty list"),
    ],
)
def test_a_word_without_a_meaning_is_refused_with_a_remedy(text: object, message: str) -> None:
    with pytest.raises(WordError) as caught:
        read(text)
    assert message in caught.value.message
    assert caught.value.hint


def test_a_list_is_a_series_of_stages() -> None:
    found = read(["netem delay 10ms", "htb rate 10mbit | codel"])
    stages = [each.child for each in found.classes]
    assert found.kind == "series"
    assert stages == [
        Algorithm("netem", {"delay": 10 * MS}),
        Algorithm("htb", {"rate": 10**7}, Algorithm("codel")),
    ]


def test_a_tree_has_classes_with_leaves_and_filters() -> None:
    found = read(
        """htb default 20
        class 1:1 rate 10mbit
        class parent 1:1 classid 1:10 htb rate 3mbit ceil 10mbit | fq_codel limit 180
        class 1:20 parent 1:1 rate 7mbit
        filter flow upload flowid 1:10
        filter dscp EF flowid 1:20"""
    )
    assert found.options == {"default": 0x20}
    assert found.classes == (
        Class(1, 0, {"rate": 10**7}, None),
        Class(0x10, 1, {"rate": 3 * 10**6, "ceil": 10**7}, Algorithm("fq_codel", {"limit": 180})),
        Class(0x20, 1, {"rate": 7 * 10**6}, None),
    )
    assert found.filters == (Filter("flow", "upload", 0x10), Filter("dscp", 46, 0x20))


@pytest.mark.parametrize(
    ("text", "count"), [("prio | fq_codel", 3), ("prio bands 5 | codel", 5), ("mq queues 2 | fq", 2)]
)
def test_bands_and_queues_get_a_child_each(text: str, count: int) -> None:
    found = read(text)
    assert [each.minor for each in found.classes] == list(range(1, count + 1))
    assert all(child == found.children[0] for child in found.children)


def test_every_kind_is_resolved_to_whole_numbers() -> None:
    required = {
        "htb": "rate 1mbit",
        "tbf": "rate 1mbit burst 5kb latency 50ms",
        "red": "limit 400k avpkt 1000",
        "choke": "limit 400 bandwidth 1mbit",
    }
    for row in QDISCS:
        found = read(f"{row.name} {required.get(row.name, '')}")
        resolved = _core.resolved_qdisc(row.name, found.options, 1500)
        assert set(found.options) <= set(resolved)
        assert {parameter.name for parameter in row.parameters if parameter.default is not None} <= set(resolved)


OTHER_WORDS = """class filter flowid parent classid | ; default 1:1 1:10 0 1 -1 5ms 1% 50% 10mbit 1600b 180p 1e9 0x10 ∞
state gemodel random uniform normal slot packets bytes weights priomap bands flow dscp EF to from all"""
VOCABULARY = sorted(
    {row.name for row in QDISCS}
    | {parameter.name for row in QDISCS for parameter in row.parameters}
    | set(OTHER_WORDS.split())
)


@settings(max_examples=cases(400))
@example("htb;|")
@example(";")
@example("prio | |")
@given(st.one_of(st.text(), st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join)))
def test_any_text_is_understood_or_refused_with_a_remedy(text: str) -> None:
    try:
        found = read(text)
    except WordError as error:
        assert error.message and error.hint
        return
    for value in found.options.values():
        assert 0 <= value < 2**64


# -- beside the real tc

TC = shutil.which("tc")

#: Strings for the real `tc` and for us, and options on which the two must agree once it is attached.
#: Kinds of which the kernel of this machine has none are compared with `tc`'s own reading only.
SAME: list[str] = [
    "pfifo", "pfifo limit 180", "pfifo limit 10k", "pfifo limit 10kx", "pfifo limit", "pfifo limits 5",
    "bfifo", "bfifo limit 15140", "bfifo limit 15kb", "bfifo limit 64kbit", "bfifo limit -5",
    "pfifo_head_drop limit 7", "pfifo_fast limit 5",
    "tbf rate 10mbit burst 5kb latency 50ms", "tbf rate 10mbit burst 5120 limit 67620",
    "tbf rate 10mbit burst 15k limit 100k peakrate 20mbit mtu 1540", "tbf rate 10mbit burst 5kb",
    "tbf rate 10mbit latency 50ms", "tbf burst 5kb latency 50ms", "tbf rate 10mbit burst 5kb latency 50ms limit 10k",
    "tbf rate 10mbit burst 5kb limit 10k peakrate 20mbit", "tbf rate 1000000 burst 5kb lat 50000",
    "tbf rate 1gibit burst 64kb latency 1ms", "tbf rate 1mbps burst 5kb latency 1s",
    "tbf rate fast burst 5kb latency 1s",
    "codel", "codel limit 180 target 5ms interval 100ms ecn", "codel limit 10k", "codel target 5x", "codel noecn",
    "fq_codel", "fq_codel limit 180 flows 64 quantum 300 target 5ms interval 100ms memory_limit 4mb ecn drop_batch 64",
    "fq_codel quantum 3k", "fq_codel ce_threshold 1ms", "fq_codel flows",
    "fq_codel ce_threshold 1ms ce_threshold_selector 1/3", "fq_codel ce_threshold_selector 1",
    "fq_codel memory_limit 4x",
    "pie", "pie limit 180 target 15ms tupdate 15ms alpha 2 beta 20 ecn bytemode", "pie alpha high", "pie nobytemode",
    "fq", "fq limit 100 flow_limit 10 quantum 3028 initial_quantum 15140 maxrate 10mbit nopacing", "fq pace",
    "fq horizon 5s horizon_cap", "fq low_rate_threshold 550kbit refill_delay 40ms orphan_mask 1023 timer_slack 10us",
    "sfq perturb 10 quantum 1514 limit 127 divisor 1024 depth 127 headdrop", "sfq perturb x",
    "sfq redflowlimit 100k ecn", "sfq redflowlimit 100000 ecn",
    "netem delay 10ms", "netem delay 10ms 2ms 25%", "netem delay 10ms 2ms distribution normal", "netem delay",
    "netem loss 1%", "netem loss random 1% 25%", "netem loss gemodel 1% 25% 100% 0%", "netem loss state 1% 20%",
    "netem loss 101%", "netem rate 10mbit", "netem limit 10k duplicate 1% corrupt 0.1%", "netem reorder 25% delay 10ms",
    "netem reorder 25%", "netem slot 1ms 2ms packets 5", "netem gap 5 delay 10ms", "netem jitter 5ms",
    "red limit 400000 avpkt 1000", "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive",
    "red avpkt 1000",
    "prio", "prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1", "prio bands x", "drr",
]  # fmt: skip

#: What `tc` reads and we refuse or the other way round, each with its reason.
APART: dict[str, str] = {
    "pfifo limit 180p": "`180p` is `tc`'s own way to write a number of packets, and ours to read one",
    "fq_codel limit 180p": "likewise",
}


def attached(tc: list[str], text: str) -> tuple[bool, dict[str, Any] | None]:
    """Whether `tc` accepts the words, and the options that the kernel then has; None if the kernel lacks the kind."""
    ran = subprocess.run(
        [*tc, "qdisc", "replace", "dev", "d0", "root", *text.split()], capture_output=True, text=True, check=False
    )
    # 1: tc itself refused; 2: the kernel refused, because it lacks the kind unless it gives another reason.
    lacking = "Specified qdisc kind is unknown" in ran.stderr or "Unknown qdisc" in ran.stderr
    if ran.returncode:
        return lacking, None
    shown = subprocess.run([*tc, "-j", "qdisc", "show", "dev", "d0"], capture_output=True, text=True, check=True)
    return True, next(each for each in json.loads(shown.stdout) if each.get("root"))


def understood(text: str) -> dict[str, int] | None:
    """Our result on a device like that of `tc`'s namespace; None if we refuse it."""
    try:
        found = read(text)
        return _core.resolved_qdisc(found.kind, found.options, 1500)
    except (WordError, ValueError):
        return None


@pytest.mark.parametrize("text", SAME)
def test_the_same_strings_are_accepted_and_refused_as_by_tc(tc: list[str], text: str) -> None:
    accepted, shown = attached(tc, text)
    ours = understood(text)
    assert accepted == (ours is not None), f"tc: {'accepts' if accepted else 'refuses'}"
    if shown is None or ours is None:
        return
    for name, value in shown["options"].items():
        if name in ours and isinstance(value, int | float):
            assert value == pytest.approx(in_base_units_of_tc(shown["kind"], name, ours), rel=1e-3, abs=1), name


def in_base_units_of_tc(kind: str, name: str, ours: dict[str, int]) -> float:
    """`tc -j` prints rates in byte/s and times in microseconds; buckets are rounded to ticks of 64 ns."""
    row = next(row for row in QDISCS if row.name == kind)
    unit = next(parameter.unit for parameter in row.parameters if parameter.name == name)
    return ours[name] / {"rate": 8, "time": 1000}.get(unit, 1)


@pytest.mark.parametrize("text", APART)
def test_differences_from_tc_are_known(tc: list[str], text: str) -> None:
    accepted, _ = attached(tc, text)
    assert accepted != (understood(text) is not None)

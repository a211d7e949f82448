"""Disciplines and controls in `tc`'s syntax, TCP Small Queues settings, sysctls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from tailback.scenario import CoreRegistry, Registry, tsq, words
from tailback.scenario.sysctl import SYSCTLS, sysctl
from tailback.scenario.words import Algorithm
from tailback.tc.errors import WordError


def test_a_shaper_holds_the_discipline_after_the_bar(registry: Registry) -> None:
    found = words.discipline("htb rate 100mbit burst 1600 | fq_codel limit 180 target 5ms noecn", registry.qdiscs)
    child = Algorithm("fq_codel", {"limit": 180, "target": 5_000_000, "ecn": 0})
    assert found == Algorithm("htb", {"rate": 100_000_000, "burst": 1_600}, child)


@pytest.mark.parametrize("word", ["180", "180p"])
def test_packets_are_taken_with_and_without_p(registry: Registry, word: str) -> None:
    assert words.discipline(f"pfifo limit {word}", registry.qdiscs).options == {"limit": 180}


def test_a_number_without_a_unit_has_the_meaning_that_it_has_in_tc(registry: Registry) -> None:
    """Microseconds, bit/s and bytes. [tc(8) PARAMETERS]"""
    assert words.discipline("fq_codel target 5000", registry.qdiscs).options == {"target": 5_000_000}
    assert words.discipline("htb rate 1000000 burst 1600", registry.qdiscs).options == {"rate": 10**6, "burst": 1600}


@pytest.mark.parametrize(
    ("pasted", "own"),
    [
        ("tc qdisc add dev eth0 root cake bandwidth 9Mbit", "cake bandwidth 9mbit"),
        ("tc qdisc replace dev eth0 parent 1:10 handle 10: fq_codel limit 100", "fq_codel limit 100"),
        (
            "qdisc cake 8001: root refcnt 2 bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter "
            "split-gso rtt 100ms raw overhead 0",
            "cake unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms overhead 0 raw",
        ),
        ("qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p target 5ms ecn", "fq_codel limit 10240 target 5ms ecn"),
        (
            "tc qdisc add dev eth0 root handle 1: htb default 10\n"
            "tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit | fq_codel",
            "htb default 10; class 10 rate 5mbit | fq_codel",
        ),
    ],
)
def test_lines_of_tc_may_be_pasted_with_device_handle_and_place(pasted: str, own: str) -> None:
    qdiscs = CoreRegistry().qdiscs
    assert words.discipline(pasted, qdiscs) == words.discipline(own, qdiscs)


@pytest.mark.parametrize(
    ("pasted", "message", "hint"),
    [
        ("qdisc noqueue 0: dev lo root refcnt 2", "`noqueue` is not", "a link without a rate has no discipline"),
        ("tc qdisc add dev eth0 handle ffff: ingress", "`ingress` is not", "cake bandwidth 45mbit ingress`"),
        ("tc qdisc add dev eth0 root", "names no discipline", "root fq_codel"),
        (
            "htb default 1; class 1 rate 5mbit; tc filter add dev eth0 u32 match ip dport 53 0xffff flowid 1:1",
            "is not a match of a filter",
            "for ports, name the traffic (flow NAME) or give it a `dscp`",
        ),
    ],
)
def test_what_tc_has_and_an_experiment_has_not_is_refused_with_the_remedy(pasted: str, message: str, hint: str) -> None:
    with pytest.raises(WordError) as refused:
        words.discipline(pasted, CoreRegistry().qdiscs)
    assert message in refused.value.message
    assert hint in refused.value.hint


def test_options_not_given_are_left_to_the_discipline(registry: Registry) -> None:
    assert words.discipline("fq_codel", registry.qdiscs) == Algorithm("fq_codel")


def test_a_control_takes_its_module_parameters(registry: Registry) -> None:
    assert words.control("cubic nohystart", registry.congestion_controls) == Algorithm("cubic", {"hystart": 0})
    for text, hystart in (("cubic hystart 0", 0), ("cubic hystart 1", 1), ("cubic hystart", 1)):
        assert words.control(text, registry.congestion_controls) == Algorithm("cubic", {"hystart": hystart})
    assert words.control("bbr cwnd_gain 200", registry.congestion_controls) == Algorithm("bbr", {"cwnd_gain": 200})


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        ({"name": "cubic"}, {}),
        ({"name": "cubic", "hystart": 0}, {"hystart": 0}),
        ({"name": "cubic", "hystart": True}, {"hystart": 1}),
        ({"name": "bbr", "cwnd_gain": 200}, {"cwnd_gain": 200}),
        ({"name": "bbr", "cwnd_gain": "200"}, {"cwnd_gain": 200}),
    ],
)
def test_a_control_may_be_a_mapping_with_its_name(
    registry: Registry, entry: dict[str, object], options: dict[str, int]
) -> None:
    assert words.control(entry, registry.congestion_controls) == Algorithm(str(entry["name"]), options)


@pytest.mark.parametrize(
    ("entry", "message", "hint"),
    [
        (
            {"hystart": 0},
            "the congestion control has no name",
            "write its name and its module parameters: {name: cubic, hystart: 0}",
        ),
        ({"name": "cubci"}, "`cubci` is not a congestion control", "did you mean `cubic`?"),
        ({"name": "cubic", "hystat": 0}, "`hystat` is not an option of `cubic`", "did you mean `hystart`?"),
        (
            {"name": "cubic", "hystart": 3},
            "`3` is not a value of `hystart` of `cubic`",
            "leaves slow start early; write hystart: 1",
        ),
        (
            {"name": "bbr", "cwnd_gain": 2.5},
            "`2.5` is not a value of `cwnd_gain` of `bbr`",
            "percent of the BDP; write cwnd_gain: 1",
        ),
        (
            {"name": "bbr", "cwnd_gain": 0},
            "`cwnd_gain` of `bbr`: `0` is out of range",
            "it must lie between 1 and 1000",
        ),
        (
            {"name": "bbr", "cwnd_gain": ["1"]},
            "`['1']` is not a value of `cwnd_gain` of `bbr`",
            "percent of the BDP; write cwnd_gain: 1",
        ),
    ],
)
def test_a_wrong_mapping_of_a_control_is_refused_with_the_remedy(
    registry: Registry, entry: dict[str, object], message: str, hint: str
) -> None:
    with pytest.raises(WordError) as caught:
        words.control(entry, registry.congestion_controls)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("fq_codle", "`fq_codle` is not a queue discipline", "did you mean `fq_codel`?"),
        ("xyz", "`xyz` is not a queue discipline", "use one of: pfifo, bfifo, pfifo_fast, fq_codel, htb"),
        ("", "`''` is not a queue discipline", "write it as tc does: fq_codel limit 1000"),
        (5, "`5` is not a queue discipline", "write it as tc does: fq_codel limit 1000"),
        ("pfifo | fq_codel", "`pfifo` cannot have a child", "these can: htb"),
        (
            "htb rate 1mbit |",
            "one side of `|` is empty",
            "write the shaper before the bar and its child after it",
        ),
        ("fq_codel limits 5", "`limits` is not an option of `fq_codel`", "did you mean `limit`?"),
        ("fq_codel nolimit", "`nolimit` is not an option of `fq_codel`", "did you mean `limit`?"),
        ("fq_codel limit", "`limit` of `fq_codel` has no value", "packets held at most; write `limit` and a value"),
        ("htb rate 1mbit rate 2mbit", "`rate` of `htb` is given twice", "remove one of the two"),
        (
            "fq_codel limit 1000000",
            "`limit` of `fq_codel`: `1000000` is out of range",
            "it must lie between 1 and 100000",
        ),
        (
            "fq_codel limit 10kb",
            "`limit` of `fq_codel`: `10kb` is not a number of packets",
            "write a whole number and p: 180p",
        ),
        ("fq_codel target 5s", "`target` of `fq_codel`: `5s` is out of range", "it must lie between 1ns and 1s"),
        ("htb rate 4bit", "`rate` of `htb`: `4bit` is out of range", "it must lie between 8bit and 1tbit"),
        ("htb burst 1600", "`rate` of `htb` is missing", "rate of the shaper: htb rate 100mbit"),
        ("bfifo limit 10p", "`limit` of `bfifo`: `10p` is not a size", "write it as tc does: 1600b, 64kb, 4mb"),
    ],
)
def test_a_wrong_discipline_is_refused_with_the_remedy(
    registry: Registry, text: object, message: str, hint: str
) -> None:
    with pytest.raises(WordError) as caught:
        words.discipline(text, registry.qdiscs)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("cubci", "`cubci` is not a congestion control", "did you mean `cubic`?"),
        (None, "`null` is not a congestion control", "use one of: reno, cubic, bbr"),
        (
            "bbr cwnd_gain high",
            "`cwnd_gain` of `bbr`: `high` is not a whole number",
            "write a whole number without a unit",
        ),
    ],
)
def test_a_wrong_control_is_refused_with_the_remedy(registry: Registry, text: object, message: str, hint: str) -> None:
    with pytest.raises(WordError) as caught:
        words.control(text, registry.congestion_controls)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@given(text=st.one_of(st.text(), st.lists(st.sampled_from(["htb", "rate", "1mbit", "|", "fq_codel", "limit", "5"]))))
def test_any_text_is_a_discipline_or_refused(text: object) -> None:
    joined = " ".join(text) if isinstance(text, list) else text
    try:
        assert words.discipline(joined, ()).kind
    except WordError as error:
        assert error.hint


@pytest.mark.parametrize(
    ("word", "setting"),
    [
        ("1ms", {"kind": "time", "shift": 10}),
        ("2ms", {"kind": "time", "shift": 9}),
        ("4ms", {"kind": "time", "shift": 8}),
        ("8ms", {"kind": "time", "shift": 7}),
        ("check 8ms", {"kind": "check", "shift": 7}),
        ("16ms", {"kind": "time", "shift": 6}),
        ("32ms", {"kind": "time", "shift": 5}),
        ("64 ms", {"kind": "time", "shift": 4}),
        ("500us", {"kind": "time", "shift": 11}),
        ("0.5ms", {"kind": "time", "shift": 11}),
        ("3ms", {"kind": "time", "shift": 9, "time_ns": 3_000_000}),
        ("check 5ms", {"kind": "check", "shift": 8, "time_ns": 5_000_000}),
        ("300us", {"kind": "time", "shift": 12, "time_ns": 300_000}),
        ("1s", {"kind": "time", "shift": 1, "time_ns": 1_000_000_000}),
        ("shift 9", {"kind": "time", "shift": 9}),
        ("time 4ms", {"kind": "time", "shift": 8}),
        ("check shift 7", {"kind": "check", "shift": 7}),
        ("off", {"kind": "off"}),
        ("64kB", {"kind": "bytes", "bytes": 65_536}),
        ("100p", {"kind": "packets", "packets": 100}),
    ],
)
def test_small_queue_settings(word: str, setting: dict[str, object]) -> None:
    assert asdict(tsq.small_queue(word)) == {"shift": None, "time_ns": None, "bytes": None, "packets": None, **setting}


@pytest.mark.parametrize(
    "word", ["0ms", "2s", "shift 32", "shift -1", "check", "0p", "0b", "on", "1", "64k", "", "-1ms", 5, False, None, []]
)
def test_another_small_queue_setting_is_refused_with_the_list(word: object) -> None:
    with pytest.raises(WordError) as caught:
        tsq.small_queue(word)
    assert caught.value.message.endswith("is not a setting of TCP Small Queues")
    assert caught.value.hint.removeprefix(f"did you mean `{word}ms`? ") == (
        "choose a time such as 1ms, 3ms or 500us, a pacing shift such as `shift 9`, off, a size such as 64kB, packets "
        "such as 100p, or `check 8ms` for a time that leaves sk_pacing_shift alone"
    )


def test_the_default_of_linux_is_accepted_for_every_sysctl() -> None:
    for row in SYSCTLS:
        numbers = [int(word) for word in row.default.split()]
        assert sysctl(row.name, row.default) == (tuple(numbers) if row.count > 1 else numbers[0])


def test_a_buffer_is_three_numbers_in_a_list_or_in_words() -> None:
    assert sysctl("net.ipv4.tcp_rmem", [4096, 131072, 6291456]) == sysctl("net.ipv4.tcp_rmem", "4096 131072 6291456")


@pytest.mark.parametrize(
    ("name", "value", "message", "hint"),
    [
        (
            "net.ipv4.tcp_pacing_ratio",
            1,
            "`net.ipv4.tcp_pacing_ratio` is not a known sysctl",
            "did you mean `net.ipv4.tcp_pacing_ss_ratio`?",
        ),
        (
            "net.ipv4.tcp_congestion_control",
            "bbr",
            "`net.ipv4.tcp_congestion_control` is not a known sysctl",
            "write `cc`, for the experiment or an entry of `traffic`",
        ),
        (
            "net.ipv4.tcp_pacing_ca_ratio",
            "120%",
            "`120%` is not a value of `net.ipv4.tcp_pacing_ca_ratio`",
            "it takes one whole number between 1 and 1000, such as 120",
        ),
        (
            "net.ipv4.tcp_slow_start_after_idle",
            True,
            "`true` is not a value of `net.ipv4.tcp_slow_start_after_idle`",
            "it takes one whole number between 0 and 1, such as 1",
        ),
        (
            "net.ipv4.tcp_rmem",
            4096,
            "`4096` is not a value of `net.ipv4.tcp_rmem`",
            "it takes 3 whole numbers between 1 and 2147483647, such as 4096 131072 6291456",
        ),
        (
            "net.ipv4.tcp_wmem",
            "3 2 1",
            "`3 2 1` is not in ascending order",
            "write `4096 16384 4194304`, for example",
        ),
    ],
)
def test_a_wrong_sysctl_is_refused_with_the_remedy(name: str, value: object, message: str, hint: str) -> None:
    with pytest.raises(WordError) as caught:
        sysctl(name, value)
    assert (caught.value.message, caught.value.hint) == (message, hint)

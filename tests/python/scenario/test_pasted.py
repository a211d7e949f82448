"""Lines and scripts of `tc`, and what it prints: read as they are, or refused by name."""

from __future__ import annotations

import pytest

from tailback.resolved import SizeTable
from tailback.scenario import CoreRegistry, lint, loads, words
from tailback.scenario.words import Algorithm, Class, Filter
from tailback.tc.errors import WordError
from tailback.tc.rows import Row

QDISCS = CoreRegistry().qdiscs


def read(text: str) -> Algorithm:
    return words.discipline(text, QDISCS)


PRINTED: dict[str, str] = {
    # One line of each kind and age, and what it means in our words.
    "qdisc pfifo 8001: root refcnt 2 limit 100p": "pfifo limit 100",
    "qdisc bfifo 8001: root refcnt 2 limit 15140b": "bfifo limit 15140",
    "qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap  1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1": "pfifo_fast",
    "qdisc prio 1: root refcnt 2 bands 3 priomap  1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 multiqueue: off ": (
        "prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
    ),
    "qdisc fq 1: root refcnt 2 limit 10000p flow_limit 100p quantum 3028b initial_quantum 15140b nopacing "
    "low_rate_threshold 550Kbit refill_delay 40ms timer_slack 10us horizon 10s horizon_cap offload_horizon 0us": (
        "fq limit 10000 flow_limit 100 quantum 3028 initial_quantum 15140 nopacing low_rate_threshold 550kbit "
        "refill_delay 40ms timer_slack 10us horizon 10s horizon_cap"
    ),
    "qdisc fq 1: root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 weights 589824 196608 65536": (
        "fq priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 weights 589824 196608 65536"
    ),
    "qdisc sfq 1: root refcnt 2 limit 127p quantum 1514b flows 128/1024 perturb 10sec ": (
        "sfq limit 127 quantum 1514 flows 128 divisor 1024 perturb 10"
    ),
    "qdisc netem 1: root refcnt 2 limit 1000 delay 10ms  2ms 25% loss state p13 1% p31 20% p32 5% p23 50% p14 0.1%": (
        "netem limit 1000 delay 10ms 2ms 25% loss state 1% 20% 5% 50% 0.1%"
    ),
    "qdisc netem 1: root refcnt 2 limit 1000 delay 1s reorder 25% 50% rate 1Mbit packetoverhead -8 cellsize 48 "
    "celloverhead 5 slot 1ms 2ms packets 3 bytes 100 seed 11503498876287245217 gap 5": (
        "netem limit 1000 delay 1s reorder 25% 50% rate 1mbit -8 48 5 slot 1ms 2ms packets 3 bytes 100 gap 5"
    ),
    "qdisc hhf 1: root refcnt 2 limit 1000p quantum 1514b hh_limit 2048 reset_timeout 40ms admit_bytes 128Kb": (
        "hhf limit 1000 quantum 1514 hh_limit 2048 reset_timeout 40ms admit_bytes 131072"
    ),
    "qdisc dualpi2 1: root refcnt 2 limit 10000p memlimit 15140000B target 15ms tupdate 16ms alpha 0.156250 beta "
    "3.195312 step_thresh 1ms min_qlen_step 0p coupling_factor 2 overflow drop_enqueue classic_protection 20% "
    "l4s_ect no_split_gso": (
        "dualpi2 limit 10000 memlimit 15140000 target 15ms tupdate 16ms alpha 0.15625 beta 3.1953125 step_thresh 1ms "
        "min_qlen_step 0 coupling_factor 2 overflow drop_enqueue classic_protection 20 l4s_ect no_split_gso"
    ),
    "qdisc tbf 1: root refcnt 2 rate 1Mbit burst 4Kb/1 mpu 0b peakrate 2Mbit mtu 1540b/1 mpu 0b lat 400ms linklayer "
    "ethernet": "tbf rate 1mbit burst 4kb mpu 0 peakrate 2mbit mtu 1540 lat 400ms linklayer ethernet",
    "qdisc tbf 1: root refcnt 2 rate 1Mbit burst 4Kb [0000c350] peakrate 2Mbit minburst 1540b [00012345] lat 1s": (
        "tbf rate 1mbit burst 4kb peakrate 2mbit mtu 1540 lat 1s"
    ),
    "qdisc fq_codel 8001: root refcnt 2 offloaded limit 10240p quantum 1514 ecn memory_limit 32Mb drop_batch 64": (
        "fq_codel limit 10240 quantum 1514 ecn memory_limit 32mb drop_batch 64"
    ),
    "qdisc fq_codel 1: root refcnt 2 limit 10240p target 1e+03ms": "fq_codel limit 10240 target 1s noecn",
    "qdisc fq_pie 1: root refcnt 2 limit 10240p flows 1024 target 15ms tupdate 16ms alpha 2 beta 20 quantum 1514b "
    "memory_limit 32Mb ecn_prob 10 ": (
        "fq_pie limit 10240 flows 1024 target 15ms tupdate 16ms alpha 2 beta 20 quantum 1514 memory_limit 32mb "
        "ecn_prob 10"
    ),
    "qdisc cake 1: root refcnt 2 bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso "
    "rtt 100ms raw overhead 0 memlimit 4Mb fwmark 0x3 ": (
        "cake unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms raw overhead 0 "
        "memlimit 4mb fwmark 3"
    ),
    "qdisc htb 1: root refcnt 2 r2q 10 default 0x12 direct_packets_stat 3 ver 3.17 direct_qlen 1000": (
        "htb r2q 10 default 12 direct_qlen 1000"
    ),
    "htb r2q 10 default 0x12 direct_packets_stat 0 direct_qlen 1000": "htb r2q 10 default 12 direct_qlen 1000",
    "qdisc red 1: root refcnt 2 limit 400000b min 30000b max 90000b ecn ewma 5 probability 0.02 Scell_log 11 avpkt "
    "1000": ("red limit 400000 min 30000 max 90000 ecn burst 45 probability 0.02 avpkt 1000"),
}


@pytest.mark.parametrize("line", PRINTED)
def test_what_tc_prints_is_read_as_what_it_means(line: str) -> None:
    assert read(line) == read(PRINTED[line])


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        (
            "qdisc red 1: root refcnt 2 limit 400000b min 30000b max 90000b ecn",
            "`avpkt` of `red` is missing",
            "does not print",
        ),
        ("qdisc choke 1: root limit 1000p min 100p max 300p", "`bandwidth` of `choke` is missing", "does not print"),
        (
            "qdisc sfq 1: root limit 127p ewma 6 min 8000b max 60000b",
            "`redflowlimit` of `sfq` is missing",
            "does not print it: write it behind the line as it was given, such as redflowlimit 100000",
        ),
        ("tc qdisc add dev eth0 root sfq min 8000", "`min` of `sfq` needs `redflowlimit`", "add `redflowlimit`"),
        ("qdisc netem 1: root limit 1000 ecn", "`ecn` of `netem` needs `loss`", "add `loss`"),
        ("qdisc fq_codel 1: root ce_threshold 1ms ce_threshold_selector 0x3", "a value and a mask", "0x1/0x3"),
        ("qdisc hfsc 1: root refcnt 2 default 0x1", "`hfsc` is not a queue discipline", "htb"),
        ("qdisc pfifo_fast 0: root bands 3 priomap 1 1 1", "cannot be changed", "use `prio`"),
        ("tc qdisc add dev eth0 root police rate 1mbit", "`police` is not", "links: ["),
        ("police rate 1mbit burst 10k", "`police` is not", "belongs to a link"),
    ],
)
def test_what_a_line_lacks_or_what_is_not_modelled_is_said_by_name(line: str, message: str, hint: str) -> None:
    with pytest.raises(WordError) as refused:
        read(line)
    assert message in refused.value.message
    assert hint in refused.value.hint
    assert "pie`?" not in refused.value.hint


@pytest.mark.parametrize(
    "line",
    [
        "qdisc red 1: root refcnt 2 limit 400000b min 30000b max 90000b ecn",
        "qdisc choke 1: root limit 1000p min 100p max 300p",
        "qdisc sfq 1: root limit 127p quantum 1514b ewma 6 min 8000b max 60000b probability 0.02 ecn",
    ],
)
def test_with_what_the_hint_says_a_line_is_read(line: str) -> None:
    with pytest.raises(WordError) as refused:
        read(line)
    added = refused.value.hint.partition("such as ")[2].partition(";")[0]
    assert read(f"{line} {added}").options


def test_statistics_below_a_line_are_left_out_and_a_size_table_is_not() -> None:
    found = read(
        "qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x10 direct_packets_stat 12 direct_qlen 1000\n"
        " linklayer atm overhead 44 mtu 2047 tsize 512 \n"
        " Sent 9312 bytes 77 pkt (dropped 0, overlimits 6 requeues 0)\n"
        " backlog 0b 0p requeues 0\n"
        "class htb 1:10 root leaf 8002: prio 0 rate 5Mbit ceil 9Mbit burst 1600b cburst 1600b \n"
        " Sent 9312 bytes 77 pkt (dropped 0, overlimits 6 requeues 0)\n"
        " lended: 77 borrowed: 0 giants: 0\n"
        " tokens: 40000 ctokens: 22222\n"
        "qdisc fq_codel 8002: dev eth0 parent 1:10 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n"
        " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n"
        "  maxpacket 0 drop_overlimit 0 new_flow_count 0 ecn_mark 0\n"
        "class fq_codel 8002:3f parent 8002: \n"
        "filter parent 1: protocol ip pref 1 u32 chain 0 \n"
        "filter parent 1: protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1 \n"
        "filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 "
        "not_in_hw \n"
        "  match 00b80000/00fc0000 at 0\n"
    )
    assert found.stab == SizeTable(overhead=44, linklayer="atm")
    assert found.options == {"r2q": 10, "default": 0x10, "direct_qlen": 1000}
    (only,) = found.classes
    assert (only.minor, only.options["ceil"]) == (0x10, 9 * 10**6)
    assert only.child is not None and only.child.options["limit"] == 10240
    assert found.filters == (Filter("dscp", 46, 0x10),)


def test_the_queues_of_a_card_are_the_classes_of_mq() -> None:
    found = read("qdisc mq 0: dev eth0 root\nqdisc fq 0: dev eth0 parent :2 limit 9p\nqdisc fq 0: dev eth0 parent :1")
    assert (found.kind, found.options) == ("mq", {"queues": 2})
    assert {each.minor: each.child for each in found.classes} == {
        1: Algorithm("fq"),
        2: Algorithm("fq", {"limit": 9}),
    }


SCRIPT = """\
#!/bin/sh
# shaping of an uplink
set -e
DEV=eth0   # the device
RATE="6mbit"
TC=/sbin/tc
LOW=1mbit; MID=5mbit; C=classid
sudo $TC qdisc del dev $DEV root 2>/dev/null || true
modprobe sch_htb
tc qdisc add dev ${DEV} root handle 1: stab overhead 44 linklayer adsl htb \\
    default 30
tc class add dev $DEV parent 1: classid 1:1 htb rate $RATE burst 15k
tc class add dev $DEV parent 1:1 $C 1:10 htb rate $MID; $TC class add dev $DEV $C 1:30 parent 1:1 htb rate $LOW
tc class change dev $DEV classid 1:30 htb ceil 2mbit
tc qdisc add dev $DEV parent 1:10 handle 10: prio
tc qdisc add dev $DEV parent 10:1 handle 101: pfifo limit 7
tc qdisc add dev $DEV parent 1:30 handle 30: sfq perturb 10
tc qdisc change dev $DEV parent 1:30 handle 30: sfq limit 9
tc filter add dev $DEV parent 1: protocol all prio 20 matchall flowid 1:30
tc filter add dev $DEV parent 1:0 protocol ip prio 10 u32 match ip tos 0xb8 0xfc flowid 1:10
tc filter add dev $DEV parent 1: prio 15 protocol ip flower ip_tos 0x20/0xfc classid 1:10
tc -s qdisc show dev $DEV
echo done
"""


def test_a_script_for_a_device_is_read_as_it_is() -> None:
    assert read(SCRIPT) == Algorithm(
        "htb",
        {"default": 0x30},
        classes=(
            Class(1, 0, {"rate": 6_000_000, "burst": 15_360}, None),
            Class(
                0x10, 1, {"rate": 5_000_000},
                Algorithm("prio", {}, classes=(Class(1, 0, {}, Algorithm("pfifo", {"limit": 7})),)),
            ),
            Class(0x30, 1, {"rate": 1_000_000, "ceil": 2_000_000}, Algorithm("sfq", {"perturb": 10, "limit": 9})),
        ),
        filters=(Filter("dscp", 46, 0x10), Filter("dscp", 8, 0x10), Filter("all", None, 0x30)),
        stab=SizeTable(overhead=44, linklayer="atm"),
    )  # fmt: skip


def test_an_experiment_may_hold_a_script_with_variables_of_its_own_and_of_the_file() -> None:
    text = "let: {limit: 55}\nlinks:\n  - {ends: [a, r], rate: 10mbit}\n  - {ends: [r, s], rate: 10mbit}\n"
    text += "qdiscs:\n  r -> s: |\n    DEV=eth0\n    tc qdisc add dev ${DEV} root pfifo limit ${limit}\n"
    text += "traffic: [{tcp: a -> s}]\nduration: 10s\n"
    loaded = loads(text)
    assert loaded.configurations[0].keys.qdiscs["r -> s"] == Algorithm("pfifo", {"limit": 55})


def test_a_shaper_below_a_delay_is_its_child_as_in_a_kernel() -> None:
    found = read(
        "tc qdisc add dev eth0 root handle 1:0 netem delay 30ms limit 10000\n"
        "tc qdisc add dev eth0 parent 1:1 handle 10: tbf rate 14mbit buffer 16kb limit 100kb"
    )
    assert found == read("netem delay 30ms limit 10000 | tbf rate 14mbit burst 16kb limit 100kb")


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("tc qdisc add dev eth1 root pfifo", "about `eth1`", "its own key of `qdiscs`"),
        ("tc qdisc add dev ifb0 root pfifo", "about `ifb0`", "explain ifb"),
        ("ip link set dev eth0 mtu 1400", "is not a command of `tc`", "write `mtu` at the link"),
        ("ip link add name ifb0 type ifb", "is not a command of `tc`", "explain ifb"),
        ("ethtool -K eth0 tso off gso off", "is not a command of `tc`", "`offloads: off`"),
        ("iptables -t mangle -A POSTROUTING -j MARK --set-mark 10", "is not a command of `tc`", "filter flow NAME"),
        ("sysctl -w net.ipv4.tcp_ecn=1", "is not a command of `tc`", "sysctl:"),
        ("sleep 10", "is not a command of `tc`", "`schedule`"),
        ("for i in 1 2; do", "a program for the shell", "nothing of a script is executed"),
        ("tc qdisc add dev $IFACE parent 1:1 pfifo", "uses `$IFACE`", "IFACE=VALUE"),
        ("tc qdisc add dev eth0 parent 1:1 pfifo limit $(nproc)", "compute a value", "write the result"),
        ("tc qdisc add dev eth0 parent 1:9 pfifo", "no class 1:9", "the classes are: 1:1"),
        ("tc qdisc add dev eth0 parent 2:1 pfifo", "no discipline with the handle `2:`", "1:"),
        ("tc filter add dev eth0 parent 1: handle 10 fw flowid 1:1", "classifier `fw`", "filter flow"),
        ("tc filter add dev eth0 parent 1: u32 match ip dport 80 0xffff flowid 1:1", "dport 80", "name the traffic"),
        ("tc filter add dev eth0 parent 1: protocol ip u32 match ip protocol 1 0xff flowid 1:11", "protocol 1",
         "for each ping, with its name: filter flow ping flowid 1:11"),
        ("tc filter add dev eth0 parent 1: protocol ip flower ip_proto icmp flowid 1:11", "ip_proto icmp",
         "for each ping, with its name: filter flow ping flowid 1:11"),
        ("tc filter add dev eth0 parent 1: protocol ip u32 match ip protocol 17 0xff flowid 1:3", "protocol 17",
         "for each flow over UDP"),
        ("tc filter add dev eth0 parent 1: matchall action police rate 1mbit burst 9k", "is not modelled", "of a link"),
        ("tc filter add dev eth0 parent 1: u32 match u32 0 0 police rate 1mbit", "is not modelled", "of a link"),
        ("tc qdisc add dev eth0 root pfifo", "adds a second discipline to the root", "`replace`"),
        ("tc qdisc add dev eth0 parent 1:1 stab overhead 8 pfifo", "`stab` of `pfifo` is below", "first discipline"),
        ("tc monitor", "is not a command of `tc` about a qdisc", "remove it"),
        ("frobnicate eth0", "is not a command of `tc`", "remove it"),
    ],
)  # fmt: skip
def test_a_line_of_a_script_that_cannot_be_taken_is_refused_with_what_to_write(
    line: str, message: str, hint: str
) -> None:
    script = "tc qdisc add dev eth0 root handle 1: htb default 1\n"
    script += "tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit\n"
    with pytest.raises(WordError) as refused:
        read(script + line)
    assert message in refused.value.message
    assert hint in refused.value.hint


@pytest.mark.parametrize("row", QDISCS, ids=lambda row: row.name)
def test_every_discipline_takes_a_size_table(row: Row) -> None:
    needed = {
        "htb": "rate 1mbit", "tbf": "rate 1mbit burst 5kb latency 50ms", "red": "limit 400k avpkt 1000",
        "choke": "limit 400 bandwidth 1mbit",
    }  # fmt: skip
    for text in (
        f"stab overhead 44 linklayer atm {row.name}",
        f"tc qdisc add dev x root stab overhead 44 linklayer atm {row.name}",
    ):
        found = read(f"{text} {needed.get(row.name, '')}")
        assert (found.kind, found.stab) == (row.name, SizeTable(overhead=44, linklayer="atm"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stab pfifo", "`stab` has no value"),
        ("stab overhead", "`overhead` of `stab` has no value"),
        ("stab overhead x pfifo", "is not a whole number"),
        ("stab linklayer dsl pfifo", "is not a link layer"),
        ("stab tsize 99999 pfifo", "is out of range"),
        ("htb rate 1mbit | stab overhead 4 pfifo", "`stab` is below another discipline"),
    ],
)
def test_a_wrong_size_table_is_refused(text: str, message: str) -> None:
    with pytest.raises(WordError) as refused:
        read(text)
    assert message in refused.value.message


def test_an_htb_whose_classes_are_missing_passes_with_a_warning() -> None:
    text = "links:\n  - {ends: [a, r], rate: 10mbit}\n  - {ends: [r, s], rate: 10mbit}\nqdiscs:\n  r -> s: |\n"
    text += "    qdisc htb 1: root refcnt 2 r2q 10 default 0x12 direct_packets_stat 0 direct_qlen 1000\n"
    text += "traffic: [{tcp: a -> s}]\nduration: 10s\nmeasure: {warmup: 5s}\n"
    (found,) = lint(loads(text))
    assert found.code == "htb-unshaped"
    assert "tc class show" in found.remedy

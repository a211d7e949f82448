"""What people paste: the output of `tc` on all kinds of machines, and scripts of routers, hypervisors and tutorials.

Each text is taken as what it means in our words, or refused by a sentence that says what it is and what to write.
"""

from __future__ import annotations

import pytest

from tailback.scenario import CoreRegistry, words
from tailback.tc.errors import WordError

QDISCS = CoreRegistry().qdiscs

TAKEN: dict[str, str] = {
    # -- one line of `tc qdisc show`
    "qdisc mq 0: dev eth0 root ": "mq",
    "qdisc pfifo_fast 0: dev eth0 parent :1 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1": "pfifo_fast",
    "qdisc drr 1: root refcnt 2 ": "drr",
    "qdisc bfifo 8005: root refcnt 2 limit 15Kb": "bfifo limit 15360",
    "qdisc pfifo_head_drop 8005: root refcnt 2 limit 100p": "pfifo_head_drop limit 100",
    "qdisc fq_codel 0: dev wg0 root refcnt 2 offloaded invisible limit 10240p flows 1024 quantum 1514 target 4999us "
    "interval 99999us memory_limit 33554432 ecn": (
        "fq_codel limit 10240 flows 1024 quantum 1514 target 4999us interval 99999us memory_limit 33554432 ecn"
    ),
    "qdisc fq_codel 1: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms ce_threshold 999us "
    "ce_threshold_selector 0x1/0x3 interval 100ms memory_limit 32Mb ecn drop_batch 64 ": (
        "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms ce_threshold 999us ce_threshold_selector 1/3 "
        "interval 100ms memory_limit 32mb ecn drop_batch 64"
    ),
    "qdisc codel 8002: root refcnt 2 limit 1000p target 5us ce_threshold 1ms interval 100ms ecn": (
        "codel limit 1000 target 5us ce_threshold 1ms interval 100ms ecn"
    ),
    "qdisc pie 8002: root refcnt 2 limit 1000p target 15ms tupdate 16ms alpha 2 beta 20 ecn bytemode "
    "dq_rate_estimator": (
        "pie limit 1000 target 15ms tupdate 16ms alpha 2 beta 20 ecn bytemode dq_rate_estimator"
    ),
    "qdisc tbf 8001: root refcnt 2 rate 1Gbit burst 125Kb peakrate 1200Mbit minburst 1514b limit 3000b ": (
        "tbf rate 1gbit burst 125kb peakrate 1200mbit mtu 1514 limit 3000"
    ),
    "qdisc tbf 8001: root refcnt 2 rate 8388Kbit burst 5Kb lat 70ms linklayer atm": (
        "tbf rate 8388kbit burst 5kb latency 70ms linklayer atm"
    ),
    "qdisc cake 8002: root refcnt 2 bandwidth 18Mbit besteffort triple-isolate nonat nowash no-ack-filter no-split-gso "
    "rtt 100ms ptm overhead 22 mpu 64 ": (
        "cake bandwidth 18mbit besteffort triple-isolate nonat nowash no-ack-filter no-split-gso rtt 100ms ptm "
        "overhead 22 mpu 64"
    ),
    "qdisc netem 8003: root refcnt 2 limit 1000 delay 100.0ms  10.0ms 25% loss 0.3% 25% duplicate 1% corrupt "
    "0.1% ecn": (
        "netem limit 1000 delay 100ms 10ms 25% loss 0.3% 25% duplicate 1% corrupt 0.1% ecn"
    ),
    "qdisc sfq 8001: root refcnt 2 limit 127p quantum 1514b depth 127 flows 128 divisor 1024 ": (
        "sfq limit 127 quantum 1514 depth 127 flows 128 divisor 1024"
    ),
    "qdisc htb 1: root refcnt 2 r2q 10 default 0 direct_packets_stat 0 ver 3.17": "htb r2q 10 default 0",
    # -- `tc -s -d`
    "qdisc fq 8001: dev eth0 root refcnt 2 limit 10000p quantum 3028b horizon 10s horizon_drop\n"
    " Sent 1342 bytes 17 pkt (dropped 0, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n"
    "  flows 3 (inactive 1 throttled 0)\n  band0_pkts 0 band1_pkts 0 band2_pkts 0\n"
    "  gc 0 highprio 0 fastpath 15 latency 8.3us": "fq limit 10000 quantum 3028 horizon 10s horizon_drop",
    "qdisc pie 8001: root refcnt 2 limit 1000p target 15ms tupdate 16ms alpha 2 beta 20\n"
    " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n  prob 0 delay 0us\n"
    "  pkts_in 0 overlimit 0 dropped 0 maxq 0 ecn_mark 0": "pie limit 1000 target 15ms tupdate 16ms alpha 2 beta 20",
    "qdisc cake 8001: dev eth0 root refcnt 2 bandwidth 20Mbit diffserv4 dual-srchost nat overhead 18 mpu 64 \n"
    " Sent 1035 bytes 9 pkt (dropped 0, overlimits 4 requeues 0) \n"
    " memory used: 2Kb of 4Mb\n capacity estimate: 20Mbit\n"
    " min/max network layer size:           28 /    1500\n\n                   Bulk  Best Effort        Video\n"
    "  thresh       1250Kbit       20Mbit       10Mbit\n  quantum           300          610          305": (
        "cake bandwidth 20mbit diffserv4 dual-srchost nat overhead 18 mpu 64"
    ),
    "qdisc drr 1: root refcnt 2\nclass drr 1:1 root leaf 8002: quantum 600b \nclass drr 1:2 root quantum 1514b ": (
        "drr; class 1 quantum 600; class 2 quantum 1514"
    ),
    "qdisc prio 1: root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1\nclass prio 1:1 parent 1: leaf 10: \n"
    "class prio 1:2 parent 1: \nclass prio 1:3 parent 1: \nqdisc netem 10: parent 1:1 limit 1000 delay 10ms": (
        "prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1; class 1 | netem limit 1000 delay 10ms; class 2; class 3"
    ),
    "qdisc htb 1: root refcnt 2 r2q 10 default 0x10 direct_qlen 1000\n"
    "class htb 1:10 root prio 0 rate 10Mbit ceil 10Mbit burst 1600b cburst 1600b\n"
    "filter parent 1: protocol ip pref 10 flower chain 0 \n"
    "filter parent 1: protocol ip pref 10 flower chain 0 handle 0x1 classid 1:10 \n  eth_type ipv4\n"
    "  ip_tos 0xb8/0xfc\n  not_in_hw\n"
    "filter parent 1: protocol all pref 49152 matchall chain 0 handle 0x1 flowid 1:10 \n  not_in_hw (rule hit 3)": (
        "htb r2q 10 default 10 direct_qlen 1000; class 10 prio 0 rate 10mbit ceil 10mbit burst 1600b cburst 1600b\n"
        "filter dscp EF flowid 1:10; filter all flowid 1:10"
    ),
    "qdisc htb 1: root refcnt 2 default 0x10\nclass htb 1:10 root rate 10Mbit\n"
    "filter parent 1: protocol ip pref 5 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 not_in_hw  "
    "(rule hit 0 success 0)\n  match 00b80000/00fc0000 at 0 (success 0 )": (
        "htb default 10; class 10 rate 10mbit; filter dscp EF flowid 1:10"
    ),
    # -- commands, as manual pages, RFCs and blogs have them
    "tc qdisc add dev eth0 root netem delay 100ms 20ms distribution paretonormal loss random 5% 25%": (
        "netem delay 100ms 20ms distribution paretonormal loss 5% 25%"
    ),
    "tc qdisc replace dev eth0 root netem rate 5kbit 20 100 5": "netem rate 5kbit 20 100 5",
    "tc qdisc add dev eth0 parent root handle 1: fq": "fq",
    "tc qdisc add dev eth0 root estimator 1sec 4sec sfq": "sfq",
    "tc qdisc add dev eth0 root est 1sec 4sec sfq": "sfq",
    "tc q a dev eth0 root netem delay 1ms": "netem delay 1ms",
    "tc -n ns1 qdisc add dev veth1 root netem delay 10ms": "netem delay 10ms",
    "sudo ip netns exec ns1 /sbin/tc qdisc add dev veth1 root netem delay 10ms": "netem delay 10ms",
    "docker exec web tc qdisc add dev eth0 root netem delay 10ms": "netem delay 10ms",
    "nsenter -t 123 -n tc qdisc add dev eth0 root netem delay 10ms": "netem delay 10ms",
    "mininet> h1 tc qdisc add dev h1-eth0 root netem delay 10ms": "netem delay 10ms",
    "tc -batch - <<EOT\nqdisc add dev eth0 root netem delay 5ms\nEOT": "netem delay 5ms",
    "ip link set dev eth0 up\ntc qdisc add dev \"eth0\" root netem delay '100ms' >/dev/null 2>&1 &": (
        "netem delay 100ms"
    ),
    # -- Mininet's TCLink
    "tc qdisc add dev s1-eth1 root handle 5:0 htb default 1\n"
    "tc class add dev s1-eth1 parent 5:0 classid 5:1 htb rate 10.000000Mbit burst 15k\n"
    "tc qdisc add dev s1-eth1 parent 5:1 handle 6: red limit 1000000 min 30000 max 35000 avpkt 1500 burst 20 "
    "bandwidth 10.000000mbit probability 1 ecn\ntc qdisc add dev s1-eth1 parent 6: handle 10: netem delay 5ms "
    "limit 9": (
        "htb default 1; class 1 rate 10mbit burst 15k | red limit 1000000 min 30000 max 35000 avpkt 1500 burst 20 "
        "bandwidth 10mbit probability 1 ecn | netem delay 5ms limit 9"
    ),
    "tc qdisc add dev s1-eth1 root handle 5: tbf rate 10.000000Mbit burst 15000 latency 1.000000ms\n"
    "tc qdisc add dev s1-eth1 parent 5:0 handle 10: netem delay 5ms  limit 1000": (
        "tbf rate 10mbit burst 15000 latency 1ms | netem delay 5ms limit 1000"
    ),
    # -- the scripts of SQM
    "TC=/sbin/tc\n$TC qdisc del dev eth0 root\n"
    "$TC qdisc add dev eth0 root handle 1: stab overhead 44 linklayer atm mpu 0 tsize 512 htb default 12\n"
    "$TC class add dev eth0 parent 1: classid 1:12 htb quantum 300 rate 166kbit ceil 984kbit prio 2\n"
    "$TC qdisc add dev eth0 parent 1:12 handle 120: fq_codel limit 1001 noecn quantum 300\n"
    "$TC filter add dev eth0 parent 1:0 protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:12\n"
    "$TC filter add dev eth0 parent 1:0 protocol ipv6 prio 3 u32 match ip6 priority 0x88 0xfc classid 1:12\n"
    "$TC filter add dev eth0 parent 1:0 protocol arp prio 1 handle 1 u32 match u32 0 0 classid 1:12": (
        "stab overhead 44 linklayer atm mpu 0 tsize 512 htb default 12\n"
        "class 12 quantum 300 rate 166kbit ceil 984kbit prio 2 | fq_codel limit 1001 noecn quantum 300\n"
        "filter dscp 34 flowid 1:12; filter all flowid 1:12"
    ),
    # -- libvirt, from which the filter by a mark was removed
    "tc qdisc add dev vnet0 root handle 1: htb default 1\n"
    "tc class add dev vnet0 parent 1: classid 1:1 htb rate 10240kbps ceil 20480kbps burst 1024kb quantum 87\n"
    "tc qdisc add dev vnet0 parent 1:1 handle 2: sfq perturb 10\n"
    "tc filter add dev vnet0 parent 1: protocol ip u32 match ip src 0.0.0.0/0 flowid 1:1": (
        "htb default 1; class 1 rate 10240kbps ceil 20480kbps burst 1024kb quantum 87 | sfq perturb 10\n"
        "filter all flowid 1:1"
    ),
    # -- the LARTC HOWTO
    "tc qdisc add dev eth0 root handle 1: prio\ntc qdisc add dev eth0 parent 1:3 handle 30: tbf rate 20kbit buffer "
    "1600 limit 3000\ntc qdisc add dev eth0 parent 30:1 handle 31: netem  delay 200ms 10ms distribution normal": (
        "prio; class 3 | tbf rate 20kbit burst 1600 limit 3000 | netem delay 200ms 10ms distribution normal"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", TAKEN)
def test_what_people_paste_is_taken_as_what_it_means(text: str) -> None:
    assert words.discipline(text, QDISCS) == words.discipline(TAKEN[text], QDISCS)


ROOT = (
    "tc qdisc add dev eth0 root handle 1: htb default 20\ntc class add dev eth0 parent 1: classid 1:20 htb rate 1mbit\n"
)
PRINTED_ROOT = "qdisc htb 1: root refcnt 2 default 0x20\nclass htb 1:20 root rate 1Mbit\n"

REFUSED: list[tuple[str, str, str]] = [
    # -- disciplines that Linux has, or had
    ("qdisc noqueue 0: dev lo root refcnt 2 ", "`noqueue` is not", "without a rate has no discipline"),
    ("qdisc noop 0: dev wlan0 root refcnt 2", "`noop` is not", "`state: down`"),
    ("qdisc blackhole 8001: root refcnt 2 ", "`blackhole` is not", "`state: down`"),
    ("qdisc plug 8001: root refcnt 2 ", "`plug` is not", "`state: down`"),
    # -- commands of other programs, alone
    ("sysctl -w net.core.default_qdisc=fq", "`sysctl -w net.core.default_qdisc=fq` is not a command", "in `qdiscs`"),
    ("sudo ethtool -K eth0 tso off", "is not a command of `tc`", "`offloads: off`"),
    ("ip link set dev eth0 txqueuelen 100", "is not a command of `tc`", "pfifo limit 1000"),
    ("iperf3 -c server", "is not a command of `tc`", "describe their traffic"),
    # -- a space before the unit
    ("tbf rate 5 mbit burst 15kb latency 50ms", "`mbit` of `tbf` stands alone", "behind its number: 5mbit"),
    ("fq_codel target 5 ms", "`ms` of `fq_codel` stands alone", "behind its number: 5ms"),
    ("pfifo limit 100 packets", "`packets` of `pfifo` stands alone", "behind its number: 100p"),
    ("qdisc ingress ffff: dev eth0 parent ffff:fff1 ---------------- ", "`ingress` is not", "explain ifb"),
    ("qdisc clsact ffff: dev eth0 parent ffff:fff1 ingress_block 1 ", "`clsact` is not", "explain ifb"),
    ("qdisc mqprio 8001: root tc 4 map 0 1 2 3 queues:(0:3) (4:7) mode:dcb", "`mqprio` is not", "mq queues N"),
    ("qdisc taprio 100: root refcnt 9 tc 3 map 2 2 1 0 clockid TAI base-time 0", "`taprio` is not", "in turn"),
    ("qdisc etf 8001: parent 100:1 clockid TAI delta 200000 offload on", "`etf` is not", "in turn"),
    ("qdisc cbs 8001: parent 100:1 hicredit 30 locredit -1470", "`cbs` is not", "in turn"),
    ("qdisc ets 1: root refcnt 2 bands 8 strict 3 quanta 1514 1514", "`ets` is not", "`prio`"),
    ("qdisc multiq 1: root refcnt 2 bands 4/4", "`multiq` is not", "`prio`"),
    ("qdisc hfsc 1: root refcnt 2 default 0x20", "`hfsc` is not", "`htb`"),
    ("qdisc cbq 1: root refcnt 2 rate 100Mbit (bounded,isolated) prio no-transmit", "`cbq` is not", "`htb`"),
    ("qdisc qfq 1: root refcnt 2 \nclass qfq 1:1 root weight 10 maxpkt 2048 ", "`qfq` is not", "`drr`"),
    ("qdisc sfb 8001: root refcnt 2 limit 1000p max 25p target 20p", "`sfb` is not", "`red`"),
    ("qdisc gred 8001: root refcnt 2 vqs 4 default 2 grio limit 400000b", "`gred` is not", "`red`"),
    ("qdisc skbprio 8001: root refcnt 2 limit 64p", "`skbprio` is not", "`prio`"),
    ("qdisc teql0 8001: root refcnt 2", "`teql0` is not", "one link"),
    ("qdisc atm 1: root refcnt 2", "`atm` is not", "no more"),
    ("tc qdisc add dev eth0 handle 1: root dsmark indices 64 set_tc_index", "`dsmark` is not", "`dscp`"),
    ("qdisc cake_mq 8001: dev eth0 root refcnt 5 bandwidth 1Gbit", "`cake_mq` is not", "cake bandwidth"),
    # -- what is printed and cannot be read
    ("qdisc htb 1: root refcnt 2 [Unknown qdisc, optlen=48] ", "does not know the options of `htb`", "newer iproute2"),
    ("qdisc fq 0: root refcnt 2\nqdisc fq 0: dev eth1 root refcnt 2", "adds a second discipline", "remove one"),
    ("class htb 1:10 parent 1:1 leaf 10: prio 0 rate 5Mbit ceil 5Mbit",
     "no discipline with the handle", "a line before"),
    ("class hfsc 1:1 parent 1: sc m1 0bit d 0us m2 1Mbit ", "no line adds a root", "`tc qdisc show dev eth0` prints"),
    ("tc -s -d qdisc show dev eth0", "no line adds a root", "`tc qdisc show dev eth0` prints"),
    ('[{"kind":"fq_codel","handle":"0:","root":true}]', "is JSON", "without -j"),
    ("RTNETLINK answers: File exists\ntc qdisc add dev eth0 root fq", "a command failed", "remove it"),
    # -- options
    ("qdisc red 1: root limit 400Kb min 30Kb max 90Kb ecn qevent early_drop block 10", "`qevent` is not an option",
     "use one of"),
    ("qdisc htb 1: root refcnt 5 default 10 offload", "`offload` of `htb` is not modelled", "remove it"),
    ("qdisc cake 1: root bandwidth 10Mbit autorate-ingress", "is not modelled", "give the `bandwidth`"),
    ("tc qdisc add dev eth0 root netem delay 100 ms", "`ms` of `netem` stands alone", "behind its number: 100ms"),
    ("tc qdisc add dev eth0 root netem loss 10 %", "`%` of `netem` stands alone", "behind its number: 1%"),
    ("tc qdisc add dev eth0 root tbf rate 10 mbit burst 15k latency 5ms", "`mbit` of `tbf` stands", "10mbit"),
    ("htb rate 10mbit fq_codel limit 100", "`fq_codel` is not an option of `htb`", "behind a bar: htb | fq_codel"),
    ("htb default 1; class 1 rate 5mbit fq_codel", "`fq_codel` is not an option of `htb`", "behind a bar"),
    ("tc qdisc add dev eth0 root netem delay 1,5ms", "`1,5ms` is not a time", "5ms"),
    ("tc qdisc add dev eth0 root netem delay -5ms", "is negative", "never below zero"),
    ("tc qdisc add dev eth0 root netem rate 10Mb/s", "`10Mb/s` is not a rate", "did you mean `10mbit`"),
    # -- programs
    ('if [ "$1" = status ]; then tc -s qdisc ls dev eth0; fi', "a program for the shell", "on each line"),
    ("for dev in eth0 eth1; do tc qdisc add dev $dev root fq; done", "a program for the shell", "on each line"),
    (f"{ROOT}tc class add dev eth0 parent 1: classid 1:21 htb rate $((9*220/10))kbit", "compute a value", "the result"),
    (f"{ROOT}tc class add dev eth0 parent 1: classid 1:21 htb rate $[9*220/10]kbit", "compute a value", "the result"),
    ("tc -force -batch file.tc", "reads another file", "paste the lines"),
    ("modprobe ifb\nip link set dev ifb4eth0 up\ntc qdisc add dev ifb4eth0 root fq",
     "not a command of `tc`", "explain ifb"),
    ("tc qdisc add dev eth0 root fq; tc qdisc add dev eth1 root fq", "is about `eth1`", "its own key"),
    ("tc qdisc del dev eth0 root", "no line adds a root", "begin with it"),
    ("wondershaper eth0 1024 512", "`wondershaper` is not", "tbf rate"),
    ("ipfw pipe 1 config bw 10Mbit/s delay 50ms", "`ipfw` is not", "netem delay"),
    ("config queue 'eth1'\n\toption qdisc 'cake'", "`config", "on the router"),
    # -- filters and classes
    (f"{ROOT}tc filter add dev eth0 parent 1: protocol ip prio 1 handle 1 fw classid 1:20", "`fw`", "no marks"),
    (f"{ROOT}tc filter add dev eth0 parent 1: protocol ip u32 match ip protocol 1 0xff flowid 1:20",
     "match ip protocol 1 0xff", "a line for each ping"),
    (f"{ROOT}tc filter add dev eth0 parent 1: protocol ip u32 match ip dst 65.172.181.4/32 flowid 1:20",
     "match ip dst 65.172.181.4/32", "filter from client"),
    (f"{ROOT}tc filter add dev eth0 parent 1: handle 1 flow hash keys src divisor 1024", "`flow`",
     "hashes of their own"),
    (f"{ROOT}tc filter add dev eth0 parent 1: protocol ip u32 match ip src 0/0 police rate 8kbit burst 10k drop",
     "`police`", "`police` of a link"),
    (f"{ROOT}tc class add dev eth0 root handle 1:30 htb rate 1mbit", "names no class", "classid 1:10"),
    (f"{ROOT}tc class change dev eth0 parent 1: classid 1:20 htb rate 50%", "relative to the speed", "absolute"),
    (f"{PRINTED_ROOT}filter parent 1: protocol ip pref 1 fw chain 0 handle 0x1 classid 1:20 ", "`fw`", "no marks"),
    (f"{PRINTED_ROOT}filter parent 1: protocol all pref 1 bpf chain 0 handle 0x1 flowid 1:20 x.o:[cls]", "`bpf`",
     "traffic"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED)
def test_what_is_refused_is_named_with_what_to_write_instead(text: str, message: str, hint: str) -> None:
    with pytest.raises(WordError) as refused:
        words.discipline(text, QDISCS)
    assert message in refused.value.message
    assert hint in refused.value.hint

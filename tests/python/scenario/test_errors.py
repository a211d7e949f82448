"""Errors of experiment files: each message has file, line, key, value and remedy."""

from collections.abc import Callable

import pytest

from tailback import qdiscs
from tailback.scenario import CoreRegistry, Registry, ScenarioError, loads, meant
from tailback.scenario.schema import keys_at, traffic_tags
from tailback.scenario.schema.keys import LINK_TAGS

Refusal = Callable[..., str]

GOOD = """\
title: TSQ
hosts:
  client: {stack: linux-6.12, sysctl: {net.ipv4.tcp_pacing_ca_ratio: 120}}
  router:
  server: {}
links:
  - {ends: [client, router], rate: 1gbit, delay: 50us}
  - {ends: [router, server], rate: 1gbit, delay: 50us}
qdiscs:
  client -> router: htb rate 100mbit | pfifo_fast
traffic:
  - {tcp: client -> server, name: upload, flows: 4, start: 5s, stop: 35s}
  - {ping: client -> server, interval: 200ms}
duration: 40s
measure: {warmup: 5s}
"""

UP = "  - {tcp: client -> server, name: upload, flows: 4, start: 5s, stop: 35s}"
PING = "  - {ping: client -> server, interval: 200ms}"
FIRST = "  - {ends: [client, router], rate: 1gbit, delay: 50us}"
SECOND = "  - {ends: [router, server], rate: 1gbit, delay: 50us}"
DEVICE = "  client -> router: htb rate 100mbit | pfifo_fast"
TIMES = "write a number and ns, us, ms or s: 50us, 5ms, 30s"

CASES: dict[str, tuple[str, str, str]] = {
    "a rate with a wrong unit": (
        SECOND,
        "  - {ends: [router, server], rate: 100mbps/s}",
        "access21.yaml:8: links[1].rate: `100mbps/s` is not a rate\n"
        "  hint: write it as tc does: 100mbit, 1gbit, 500kbit",
    ),
    "a negative rate": (
        SECOND,
        "  - {ends: [router, server], rate: -1gbit}",
        "access21.yaml:8: links[1].rate: `-1gbit` is negative\n"
        "  hint: a rate is never below zero; write it as tc does: 100mbit, 1gbit, 500kbit",
    ),
    "a zero rate": (
        SECOND,
        "  - {ends: [router, server], rate: 0mbit}",
        "access21.yaml:8: links[1].rate: `0mbit` is a rate of zero\n  hint: give a rate above zero, such as 100mbit",
    ),
    "a time without a unit": (
        "duration: 40s",
        "duration: 40",
        f"access21.yaml:14: duration: `40` has no unit\n  hint: did you mean `40ms` or `40s`? {TIMES}",
    ),
    "a list of three delays": (
        SECOND,
        "  - {ends: [router, server], delay: [1ms, 2ms, 3ms]}",
        "access21.yaml:8: links[1].delay: has 3 elements\n  hint: write one value, or two: [there, back]",
    ),
    "hosts as a list": (
        """hosts:
  client: {stack: linux-6.12, sysctl: {net.ipv4.tcp_pacing_ca_ratio: 120}}
  router:
  server: {}
""",
        "hosts: [client, router, server]\n",
        "access21.yaml:2: hosts: is a list\n"
        "  hint: leave it out, for the links name the hosts, or write hosts: {client: , router: , server: }",
    ),
    "an empty list where one value is expected": (
        "duration: 40s",
        "duration: 40s\ncc: []",
        "access21.yaml:15: cc: `[]` is not a congestion control\n  hint: use one of: reno, cubic, bbr",
    ),
    "a control in capitals": (
        "duration: 40s",
        "duration: 40s\ncc: CUBIC",
        "access21.yaml:15: cc: `CUBIC` is not a congestion control\n  hint: did you mean `cubic`?",
    ),
    "a drop-tail queue": (
        DEVICE,
        "  client -> router: DropTail limit 100",
        "access21.yaml:10: qdiscs.client -> router: `DropTail` is not a queue discipline\n"
        "  hint: write `pfifo limit 100`, a FIFO that drops at its tail",
    ),
    "ecn of a flow": (
        UP,
        "  - {tcp: client -> server, stop: 35s, ecn: on}",
        "access21.yaml:12: traffic[0].ecn: there is no key `ecn` here\n"
        "  hint: ECN is a sysctl of the host that connects, hosts: {client: {sysctl: {net.ipv4.tcp_ecn: 1}}}, and a "
        "discipline has to mark, such as `fq_codel` or `codel ecn`",
    ),
    "ecn of a host": (
        "  server: {}",
        "  server: {ecn: on}",
        "access21.yaml:5: hosts.server.ecn: there is no key `ecn` here\n"
        "  hint: ECN is a sysctl of the host that connects, hosts: {client: {sysctl: {net.ipv4.tcp_ecn: 1}}}, and a "
        "discipline has to mark, such as `fq_codel` or `codel ecn`",
    ),
    "a list of one value": (
        UP,
        "  - {tcp: client -> server, cc: [cubic]}",
        "access21.yaml:12: traffic[0].cc: is a list, and takes one value\n"
        "  hint: write the value itself: cc: cubic; several are an axis of `vary`",
    ),
    "a list of values": (
        UP,
        "  - {tcp: client -> server, cc: [cubic, bbr]}",
        "access21.yaml:12: traffic[0].cc: is a list, and takes one value\n"
        '  hint: to run it with each of them, vary it: vary: {"traffic[0].cc": [cubic, bbr]}',
    ),
    "a list of numbers of repetitions": (
        "duration: 40s",
        "duration: 40s\nrepeat: [3, 5]",
        "access21.yaml:15: repeat: is a list, and takes one value\n  hint: it is the same for all runs: repeat: 3",
    ),
    "an axis of one value": (
        "duration: 40s",
        "duration: 40s\nvary: {tsq: 1ms}",
        "access21.yaml:15: vary.tsq: `1ms` is a single value, not a list\n"
        "  hint: write a list of values: tsq: [1ms, ...]",
    ),
    "an unknown key at the top": (
        "duration: 40s",
        "duration: 40s\nmesure: {}",
        "access21.yaml:15: mesure: there is no key `mesure` here\n  hint: did you mean `measure`?",
    ),
    "an unknown key of a link": (
        SECOND,
        "  - {ends: [router, server], dealy: 1ms}",
        "access21.yaml:8: links[1].dealy: there is no key `dealy` here\n  hint: did you mean `delay`?",
    ),
    "an unknown key of a flow": (
        UP,
        "  - {tcp: client -> server, stop: 35s, flow: 4}",
        "access21.yaml:12: traffic[0].flow: there is no key `flow` here\n  hint: did you mean `flows`?",
    ),
    "an unknown key of a host": (
        "  router:",
        "  router: {colour: red}",
        "access21.yaml:4: hosts.router.colour: there is no key `colour` here\n"
        "  hint: use one of: stack, sysctl, tsq, offloads, gro, ssthresh, nic",
    ),
    "no duration": (
        "duration: 40s\n",
        "",
        "access21.yaml:1: duration: is missing\n  hint: give the length of a run: duration: 40s",
    ),
    "no time at all": (
        "duration: 40s",
        "duration: 0s",
        "access21.yaml:14: duration: `0s` is a time of zero\n  hint: give a time above zero, such as 100ms",
    ),
    "traffic that is none": (
        PING,
        "  - {noise: client -> server}",
        "access21.yaml:13: traffic[1]: is not one kind of traffic\n"
        "  hint: give it exactly one of the keys tcp, udp, ping, call, game, request, page, video, endpoint, program "
        "and preset: {tcp: client -> server}",
    ),
    "traffic that is nearly one": (
        PING,
        "  - {pong: client -> server}",
        "access21.yaml:13: traffic[1]: `pong` is not a kind of traffic\n  hint: did you mean `ping`?",
    ),
    "traffic with a name and no kind": (
        PING,
        "  - {name: noise, start: 1s}",
        "access21.yaml:13: traffic[1]: is not one kind of traffic\n"
        "  hint: give it exactly one of the keys tcp, udp, ping, call, game, request, page, video, endpoint, program "
        "and preset: {tcp: client -> server}",
    ),
    "traffic that is two kinds": (
        PING,
        "  - {ping: client -> server, tcp: client -> server}",
        "access21.yaml:13: traffic[1]: is not one kind of traffic\n"
        "  hint: give it exactly one of the keys tcp, udp, ping, call, game, request, page, video, endpoint, program "
        "and preset: {tcp: client -> server}",
    ),
    "no traffic": (
        f"{UP}\n{PING}",
        "  []",
        "access21.yaml:11: traffic: is empty\n  hint: give at least one flow: traffic: [{tcp: client -> server}]",
    ),
    "a flow without a target": (
        UP,
        "  - {tcp: client, stop: 35s}",
        "access21.yaml:12: traffic[0].tcp: `client` is not a direction\n"
        "  hint: write two hosts and an arrow: client -> server",
    ),
    "a flow to its own host": (
        UP,
        "  - {tcp: client -> client, stop: 35s}",
        "access21.yaml:12: traffic[0].tcp: `client -> client` leads from a host to itself\n"
        "  hint: write two hosts and an arrow: client -> server",
    ),
    "a flow to a host that does not exist": (
        UP,
        "  - {tcp: client -> sever, stop: 35s}",
        "access21.yaml:12: traffic[0].tcp: there is no host `sever`\n  hint: did you mean `server`?",
    ),
    "a number of flows that is text": (
        UP,
        "  - {tcp: client -> server, flows: many}",
        "access21.yaml:12: traffic[0].flows: `many` is not a whole number\n"
        "  hint: write a whole number without a unit, such as 4",
    ),
    "no flows": (
        UP,
        "  - {tcp: client -> server, flows: 0}",
        "access21.yaml:12: traffic[0].flows: `0` is too small\n  hint: it must be at least 1",
    ),
    "too many flows": (
        UP,
        "  - {tcp: client -> server, flows: 1000000}",
        "access21.yaml:12: traffic[0].flows: `1000000` is too large\n  hint: it must be at most 100000",
    ),
    "a name with spaces": (
        UP,
        "  - {tcp: client -> server, name: my flow}",
        "access21.yaml:12: traffic[0].name: `my flow` is not a name\n"
        "  hint: begin with a letter, then letters, digits, `_`, `-` or `.`: client, h2, upload-a",
    ),
    "a control that does not exist": (
        UP,
        "  - {tcp: client -> server, cc: cubci}",
        "access21.yaml:12: traffic[0].cc: `cubci` is not a congestion control\n  hint: did you mean `cubic`?",
    ),
    "a small queue setting that does not exist": (
        UP,
        "  - {tcp: client -> server, tsq: 3m}",
        "access21.yaml:12: traffic[0].tsq: `3m` is not a setting of TCP Small Queues\n"
        "  hint: choose a time such as 1ms, 3ms or 500us, a pacing shift such as `shift 9`, off, a size such as 64kB, "
        "packets such as 100p, or `check 8ms` for a time that leaves sk_pacing_shift alone",
    ),
    "offloads that do not exist": (
        "duration: 40s",
        "duration: 40s\noffloads: tso",
        "access21.yaml:15: offloads: `tso` is not a setting of offloads\n"
        "  hint: write off (in TCP), gso (below the qdisc) or on (in the device)",
    ),
    "stop before start": (
        UP,
        "  - {tcp: client -> server, start: 10s, stop: 5s}",
        "access21.yaml:12: traffic[0].stop: `5s` is not after `start`, `10s`\n  hint: stop after 10s, or start earlier",
    ),
    "start after the end": (
        UP,
        "  - {tcp: client -> server, start: 50s}",
        "access21.yaml:12: traffic[0].start: `50s` is not before the end of the run\n"
        "  hint: the run ends at 40s: start earlier or make `duration` longer",
    ),
    "stop after the end": (
        UP,
        "  - {tcp: client -> server, stop: 50s}",
        "access21.yaml:12: traffic[0].stop: `50s` is after the end of the run\n"
        "  hint: the run ends at 40s: stop earlier or make `duration` longer",
    ),
    "jitter past the stop": (
        UP,
        "  - {tcp: client -> server, start: 5s, stop: 8s, jitter: 4s}",
        "access21.yaml:12: traffic[0].jitter: `4s` may delay the start past the stop\n"
        "  hint: give less jitter, such as 10ms",
    ),
    "nothing to send": (
        UP,
        "  - {tcp: client -> server, bytes: 0b}",
        "access21.yaml:12: traffic[0].bytes: `0` bytes leave nothing to send\n  hint: give a size, such as 10mb",
    ),
    "pings without an interval": (
        PING,
        "  - {ping: client -> server, interval: 0s}",
        "access21.yaml:13: traffic[1].interval: `0s` is a time of zero\n  hint: give a time above zero, such as 100ms",
    ),
    "a ping without a header": (
        PING,
        "  - {ping: client -> server, size: 4b}",
        "access21.yaml:13: traffic[1].size: `4b` is not a valid size of a ping\n"
        "  hint: give 8b (the ICMP header alone) to 1480b (the MTU without the IP header)",
    ),
    "a ping longer than a packet": (
        PING,
        "  - {ping: client -> server, size: 1481b}",
        "access21.yaml:13: traffic[1].size: `1481b` is not a valid size of a ping\n"
        "  hint: give 8b (the ICMP header alone) to 1480b (the MTU without the IP header)",
    ),
    "two flows of one name": (
        PING,
        "  - {tcp: client -> server, name: upload.3}",
        "access21.yaml:13: traffic[1].name: the name `upload.3` is already used by traffic[0] (line 12)\n"
        "  hint: give each entry a `name` of its own",
    ),
    "a preset that does not exist": (
        PING,
        "  - {preset: tcp_uplaod, hosts: [client, server]}",
        "access21.yaml:13: traffic[1].preset: `tcp_uplaod` is not one of the choices\n"
        "  hint: did you mean `tcp_upload`?",
    ),
    "a preset between a host and itself": (
        PING,
        "  - {preset: ping, hosts: [client, client]}",
        "access21.yaml:13: traffic[1].hosts: `client` is named twice\n  hint: name two hosts: hosts: [client, server]",
    ),
    "a preset that has one flow with more": (
        f"{UP}\n{PING}",
        "  - {preset: tcp_upload, hosts: [client, server], flows: 4}",
        "access21.yaml:12: traffic[0].flows: `tcp_upload` does not take a number of flows\n"
        "  hint: use tcp_nup or tcp_ndown, or remove `flows`",
    ),
    "a link to a host that does not exist": (
        SECOND,
        "  - {ends: [router, sever]}\n  - {ends: [router, server]}",
        "access21.yaml:8: links[1].ends[1]: there is no host `sever`\n  hint: did you mean `server`?",
    ),
    "a link with one end": (
        SECOND,
        f"{SECOND}\n  - {{ends: [router]}}",
        "access21.yaml:9: links[2].ends: has 1 element\n  hint: it must have exactly 2",
    ),
    "a link from a host to itself": (
        SECOND,
        f"{SECOND}\n  - {{ends: [router, router]}}",
        "access21.yaml:9: links[2].ends: connects `router` to itself\n"
        "  hint: name two different hosts: ends: [client, router]",
    ),
    "two links side by side": (
        SECOND,
        f"{SECOND}\n  - {{ends: [server, router]}}",
        "access21.yaml:9: links[2]: connects `server` and `router`, which links[1] already connects\n"
        "  hint: put a router between them on one of the two, or remove it",
    ),
    "a host without a path": (
        "  server: {}",
        "  server: {}\n  h4: {}",
        "access21.yaml:6: hosts.h4: there is no path from `client` to `h4`\n"
        "  hint: add a link that connects it to the others, or remove it",
    ),
    "no links": (
        f"{FIRST}\n{SECOND}",
        "  []",
        "access21.yaml:6: links: is empty\n"
        "  hint: connect at least two hosts: links: [{ends: [client, server], rate: 1gbit}]",
    ),
    "a small MTU": (
        SECOND,
        "  - {ends: [router, server], mtu: 100}",
        "access21.yaml:8: links[1].mtu: `100` is too small\n  hint: it must be at least 576",
    ),
    "queue limits that are a word": (
        SECOND,
        "  - {ends: [router, server], bql: some}",
        "access21.yaml:8: links[1].bql: `some` is neither on nor off\n  hint: write on or off",
    ),
    "a device between hosts that are not neighbours": (
        DEVICE,
        "  client -> server: pfifo",
        "access21.yaml:10: qdiscs.client -> server: no link joins `client` and `server`\n"
        "  hint: `client` has links to: router",
    ),
    "a device of a host that does not exist": (
        DEVICE,
        "  cleint -> router: pfifo",
        "access21.yaml:10: qdiscs.cleint -> router: there is no host `cleint`\n  hint: did you mean `client`?",
    ),
    "a device that is none": (
        DEVICE,
        "  eth0: pfifo",
        "access21.yaml:10: qdiscs.eth0: `eth0` is not a device\n"
        "  hint: name a device by its host and its neighbour: client -> router",
    ),
    "a discipline that does not exist": (
        DEVICE,
        "  client -> router: htb rate 100mbit | fq_codle",
        "access21.yaml:10: qdiscs.client -> router: `fq_codle` is not a queue discipline\n"
        "  hint: did you mean `fq_codel`?",
    ),
    "a stack that does not exist": (
        "linux-6.12",
        "linux-2.4",
        "access21.yaml:3: hosts.client.stack: `linux-2.4` is not a known network stack\n"
        "  hint: use one of: linux-6.12, linux-7.3, linux-6.6, linux-6.1, linux-5.10.262, linux-5.10, linux-5.4, "
        "linux-5.0, linux-4.14, linux-3.10, freebsd-9",
    ),
    "a sysctl that does not exist": (
        "net.ipv4.tcp_pacing_ca_ratio: 120",
        "tcp_pacing_ca_ratio: 120",
        "access21.yaml:3: hosts.client.sysctl.tcp_pacing_ca_ratio: `tcp_pacing_ca_ratio` is not a known sysctl\n"
        "  hint: did you mean `net.ipv4.tcp_pacing_ca_ratio`?",
    ),
    "a host that is a word": (
        "  router:",
        "  router: big",
        "access21.yaml:4: hosts.router: `big` is not a mapping\n"
        "  hint: write it as `key: value` lines, or in braces: {key: value}",
    ),
    "a host with a bad name": (
        "  server: {}",
        "  server: {}\n  2nd: {}",
        "access21.yaml:6: hosts.2nd: `2nd` is not a name\n"
        "  hint: begin with a letter, then letters, digits, `_`, `-` or `.`: client, h2, upload-a",
    ),
    "links that are a word": (
        f"links:\n{FIRST}\n{SECOND}",
        "links: many",
        "access21.yaml:6: links: `many` is not a list\n"
        "  hint: write it in brackets: [a, b], or as lines that begin with `- `",
    ),
    "an empty key": (
        "title: TSQ",
        "title: TSQ\ncc:",
        "access21.yaml:2: cc: `null` is not a congestion control\n  hint: use one of: reno, cubic, bbr",
    ),
    "qdiscs without any": (
        f"qdiscs:\n{DEVICE}",
        "qdiscs:",
        "access21.yaml:9: qdiscs: is empty\n  hint: write it as `key: value` lines, or in braces: {key: value}",
    ),
    "a title that is a number": (
        "title: TSQ",
        "title: 21",
        "access21.yaml:1: title: `21` is not text\n  hint: put it in quotes",
    ),
    "no repetitions": (
        "title: TSQ",
        "repeat: 0",
        "access21.yaml:1: repeat: `0` is too small\n  hint: it must be at least 1",
    ),
    "a warm-up longer than the traffic": (
        "{warmup: 5s}",
        "{warmup: 50s}",
        "access21.yaml:15: measure.warmup: a warm-up of `50s` leaves nothing to measure\n"
        "  hint: traffic lasts 30s: shorten the warm-up, or make the run longer",
    ),
    "a window outside the run": (
        "{warmup: 5s}",
        "{window: [10s, 50s]}",
        "access21.yaml:15: measure.window: `[10s, 50s]` lies outside the run\n"
        "  hint: the run lasts 40s: end the window by then or make `duration` longer",
    ),
    "a window backwards": (
        "{warmup: 5s}",
        "{window: [35s, 10s]}",
        "access21.yaml:15: measure.window: `[35s, 10s]` ends before it begins\n  hint: write [from, to]: [10s, 35s]",
    ),
    "a window within the warm-up": (
        "{warmup: 5s}",
        "{warmup: 5s, window: [8s, 30s]}",
        "access21.yaml:15: measure.window: `8s` lies in the warm-up, which ends at 10s\n"
        "  hint: begin the window later, or remove `warmup`",
    ),
    "samples without an interval": (
        "{warmup: 5s}",
        "{interval: 0ms}",
        "access21.yaml:15: measure.interval: `0ms` is a time of zero\n  hint: give a time above zero, such as 100ms",
    ),
    "samples at another moment": (
        "{warmup: 5s}",
        "{tcp_info: often}",
        "access21.yaml:15: measure.tcp_info: `often` is not one of the choices\n  hint: use one of: interval, ack",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_file_is_reported_exactly(name: str, refusal: Refusal) -> None:
    old, new, message = CASES[name]
    assert GOOD.count(old) == 1
    assert refusal(GOOD.replace(old, new)) == message


def test_the_file_from_which_these_are_made_is_valid(registry: Registry) -> None:
    assert len(loads(GOOD, registry=registry).runs()) == 1


def test_an_invalid_value_is_not_reported_as_absent_too(refusal: Refusal) -> None:
    old = "  - {ping: client -> server"
    assert GOOD.count(old) == 1
    said = refusal(GOOD.replace(old, f"  - {{tcp: client -> server, size: webserch, arrivals: poisson 20/s}}\n{old}"))
    assert "`webserch` is not a distribution of sizes" in said
    assert "need a size" not in said


@pytest.mark.parametrize(
    "link",
    [
        "{ends: [router, server], rate: 1gbit, schedule: [{at: 4s, rate: x}]}",
        "{wifi: {ap: router, stations: [server]}, standard: 802.11n, width: 20MHz, mcs: 7,"
        " schedule: [{at: 4s, snr: {server: x}}]}",
    ],
)
def test_a_change_whose_value_is_invalid_is_not_said_to_change_nothing(link: str, refusal: Refusal) -> None:
    said = refusal(f"links: [{{ends: [client, router]}}, {link}]\ntraffic: [{{tcp: client -> server}}]\nduration: 9s\n")
    assert "`x` is not a" in said
    assert "changes nothing" not in said


def test_all_that_is_wrong_is_reported_at_once_in_the_order_of_the_file(registry: Registry) -> None:
    text = GOOD.replace("rate: 1gbit", "rate: fast").replace("[router, server]", "[router, sever]")
    text = text.replace("stop: 35s", "stop: 3s").replace("200ms", "200").replace("title", "titel")
    with pytest.raises(ScenarioError) as caught:
        loads(text, registry=registry)
    assert [finding.path for finding in caught.value.findings] == [
        "titel",
        "links[0].rate",
        "links[1].rate",
        "links[1].ends[1]",
        "traffic[0].stop",
        "traffic[1].interval",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "access21.yaml:1: a list is not an experiment\n  hint: write keys and values: duration: 40s"),
        ("hello", "access21.yaml:1: `hello` is not an experiment\n  hint: write keys and values: duration: 40s"),
    ],
)
def test_an_experiment_that_is_not_a_mapping_is_refused(text: str, message: str, refusal: Refusal) -> None:
    assert refusal(text) == message


def test_an_empty_file_is_an_error_that_lists_the_required_keys(refusal: Refusal) -> None:
    assert [line.split(": ")[1] for line in refusal("").splitlines() if "hint" not in line] == [
        "links",
        "traffic",
        "duration",
    ]


def test_a_name_of_flow_style_needs_no_space_behind_its_colon(refusal: Refusal) -> None:
    message = refusal("title: t\nhosts: {C:, R:}\n")
    assert "hosts" not in message.replace("at least two hosts", "")


@pytest.mark.parametrize(
    ("instead_of", "written", "hint"),
    [
        ("title: TSQ", "name: TSQ", "did you mean `title`?"),
        ("duration: 40s", "length: 40s", "did you mean `duration`?"),
        ("duration: 40s", "time: 40s", "did you mean `duration`?"),
        ("duration: 40s", "duration: 40s\ncongestion_control: bbr", "did you mean `cc`?"),
        ("duration: 40s", "duration: 40s\nsweep: {cc: [bbr, cubic]}", "did you mean `vary`?"),
        ("duration: 40s", "duration: 40s\nruns: 5", "did you mean `repeat`?"),
        ("duration: 40s", "duration: 40s\nrtt: 20ms", "give the delay of one direction to a link, half of the RTT: "),
        ("duration: 40s", "duration: 40s\nbandwidth: 10mbit", "give it to a link: links: ["),
        ("duration: 40s", "duration: 40s\npcap: [client]", "write it in `measure`: measure: {"),
        ("duration: 40s", "duration: 40s\ntcp: client -> server", "list it in `traffic`: traffic: [{tcp: "),
        ("duration: 40s", "duration: 40s\nsysctl: {}", "give it to a host: hosts: {client: "),
        ("qdiscs:", "queues:", "did you mean `qdiscs`?"),
        ("hosts:", "nodes:", "did you mean `hosts`?"),
        ("traffic:", "flows:", "did you mean `traffic`?"),
        ("rate: 1gbit", "bandwidth: 1gbit", "did you mean `rate`?"),
        ("rate: 1gbit", "bw: 1gbit", "did you mean `rate`?"),
        ("delay: 50us", "latency: 50us", "did you mean `delay`?"),
        ("delay: 50us", "rtt: 50us", "give the delay of one direction to a link, half of the RTT: "),
        ("delay: 50us", "queue: fq_codel", "disciplines are beside the links: qdiscs: {"),
        ("ends: [", "hosts: [", "did you mean `ends`?"),
        ("flows: 4", "streams: 4", "did you mean `flows`?"),
        ("flows: 4", "cca: bbr", "did you mean `cc`?"),
        ("stop: 35s", "end: 35s", "did you mean `stop`?"),
        ("stop: 35s", "duration: 35s", "give the time at which it ends: stop: 35s"),
        ("flows: 4", "to: server", "write sender and receiver as the value of the kind: {tcp: client -> server}"),
        ("warmup: 5s", "warm-up: 5s", "did you mean `warmup`?"),
    ],
)
def test_the_usual_word_for_a_key_leads_to_the_key(instead_of: str, written: str, hint: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        loads(GOOD.replace(instead_of, written, 1))
    word = written.splitlines()[-1].partition(":")[0]
    found = [finding.hint for finding in refused.value.findings if f"there is no key `{word}` here" in finding.message]
    assert [each.startswith(hint) for each in found] == [True]


def test_an_axis_is_the_path_of_a_key() -> None:
    with pytest.raises(ScenarioError) as refused:
        loads(f"{GOOD}vary: {{bandwidth: [1mbit, 2mbit]}}")
    assert refused.value.findings[0].hint.startswith("write the path of a key, such as `links[0].rate`; an axis of ")
    with pytest.raises(ScenarioError) as set_:
        loads(GOOD, ["rtt=20ms"])
    assert set_.value.findings[0].hint == "write the path of a key, such as `links[0].delay`"


def test_a_variable_as_in_a_shell_leads_to_its_braces() -> None:
    file = GOOD.replace("htb rate 100mbit", "htb rate $rate").replace("title: TSQ", "let: {rate: 100mbit}")
    with pytest.raises(ScenarioError) as refused:
        loads(file)
    [finding] = refused.value.findings
    assert (finding.path, finding.hint) == ("qdiscs.client -> router", "write the variable as `${rate}`")
    with pytest.raises(ScenarioError) as unknown:
        loads(file.replace("$rate", "$speed"))
    assert "${" not in unknown.value.findings[0].hint


def test_every_key_that_a_word_may_mean_is_one() -> None:
    tags = [(section, 0, tag) for section, tags in (("links", LINK_TAGS), ("traffic", traffic_tags())) for tag in tags]
    places = [(), ("hosts", "a"), ("measure",), ("links", 0, "<link>", "schedule", 0), ("links", 0, "<wifi>", "wifi")]
    known = {key for place in [*places, *tags] for key in keys_at(place)}
    assert {key for keys in meant._MEANT for key in keys} <= known


def test_a_word_that_is_a_key_here_is_never_taken_for_another() -> None:
    assert meant.hint((), "bandwidth", ("width", "rate")) == "did you mean `width`?"
    assert meant.hint(("links", 0, "<link>"), "bandwidth", keys_at(("links", 0, "<link>"))) == "did you mean `rate`?"
    assert meant.hint(("links", 0, "<wifi>"), "aql", ("driver",)) == meant._AIRTIME
    assert meant.hint(("links", 0, "<wifi>"), "cwmin", ("driver",)) == meant._EDCA
    assert meant.hint(("measure",), "bandwidth", keys_at(("measure",))).startswith("use one of: warmup")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("prio bands 2", "qdisc `prio`: `priomap` names band 2, but the last one is 1"),
        ("htb rate 5mbit | prio bands 2", "qdisc `prio`: `priomap` names band 2, but the last one is 1"),
        ("[netem delay 1ms, prio bands 2]", "qdisc `prio`: `priomap` names band 2, but the last one is 1"),
        ("tbf rate 1mbit burst 5kb", "qdisc `tbf`: `limit` must be given"),
    ],
)
def test_options_of_a_discipline_that_conflict_are_refused_with_their_line(words: str, message: str) -> None:
    """Before a backend is chosen: a kernel would say *Invalid argument*, in each of the runs."""
    with pytest.raises(ScenarioError) as caught:
        loads(GOOD.replace(DEVICE, f"  client -> router: {words}"), [], CoreRegistry(), file="access21.yaml")
    assert str(caught.value).startswith(f"access21.yaml:10: qdiscs.client -> router: {message}\n  hint: ")


@pytest.mark.parametrize("kind", [name for name, row in qdiscs.KINDS.items() if row.tree])
def test_the_tree_that_explain_shows_of_a_discipline_is_valid(kind: str) -> None:
    tree = qdiscs.of(kind).tree
    loads(GOOD.replace(DEVICE, f'  client -> router: "{tree}"'), [], CoreRegistry(), file="access21.yaml")


MANY = """\
links: [{star: 25, rate: 1gbit, delay: 5us}]
hosts: {host1..25: {HOSTS}, hub: {}}
qdiscs: {hub -> host1..24: QDISC}
traffic: [{request: host1 -> host2..25, answer: SIZE, every: 500ms}]
duration: 2s
"""


@pytest.mark.parametrize(
    ("key", "value", "times"),
    [
        ("{HOSTS}", "{sysctl: {net.ipv4.tcp_foo: 1}}", 25),
        ("{HOSTS}", "{sysctl: {net.ipv4.tcp_ecn: 99}}", 25),
        ("{HOSTS}", "{colour: red}", 25),
        ("{HOSTS}", "{tsq: foo}", 25),
        ("QDISC", "fq_codell", 24),
        ("QDISC", "fq_codel limt 5", 24),
        ("host2..25", "host2..40", 15),
        ("host2..25", "hst2..25", 24),
        ("SIZE", "32kx", 24),
    ],
)
def test_one_fault_of_many_hosts_is_told_once_with_its_count(
    key: str, value: str, times: int, registry: Registry
) -> None:
    text = MANY.replace(key, value)
    for name, valid in (("{HOSTS}", "{}"), ("QDISC", "pfifo limit 5"), ("SIZE", "32kb")):
        text = text.replace(name, valid)
    with pytest.raises(ScenarioError) as caught:
        loads(text, registry=registry)
    said = str(caught.value).splitlines()
    assert len(said) == 2, said
    assert f"({times} times, up to {caught.value.findings[-1].path})" in said[0]
    assert len(caught.value.findings) == times


def test_two_values_on_one_line_are_two_faults(registry: Registry) -> None:
    text = """\
links: [{star: 3, rate: 1gbit, delay: 5us}]
traffic: [{tcp: host1 -> host2, start: 50s}, {tcp: host1 -> host3, start: 70s}]
duration: 2s
"""
    with pytest.raises(ScenarioError) as caught:
        loads(text, registry=registry)
    assert "`50s`" in str(caught.value)
    assert "`70s`" in str(caught.value)

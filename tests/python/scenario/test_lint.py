"""Warnings of classic mistakes, and none for a sound file."""

import re
from pathlib import Path

import pytest

from tailback.scenario import CoreRegistry, Registry, lint, loads

SOUND = """\
links:
  - {ends: [client, router], rate: 1gbit, delay: 5ms}
  - {ends: [router, server], rate: 1gbit, delay: 5ms}
qdiscs:
  client -> router: htb rate 100mbit burst 1600b | pfifo limit 1000
traffic:
  - {tcp: client -> server, name: upload, start: 1s, jitter: 10ms}
  - {ping: client -> server, interval: 100ms}
duration: 30s
measure: {warmup: 5s}
repeat: 5
"""


def test_a_sound_file_has_no_warnings(registry: Registry) -> None:
    assert lint(loads(SOUND, registry=registry)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "rate: 1gbit, delay: 5ms}\nqdiscs",
            "rate: 125Mbps, delay: 5ms}\nqdiscs",
            "fig.yaml:3: links[1].rate: warning: `125Mbps` is 1gbit: `bps` counts bytes, as in tc [bytes-per-second]\n"
            "  hint: write 125mbit, or 1gbit if you mean that",
        ),
        (
            "limit 1000",
            "limit 100",
            "fig.yaml:5: qdiscs.client -> router: warning: `pfifo` holds 151400b, less than the bandwidth-delay "
            "product of 250000b [queue-below-bdp]\n"
            "  hint: give it at least 166 packets, or expect idle time after each loss",
        ),
        (
            "pfifo limit 1000",
            "bfifo limit 237499b",
            "fig.yaml:5: qdiscs.client -> router: warning: `bfifo` holds 237499b, less than the bandwidth-delay "
            "product of 250000b [queue-below-bdp]\n"
            "  hint: give it at least 166 packets, or expect idle time after each loss",
        ),
        (
            "repeat: 5\n",
            "repeat: 5\noffloads: on\n",
            "fig.yaml:12: offloads: warning: an skb of 64 KB, as TCP with offloads sends on short paths, takes 5ms at "
            "100mbit [large-skbs]\n"
            "  hint: write `offloads: off`, as is usual in testbeds at such rates, unless you study offloads",
        ),
        (
            "burst 1600b",
            "burst 2mb",
            "fig.yaml:5: qdiscs.client -> router: warning: a burst of 2mb exceeds the limit of `pfifo`, 1514000b "
            "[burst-above-queue]\n  hint: give a smaller burst, such as 1600b",
        ),
        (
            "upload,",
            "upload, cc: bbr,",
            "fig.yaml:7: traffic[0]: info: BBR above `pfifo` is paced by TCP's own timer, one per connection "
            "[bbr-internal-pacing]\n  hint: nothing to do: Linux has needed no `fq` for this since 4.13",
        ),
        (
            "interval: 100ms",
            "interval: 500ms",
            "fig.yaml:8: traffic[1].interval: warning: the measurement window has 48 pings of `ping`, fewer than 100 "
            "[few-pings]\n  hint: measure for 50s or ping more often",
        ),
        (
            "warmup: 5s",
            "warmup: 500ms",
            "fig.yaml:10: measure: warning: the measurement window begins 500ms after the first flow starts, "
            "when slow start may not be over [slow-start-measured]\n  hint: set `measure.warmup` to 1s or more, "
            "unless you study the start of flows",
        ),
        (
            "warmup: 5s",
            "window: [1500ms, 30s]",
            "fig.yaml:10: measure: warning: the measurement window begins 500ms after the first flow starts, "
            "when slow start may not be over [slow-start-measured]\n  hint: begin `measure.window` at 2s or later, "
            "unless you study the start of flows",
        ),
        (
            "duration: 30s\nmeasure: {warmup: 5s}",
            "  - {tcp: client -> server, name: few, size: 10kb, arrivals: poisson 1/s}\nduration: 30s\n"
            "measure: {warmup: 500ms}",
            "fig.yaml:11: measure: warning: the measurement window begins 500ms before the first bulk flow starts "
            "[slow-start-measured]\n  hint: set `measure.warmup` to 2s or more, "
            "unless you study the start of flows",
        ),
        (
            ", jitter: 10ms",
            "",
            "fig.yaml:11: repeat: warning: repetitions hardly differ, because all flows start at the same times "
            "in each "
            "[repetitions-alike]\n  hint: spread the starts: `jitter: 10ms` in a traffic entry",
        ),
    ],
)
def test_every_classic_mistake_is_reported(old: str, new: str, message: str, registry: Registry) -> None:
    assert SOUND.count(old) == 1
    found = lint(loads(SOUND.replace(old, new), registry=registry, file="fig.yaml"))
    assert [str(warning).replace("measure.window:", "measure:") for warning in found] == [message]


@pytest.mark.parametrize(
    ("discipline", "message"),
    [
        (
            "htb rate 100mbit | codel target 5ms interval 100",
            "`interval` of `codel`: `100` is 100us, because tc reads a time without a unit in microseconds "
            "[bare-number]\n  hint: write 100ms, or 100us if you mean that",
        ),
        (
            "htb default 1; class 1 rate 9000 ceil 9mbit prio 1 | codel; filter all flowid 1",
            "`rate` of `htb`: `9000` is 9kbit, because tc reads a rate without a unit in bit/s [bare-number]\n"
            "  hint: write 9000kbit, or 9kbit if you mean that",
        ),
        (
            "[netem delay 10ms 2, pfifo limit 1000]",
            "`jitter` of `netem`: `2` is 2ns, because tc reads a time without a unit in nanoseconds [bare-number]\n"
            "  hint: write 2ms, or 2ns if you mean that",
        ),
        (
            "tbf rate 1000000 burst 3000 latency 50ms",
            "`rate` of `tbf`: `1000000` is 1mbit, because tc reads a rate without a unit in bit/s [bare-number]\n"
            "  hint: write 1mbit",
        ),
        (
            "codel target 5000",
            "`target` of `codel`: `5000` is 5ms, because tc reads a time without a unit in microseconds [bare-number]\n"
            "  hint: write 5ms",
        ),
    ],
)
def test_a_time_or_rate_of_a_discipline_without_a_unit_is_reported(discipline: str, message: str) -> None:
    text = re.sub("router: .*", f"router: {discipline}", SOUND)
    found = [warning for warning in lint(loads(text, registry=CoreRegistry())) if warning.code == "bare-number"]
    assert [str(warning).partition("warning: ")[2] for warning in found] == [message]


@pytest.mark.parametrize("driver", ["mt76 airtime 5 frames 512", "{router: mt76 airtime 5, phone: ath9k}"])
def test_a_time_of_a_driver_without_a_unit_is_reported(driver: str) -> None:
    cell = f"{{wifi: {{ap: router, stations: [phone]}}, standard: 802.11n, width: 20MHz, mcs: 7, driver: {driver}}}"
    text = f"links: [{cell}]\ntraffic: [{{tcp: router -> phone}}]\nduration: 3s\n"
    found = [warning for warning in lint(loads(text, registry=CoreRegistry())) if warning.code == "bare-number"]
    assert [str(warning).partition(": ")[2] for warning in found] == [
        "links[0].driver: warning: `airtime` of `mt76`: `5` is 5us, because tc reads a time without a unit in "
        "microseconds [bare-number]\n  hint: write 5ms, or 5us if you mean that"
    ]


@pytest.mark.parametrize(
    "discipline", ["codel limit 100 target 5ms", "cake rtt 0 mpu 84", "tbf rate 9mbit burst 5000 lat 50ms"]
)
def test_numbers_with_one_meaning_need_no_unit(discipline: str) -> None:
    text = re.sub("router: .*", f"router: {discipline}", SOUND)
    assert not [warning for warning in lint(loads(text, registry=CoreRegistry())) if warning.code == "bare-number"]


def test_a_queue_on_the_path_of_no_flow_causes_no_warning(registry: Registry) -> None:
    text = SOUND.replace("client -> router: htb", "router -> client: htb").replace("limit 1000", "limit 5")
    assert lint(loads(text, registry=registry)) == []


def test_a_mistake_in_many_configurations_is_reported_once(registry: Registry) -> None:
    text = f"{SOUND.replace('limit 1000', 'limit 100')}vary: {{cc: [cubic, reno], tsq: [1ms, off]}}"
    assert len(lint(loads(text, registry=registry))) == 1


EMULATED = """\
title: a local bottleneck
links:
  - {ends: [client, router], rate: 1gbit}
  - {ends: [router, server], rate: 1gbit}
qdiscs:
  client -> router: htb rate 100mbit | fq_codel
  router -> server: netem delay 20ms limit 10000
traffic:
  - {tcp: client -> server, name: upload, start: 1s}
duration: 30s
measure: {warmup: 5s}
"""


def codes(text: str) -> list[str]:
    return [warning.code for warning in lint(loads(text, registry=CoreRegistry()))]


def test_an_emulated_path_behind_the_sender_is_sound() -> None:
    assert codes(EMULATED) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("htb rate 100mbit | fq_codel", "netem delay 5ms limit 10000", "netem-at-sender"),
        (
            "htb rate 100mbit | fq_codel",
            "[netem delay 5ms limit 10000, htb rate 100mbit | fq_codel]",
            "netem-at-sender",
        ),
        ("limit 10000", "limit 100", "netem-limit"),
        ("delay 20ms", "delay 20ms 5ms", "netem-reorders"),
        ("delay 20ms", "delay 20ms 5ms rate 1gbit", None),
        ("a local bottleneck", "a remote bottleneck", "bottleneck-elsewhere"),
        ("htb rate 100mbit | fq_codel", "fq_codel\n  server -> router: pfifo", None),
        ("netem delay 20ms limit 10000", "tbf rate 10mbit burst 5kb latency 10ms", "bottleneck-elsewhere"),
    ],
)
def test_mistakes_of_an_emulated_path_are_reported(old: str, new: str, code: str | None) -> None:
    assert EMULATED.count(old) == 1
    assert codes(EMULATED.replace(old, new)) == ([code] if code else [])


PATH = """\
links:
  - {ends: [client, router], rate: 1gbit, delay: 5ms}
  - {ends: [router, server], rate: 10mbit, delay: 5ms, KEYS}
traffic:
  - {tcp: client -> server, name: upload, start: 1s, jitter: 10ms}
duration: 30s
measure: {window: [7s, 25s]}
"""


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ("loss: 1%", None),
        ("jitter: 5ms", None),
        ("jitter: 6ms", "jitter-above-delay"),
        ("jitter: 6ms, schedule: [{at: 0s, delay: 7ms}]", None),
        ("jitter: 6ms, schedule: [{at: 0s, jitter: 1ms}]", None),
        ("jitter: 4ms, schedule: [{at: 0s, delay: 3ms}]", "jitter-above-delay"),
        ("schedule: [{at: 8s, jitter: 6ms}]", "jitter-above-delay"),
        ("schedule: [{at: 20s, rate: 5mbit}]", None),
        ("schedule: [{at: 26s, rate: 5mbit}]", "change-unmeasured"),
    ],
)
def test_impairments_of_links_are_checked_too(keys: str, code: str | None) -> None:
    found = [warning.code for warning in lint(loads(PATH.replace("KEYS", keys)))]
    assert found == [code] * (code is not None)


def test_a_loss_takes_whole_skbs_where_they_travel_whole() -> None:
    lossy = PATH.replace("KEYS", "loss: 1%")
    assert lint(loads(lossy)) == []
    assert [warning.code for warning in lint(loads(lossy, ["offloads=on"]))] == ["skbs-lost-whole"]
    assert lint(loads(lossy, ["offloads=gso"])) == []
    assert lint(loads(PATH.replace("KEYS", "loss: 0%"), ["offloads=on"])) == []
    changed = PATH.replace("KEYS", "loss: 0%, schedule: [{at: 8s, loss: 1%}]")
    [warning] = lint(loads(changed, ["offloads=on"]))
    assert (warning.code, warning.path) == ("skbs-lost-whole", "links[1].schedule[0].loss")


def test_a_delay_that_a_change_at_the_start_replaces_is_no_part_of_the_round_trip() -> None:
    def queue(link: str) -> list[str]:
        text = PATH.replace("delay: 5ms, KEYS", link) + "qdiscs: {router -> server: pfifo limit 20}\n"
        return [warning.code for warning in lint(loads(text))]

    assert queue("delay: 5ms") == []
    assert queue("delay: 500ms, schedule: [{at: 0s, delay: 5ms}]") == []
    assert "queue-below-bdp" in queue("delay: 5ms, schedule: [{at: 0s, delay: 500ms}]")


def test_the_product_of_rate_and_delay_is_the_largest_of_the_run() -> None:
    queue = PATH.replace("traffic:", "qdiscs: {router -> server: pfifo limit 50}\ntraffic:")
    assert lint(loads(queue.replace(", KEYS", ""))) == []
    faster = queue.replace("KEYS", "schedule: [{at: 10s, rate: 50mbit}]")
    assert [warning.code for warning in lint(loads(faster))] == ["queue-below-bdp"]


def test_a_short_queue_above_the_bottleneck_of_its_flows_needs_no_warning() -> None:
    queue = PATH.replace("traffic:", "qdiscs: {client -> router: pfifo limit 50}\ntraffic:")
    assert "queue-below-bdp" not in [warning.code for warning in lint(loads(queue.replace(", KEYS", "")))]


ROUTED = """\
links:
  - {ends: [client, router], rate: 1gbit, delay: 5ms, KEYS}
  - {ends: [router, server], rate: 10mbit, delay: 5ms}
qdiscs:
  router -> server: pfifo limit 100
traffic:
  - {tcp: client -> server, cc: cubic, start: 1s}
duration: 30s
measure: {warmup: 5s}
"""


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (", KEYS", ", loss: 100%", "nothing-passes"),
        (", KEYS", ", loss: [null, 100%]", "nothing-passes"),
        (", KEYS", ", loss: 99%", None),
        (", KEYS", ", schedule: [{at: 10s, loss: 100%}]", None),
        (", KEYS", ", loss: 100%, schedule: [{at: 1s, loss: 0%}]", None),
        (", KEYS", ", loss: 100%, schedule: [{at: 1s, rate: 2gbit}]", "nothing-passes"),
        (", KEYS", ", loss: 100%, schedule: [{at: 0s, loss: 0%}]", None),
        (", KEYS", ", schedule: [{at: 0s, loss: [null, 100%]}]", "nothing-passes"),
        (", KEYS", ", schedule: [{at: 0s, loss: 100%}, {at: 20s, loss: 0%}]", None),
        (", KEYS", ", police: [rate 10mbit burst 1499b, null]", "nothing-passes"),
        (", KEYS", ", mtu: 9000, police: [null, rate 10mbit burst 90kb]", "nothing-passes"),
        ("pfifo limit 100", "pfifo limit 0", "nothing-passes"),
        ("pfifo limit 100", "bfifo limit 1513b", "nothing-passes"),
        ("pfifo limit 100", "bfifo limit 1514b", "queue-below-bdp"),
        ("pfifo limit 100", "[netem loss 100%, pfifo limit 100]", "nothing-passes"),
    ],
)
def test_a_path_on_which_nothing_passes_is_reported(old: str, new: str, code: str | None) -> None:
    text = ROUTED.replace(old, new).replace(", KEYS", "").replace("1gbit, delay: 5ms", "1gbit, delay: 6ms")
    assert codes(text) == ([] if code is None else [code])


@pytest.mark.parametrize(
    ("discipline", "marked"),
    [
        ("pfifo limit 100", False),
        ("codel", False),
        ("codel ecn", True),
        ("codel ce_threshold 1ms", True),
        ("fq_codel", True),
        ("fq_codel noecn", False),
        ("cake bandwidth 10mbit", True),
        ("dualpi2", True),
        ("htb rate 9mbit | red limit 400kb min 30kb max 90kb avpkt 1000 burst 55 ecn", True),
    ],
)
def test_a_control_that_needs_marks_is_reported_where_nobody_marks(discipline: str, marked: bool) -> None:
    text = ROUTED.replace(", KEYS", "").replace("cc: cubic", "cc: dctcp").replace("pfifo limit 100", discipline)
    assert codes(text) == ([] if marked else ["no-marks"])
    assert "no-marks" not in codes(text.replace("dctcp", "cubic"))


@pytest.mark.parametrize(
    ("discipline", "found"),
    [
        ("dualpi2", []),
        ("fq_codel", []),
        ("codel ecn", ["scalable-in-classic-queue"]),
        ("htb rate 9mbit | pie ecn", ["scalable-in-classic-queue"]),
    ],
)
def test_a_scalable_control_is_reported_where_a_queue_for_all_marks_as_it_would_drop(
    discipline: str, found: list[str]
) -> None:
    text = ROUTED.replace(", KEYS", "").replace("cc: cubic", "cc: prague").replace("pfifo limit 100", discipline)
    assert codes(text) == found
    assert codes(text.replace("prague", "dctcp")) == []


@pytest.mark.parametrize(("client", "server", "found"), [(3, 3, False), (3, 2, True), (1, 5, True), (1, 1, False)])
def test_accecn_at_one_end_is_reported(client: int, server: int, found: bool) -> None:
    hosts = "hosts: {client: {stack: linux-7.3, sysctl: {net.ipv4.tcp_ecn: CLIENT}}, router: , "
    hosts += "server: {stack: linux-7.3, sysctl: {net.ipv4.tcp_ecn: SERVER}}}\n"
    hosts = hosts.replace("CLIENT", str(client)).replace("SERVER", str(server))
    assert ("accecn-at-one-end" in codes(hosts + ROUTED.replace(", KEYS", ""))) == found


def test_a_discipline_told_to_mark_is_reported_where_no_host_requests_ecn() -> None:
    text = ROUTED.replace(", KEYS", "").replace("pfifo limit 100", "htb rate 9mbit | codel ecn")
    assert codes(text) == ["ecn-not-requested"]
    assert codes(text.replace("codel ecn", "codel")) == []
    assert codes(text.replace("codel ecn", "fq_codel")) == []


@pytest.mark.parametrize("value", [0, 1])
def test_who_writes_the_sysctl_of_ecn_is_not_told_of_it(value: int) -> None:
    hosts = f"hosts: {{client: {{sysctl: {{net.ipv4.tcp_ecn: {value}}}}}, router: , server: }}\n"
    assert codes(hosts + ROUTED.replace(", KEYS", "").replace("pfifo limit 100", "htb rate 9mbit | codel ecn")) == []


@pytest.mark.parametrize(("size", "found"), [("", ["slow-start-measured"]), (", bytes: 64kB", [])])
def test_slow_start_belongs_to_the_completion_of_a_flow_with_a_size(size: str, found: list[str]) -> None:
    text = SOUND.replace("name: upload", f"name: upload{size}").replace("measure: {warmup: 5s}\n", "")
    assert codes(text) == found


@pytest.mark.parametrize(("packets", "found"), [(17, []), (16, []), (15, ["queue-below-bdp"])])
def test_a_queue_of_nearly_the_product_is_as_good_as_the_product(packets: int, found: list[str]) -> None:
    # 25,000 bytes are 16.5 frames of 1514 bytes; 95 % of them are 15.7.
    assert codes(ROUTED.replace(", KEYS", "").replace("limit 100", f"limit {packets}")) == found


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, ["queue-bounded-by-tsq"]),
        ({"qdiscs: {client -> server: pfifo limit 1000}\n": ""}, ["queue-bounded-by-tsq"]),
        ({"pfifo limit 1000": "fq_codel"}, []),
        ({"duration": "tsq: off\nduration"}, []),
        ({"client, server], rate": "client, r], rate", "delay: 20ms}]": "delay: 20ms}, {ends: [r, server]}]",
          "-> server: pfifo": "-> r: pfifo"}, []),
    ],
)  # fmt: skip
def test_a_queue_that_small_queues_keep_short_on_a_path_of_one_link_is_explained(
    changes: dict[str, str], found: list[str]
) -> None:
    text = (
        "links: [{ends: [client, server], rate: 10mbit, delay: 20ms}]\n"
        "qdiscs: {client -> server: pfifo limit 1000}\n"
        "traffic: [{tcp: client -> server}]\nduration: 30s\nmeasure: {warmup: 5s}\n"
    )
    for old, new in changes.items():
        text = text.replace(old, new)
    assert codes(text) == found
    assert all(warning.severity == "info" for warning in lint(loads(text)))


def test_a_trace_shorter_than_the_run_is_reported(tmp_path: Path) -> None:
    (tmp_path / "short.trace").write_text("1\n10000\n")
    text = PATH.replace("rate: 10mbit", "trace: [short.trace, null]").replace(", KEYS", "")
    found = lint(loads(text, file=str(tmp_path / "x.yaml")))
    assert [(warning.code, warning.severity) for warning in found] == [("trace-repeats", "info")]
    assert "the trace router -> server lasts 10s and is played 3.0 times" in found[0].text


def test_the_traces_of_two_directions_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "up.trace").write_text("1\n10000\n")
    (tmp_path / "down.trace").write_text("1\n15000\n")
    (tmp_path / "long.trace").write_text("1\n40000\n")

    def texts(trace: str) -> list[str]:
        text = PATH.replace("rate: 10mbit", f"trace: {trace}").replace(", KEYS", "")
        return [warning.text for warning in lint(loads(text, file=str(tmp_path / "x.yaml")))]

    assert texts("[up.trace, down.trace]") == [
        "the trace router -> server lasts 10s and is played 3.0 times",
        "the trace server -> router lasts 15s and is played 2.0 times",
    ]
    assert texts("[long.trace, down.trace]") == ["the trace server -> router lasts 15s and is played 2.0 times"]
    assert texts("up.trace") == ["the trace lasts 10s and is played 3.0 times"]


RED = "red limit 1mb min 100kb max 300kb avpkt 1000b burst 200 bandwidth 100mbit adaptive"


def test_red_adapts_only_on_a_router_with_an_old_kernel() -> None:
    file = SOUND.replace("pfifo limit 1000", RED)
    (warning,) = lint(loads(file, registry=CoreRegistry(), file="fig.yaml"))
    assert str(warning.code) == "adaptive-without-effect"
    assert warning.remedy.endswith("`hosts: {client: {stack: linux-5.4}}`")
    old = file + "hosts: {client: {stack: linux-5.4}, router: , server: }\n"
    assert lint(loads(old, registry=CoreRegistry())) == []


@pytest.mark.parametrize("qdisc", ["cake bandwidth 10mbit", "tbf rate 10mbit burst 10kb latency 200ms"])
def test_a_queue_that_segments_large_skbs_makes_nobody_wait_for_them(qdisc: str) -> None:
    def codes(text: str) -> list[str]:
        return [warning.code for warning in lint(loads(text, registry=CoreRegistry()))]

    shaped = SOUND.replace("htb rate 100mbit burst 1600b | pfifo limit 1000", qdisc) + "offloads: on\n"
    assert "large-skbs" not in codes(shaped)
    whole = shaped.replace("10mbit", "10mbit no-split-gso") if "cake" in qdisc else shaped.replace("10kb", "100kb")
    assert "large-skbs" in codes(whole)


@pytest.mark.parametrize(
    ("entry", "measure", "warned"),
    [
        ("{tcp: client -> server, bytes: 4mb, start: 1s}", "{window: [5s, 20s]}", "which begins at 5s"),
        ("{tcp: client -> server, bytes: 4mb, start: 1s}", "{warmup: 5s}", "which begins at 6s"),
        (
            "{tcp: client -> server}, {tcp: client -> server, name: late, bytes: 4mb, start: 25s}",
            "{window: [5s, 20s]}",
            "which ends at 20s",
        ),
        ("{page: client -> server, start: 1s}", "{window: [5s, 20s]}", "which begins at 5s"),
        ("{tcp: client -> server, bytes: 4mb, start: 5s}", "{window: [5s, 20s]}", None),
        ("{tcp: client -> server, bytes: 4mb, start: 1s, jitter: 9s, flows: 4}", "{window: [5s, 20s]}", None),
        ("{page: client -> server, start: 1s, every: 5s}", "{window: [5s, 20s]}", None),
        ("{tcp: client -> server, size: 100kb, arrivals: poisson 3/s}", "{window: [5s, 20s]}", None),
        ("{tcp: client -> server}", "{window: [5s, 20s]}", None),
    ],
)
def test_what_ends_and_begins_outside_of_the_window_has_no_completion(
    entry: str, measure: str, warned: str | None
) -> None:
    links = SOUND.partition("traffic:")[0]
    text = f"{links}traffic: [{entry}]\nduration: 30s\nmeasure: {measure}\n"
    said = [found.text for found in lint(loads(text, registry=CoreRegistry())) if found.code == "completion-unmeasured"]
    assert [str(warned) in each for each in said] == ([True] if warned else [])

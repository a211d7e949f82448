"""A scenario is converted to commands of Linux's tools."""

from collections.abc import Callable
from typing import Any

import pytest

from tailback.backends.linux.radios import kbps
from tailback.backends.linux.small_queues import small_queue
from tailback.backends.uml.settings import boot_parameters, how_processes_run, job_of
from tailback.resolved import SmallQueue, of_json
from tailback.resolved.wifi import Mode

Make = Callable[..., dict[str, Any]]


def commands(job: dict[str, Any], host: int | None) -> list[str]:
    return [" ".join(step["argv"][0:]) for step in job["setup"] if step["kind"] == "run" and step["host"] == host]


def links(rate_bps: int | None, delay_ns: list[int]) -> list[dict[str, Any]]:
    plain = {"rate_bps": rate_bps, "delay_ns": delay_ns, "mtu": 1500, "ring": 256, "bql": False}
    return [{"ends": [0, 1], **plain}, {"ends": [1, 2], **plain}]


def test_a_delay_lies_on_the_host_that_receives(scenario: Make) -> None:
    job = job_of(of_json(scenario(qdiscs=[], links=links(None, [5_000_001, 0]))))
    assert [line for line in commands(job, 0) if "netem" in line] == []
    delays = [line for line in commands(job, 1) if "netem" in line]
    assert delays == ["/sbin/tc qdisc add dev i0 root netem limit 1000000 delay 5000.001us"]


def test_a_link_without_rate_and_delay_is_a_bare_veth(scenario: Make) -> None:
    job = job_of(of_json(scenario(qdiscs=[], links=links(None, [0, 0]))))
    assert [line for host in range(3) for line in commands(job, host) if line.startswith("/sbin/tc")] == []


def test_the_rate_of_a_link_is_a_hidden_shaper_above_the_discipline(scenario: Make) -> None:
    job = job_of(of_json(scenario(qdiscs=[], links=links(100_000_000, [0, 0]))))
    lines = [line for line in commands(job, 0) if line.startswith("/sbin/tc") and "dev l0" in line]
    assert lines[:3] == [
        "/sbin/tc qdisc add dev l0 root handle 1: htb default 1",
        "/sbin/tc class add dev l0 parent 1: classid 1:1 htb rate 100000000bit burst 1725 cburst 1725 quantum 1514 "
        "overhead 24 mpu 84",
        "/sbin/tc qdisc add dev l0 parent 1:1 handle 2: pfifo_fast",
    ]
    assert {device["hidden"] for device in job["devices"]} == {1}


def test_a_shaper_of_the_scenario_is_the_root_itself(scenario: Make) -> None:
    job = job_of(of_json(scenario(links=links(1_000_000_000, [0, 0]))))
    client = [line for line in commands(job, 0) if line.startswith("/sbin/tc") and "dev l0" in line]
    assert client[0] == "/sbin/tc qdisc add dev l0 root handle 1: htb default 1"
    assert "rate 10000000bit" in client[1]
    assert job["devices"][0]["hidden"] == 0
    assert any("netem" in line and "rate 1000000000bit" in line for line in commands(job, 1))


def test_hosts_that_are_not_neighbours_have_routes_both_ways(scenario: Make) -> None:
    job = job_of(of_json(scenario()))
    assert "/sbin/ip route add 10.0.1.0/24 via 10.0.0.2" in commands(job, 0)
    assert "/sbin/ip route add 10.0.0.0/24 via 10.0.1.1" in commands(job, 2)
    assert [flow["address"] for flow in job["traffic"] if flow["traffic"]["kind"] == "tcp"] == ["10.0.1.2", "10.0.1.2"]


def test_every_flow_has_a_port_of_its_own(scenario: Make) -> None:
    traffic = job_of(of_json(scenario()))["traffic"]
    assert [flow["port"] for flow in traffic if flow["traffic"]["kind"] == "tcp"] == [5001, 5002]


def test_ports_are_those_of_the_transport_and_code_points_are_in_the_job(scenario: Make) -> None:
    ends = {"from": 0, "to": 2, "start_ns": 0, "stop_ns": 10**9}
    echo = {"kind": "ping", "name": "echo", "interval_ns": 10**8, "size": 64, "protocol": "udp", "dscp": 8, **ends}
    udp = {"kind": "udp", "name": "udp", "rate_bps": 10**6, "size": 100, "sndbuf": None, "dscp": 46, **ends}
    traffic = job_of(of_json(scenario(traffic=[echo, *scenario()["traffic"], udp])))["traffic"]
    assert [(told["traffic"]["name"], told["port"], told["traffic"].get("dscp")) for told in traffic] == [
        ("echo", 5001, 8),
        ("upload.1", 5001, None),
        ("upload.2", 5002, None),
        ("ping", 5001, None),
        ("udp", 5002, 46),
    ]


def test_a_flow_over_ipv6_gives_every_host_addresses_and_routes_of_both_versions(scenario: Make) -> None:
    given = scenario()
    given["traffic"][0].update(ip=6)
    job = job_of(of_json(given))
    assert "/sbin/ip -6 address add fd00:1::2/64 dev l1" in commands(job, 2)
    assert "/sbin/ip -6 route add fd00:1::/64 via fd00:0::2" in commands(job, 0)
    assert "/sbin/ip route add 10.0.1.0/24 via 10.0.0.2" in commands(job, 0)
    neighbour = "/sbin/ip -6 neighbour replace fd00:0::2 lladdr 02:00:00:00:00:02 nud permanent dev l0"
    assert neighbour in commands(job, 0)
    assert [flow["address"] for flow in job["traffic"]] == ["fd00:1::2", "10.0.1.2", "10.0.1.2"]
    switched = [step for step in job["setup"] if step.get("path", "").startswith("/proc/sys/net/ipv6")]
    assert {step["host"] for step in switched} == {0, 1, 2}


def test_without_one_there_are_none(scenario: Make) -> None:
    job = job_of(of_json(scenario()))
    assert [step for step in job["setup"] if "-6" in step.get("argv", ()) or "ipv6" in step.get("path", "")] == []


def test_a_flag_is_a_word_or_its_opposite(scenario: Make) -> None:
    root = {"kind": "fq_codel", "options": {"ecn": 0, "target": 4_999_000, "limit": 100}, "child": None}
    job = job_of(of_json(scenario(qdiscs=[{"host": 0, "link": 0, "root": root}])))
    assert "/sbin/tc qdisc add dev l0 root handle 1: fq_codel noecn target 4999.000us limit 100" in commands(job, 0)


@pytest.mark.parametrize(
    ("tsq", "written"),
    [
        ({"kind": "time", "shift": 8}, {}),
        ({"kind": "off"}, {"shift": 0, "bytes": 1 << 40}),
        ({"kind": "bytes", "bytes": 65_536}, {"shift": 0, "bytes": 65_536}),
        ({"kind": "packets", "packets": 100}, {"packets": 100}),
    ],
)
def test_a_small_queue_is_the_shift_of_the_socket_or_the_check_of_the_kernel(
    tsq: dict[str, Any], written: dict[str, int]
) -> None:
    assert small_queue(SmallQueue(**tsq)) == written


def test_three_numbers_of_a_sysctl_are_written_as_one_line(scenario: Make) -> None:
    hosts = scenario()["hosts"]
    hosts[0]["sysctl"] = {"net.ipv4.tcp_wmem": [4096, 16384, 4194304]}
    steps = job_of(of_json(scenario(hosts=hosts)))["setup"]
    path = "/proc/sys/net/ipv4/tcp_wmem"
    assert [step["value"] for step in steps if step.get("path") == path] == ["4096 16384 4194304"]


def test_metrics_are_saved_between_connections_only_if_the_host_asks_for_it(scenario: Make) -> None:
    hosts = scenario()["hosts"]
    hosts[0]["sysctl"] = {"net.ipv4.tcp_no_metrics_save": 0}
    steps = job_of(of_json(scenario(hosts=hosts)))["setup"]
    path = "/proc/sys/net/ipv4/tcp_no_metrics_save"
    last = {step["host"]: step["value"] for step in steps if step.get("path") == path}
    assert last == dict.fromkeys(last, "1") | {0: "0"}
    assert len(last) == len(hosts)


def hosts(*offloads: str) -> list[dict[str, Any]]:
    return [{"name": f"h{n}", "stack": "linux-6.12", "sysctl": {}, "offloads": one} for n, one in enumerate(offloads)]


def cut(job: dict[str, Any]) -> list[tuple[int, str]]:
    return [(step["host"], step["device"]) for step in job["setup"] if step["kind"] == "segment"]


def test_without_offloads_every_device_takes_one_segment_at_a_time(scenario: Make) -> None:
    job = job_of(of_json(scenario(hosts=hosts("off", "off", "off"))))
    up = [line for host in range(3) for line in commands(job, host) if line.endswith(" up") and "set l" in line]
    assert [line for line in up if "gso_max_segs 1" not in line] == ["/sbin/ip link set lo up"] * 3
    assert cut(job) == []


def test_with_offloads_on_nothing_is_cut(scenario: Make) -> None:
    job = job_of(of_json(scenario(hosts=hosts("on", "on", "on"))))
    assert [line for host in range(3) for line in commands(job, host) if "gso" in line] == []
    assert cut(job) == []


def test_a_device_cuts_where_either_end_of_its_link_does_not_take_whole_skbs(scenario: Make) -> None:
    assert cut(job_of(of_json(scenario(hosts=hosts("gso", "gso", "gso"))))) == [
        (0, "l0"),
        (1, "l0"),
        (1, "l1"),
        (2, "l1"),
    ]
    # Without offloads, the device limit of the host segments.
    assert cut(job_of(of_json(scenario(hosts=hosts("on", "on", "off"))))) == [(1, "l1")]


PERCENT = (2**32 - 1) // 100


def behind(job: dict[str, Any], host: int, device: str) -> list[str]:
    """The netems of a link, on the receiving host."""
    start = f"/sbin/tc qdisc add dev {device} "
    return [line.removeprefix(start) for line in commands(job, host) if line.startswith(start)]


def test_what_a_link_does_to_packets_is_done_by_the_netem_behind_it(scenario: Make) -> None:
    near, far = links(None, [5_000_000, 0])
    near["netem"] = [{"loss": PERCENT, "loss_correlation": 25 * PERCENT, "duplicate": PERCENT}, {}]
    far["netem"] = [{}, {"loss_model": 2, "p": PERCENT, "r": 10 * PERCENT}]
    job = job_of(of_json(scenario(qdiscs=[], links=[near, far])))
    assert behind(job, 1, "i0") == [
        "root netem limit 1000000 delay 5000.000us loss random 0.999999978% 24.999999447% "
        "duplicate 0.999999978% 0.000000000%"
    ]
    assert behind(job, 1, "i1") == ["root netem limit 1000000 delay 0.000us loss gemodel 0.999999978% 9.999999779%"]


@pytest.mark.parametrize(("sender", "framing"), [("off", 24), ("gso", 0), ("on", 24)])
def test_behind_a_device_that_cuts_skbs_the_netem_is_no_slower_than_the_shaper_above_them(
    scenario: Make, sender: str, framing: int
) -> None:
    """HTB adds the bytes around a frame once for an skb of many segments. A netem that added them to each of its frames
    would take 1.6 % more time, and a queue that the simulator does not have would grow in it for the whole run.
    """
    near, far = links(30_000_000, [0, 0])
    near["schedule"] = [{"at_ns": 10**9, "end": 0, "rate_bps": 5_000_000}]
    job = job_of(of_json(scenario(qdiscs=[], links=[near, far], hosts=hosts(sender, sender, sender))))
    assert behind(job, 1, "i0") == [f"root netem limit 1000000 delay 0.000us rate 30000000bit {framing}"]
    changed = " ".join(job["changes"][0]["steps"][0]["argv"])
    assert f"rate 5000000bit {framing} " in changed


def test_jitter_comes_after_the_time_on_the_wire_and_keeps_the_order(scenario: Make) -> None:
    near, far = links(10_000_000, [5_000_000, 0])
    near["netem"] = [{"jitter": 2_000_000, "distribution": 1}, {}]
    far |= {"rate_bps": None, "netem": [{"jitter": 1_000_000}, {}]}
    job = job_of(of_json(scenario(qdiscs=[], links=[near, far])))
    jitter = "delay 5000.000us 2000.000us 0.000000000% distribution normal rate 10000000000000bit 24"
    assert behind(job, 1, "i0") == [
        "root handle 1: netem limit 1000000 rate 10000000bit 24",
        f"parent 1:1 handle 2: netem limit 1000000 {jitter}",
    ]
    assert "rate 10000000000000bit" in behind(job, 2, "i1")[0]


def test_a_corrupted_packet_is_lost_whatever_else_the_link_loses(scenario: Make) -> None:
    near, far = links(None, [5_000_000, 0])
    near["netem"] = [{"corrupt": PERCENT, "corrupt_correlation": 25 * PERCENT}, {}]
    far["netem"] = [{"corrupt": PERCENT, "loss": 2 * PERCENT, "ecn": 1}, {}]
    job = job_of(of_json(scenario(qdiscs=[], links=[near, far])))
    assert behind(job, 1, "i0") == ["root netem limit 1000000 delay 5000.000us loss random 0.999999978% 24.999999447%"]
    assert behind(job, 2, "i1") == [
        "root handle 1: netem limit 1000000 loss random 0.999999978%",
        "parent 1:1 handle 2: netem limit 1000000 delay 5000.000us loss random 1.999999956% ecn",
    ]


def test_reordering_comes_after_the_time_on_the_wire(scenario: Make) -> None:
    near, far = links(10_000_000, [5_000_000, 0])
    near["netem"] = [{"reorder": 5 * PERCENT}, {}]
    job = job_of(of_json(scenario(qdiscs=[], links=[near, far])))
    assert behind(job, 1, "i0") == [
        "root handle 1: netem limit 1000000 rate 10000000bit 24",
        "parent 1:1 handle 2: netem limit 1000000 delay 5000.000us reorder 4.999999889% 0.000000000%",
    ]


def test_each_direction_has_the_rate_of_its_end(scenario: Make) -> None:
    near, far = links(None, [0, 0])
    near["rate_bps"] = [10_000_000, None]
    job = job_of(of_json(scenario(qdiscs=[], links=[near, far])))
    assert any("htb rate 10000000bit" in line for line in commands(job, 0))
    assert not any("htb" in line for line in commands(job, 1))
    assert [device["hidden"] for device in job["devices"]] == [1, 0, 0, 0]


def test_a_schedule_changes_the_netem_and_the_shaper_of_the_link(scenario: Make) -> None:
    near, far = links(10_000_000, [5_000_000, 0])
    near["schedule"] = [
        {"at_ns": 3 * 10**9, "end": 0, "rate_bps": 5_000_000},
        {"at_ns": 4 * 10**9, "end": 0, "up": False},
    ]
    far["schedule"] = [{"at_ns": 10**9, "end": 1, "delay_ns": 1_000_000}]
    changes = job_of(of_json(scenario(qdiscs=[], links=[near, far])))["changes"]
    assert [change["at_ns"] for change in changes] == [10**9, 3 * 10**9, 4 * 10**9]
    slower, down = ([" ".join(step["argv"]) for step in change["steps"]] for change in changes[1:])
    nothing = "duplicate 0.000000000% 0.000000000%"
    netem = "/sbin/tc qdisc change dev i0 root netem limit 1000000 delay 5000.000us rate 5000000bit 24"
    assert slower == [
        f"{netem} {nothing}",
        "/sbin/tc class change dev l0 parent 1: classid 1:1 htb rate 5000000bit burst 1606 cburst 1606 quantum 1514 "
        "overhead 24 mpu 84",
    ]
    assert down == [f"{netem} loss 100% {nothing}"]


def test_in_a_loop_every_address_has_its_own_route(scenario: Make) -> None:
    near, far = links(None, [0, 0])
    around = near | {"ends": [0, 2]}
    routes = [{"host": 0, "to": 2, "link": 0}]
    job = job_of(of_json(scenario(qdiscs=[], links=[near, far, around], routes=routes)))
    to_server = [line for line in commands(job, 0) if "route add 10.0.2.2/32" in line or "10.0.1.2/32" in line]
    assert to_server == [f"/sbin/ip route add {address}/32 via 10.0.0.2 dev l0" for address in ("10.0.1.2", "10.0.2.2")]


def test_a_cell_is_a_radio_in_each_namespace_and_one_association(scenario: Make) -> None:
    driver = {"name": "ath9k", "options": {}}
    mode = {"format": "ht", "width": 40, "streams": 2, "mcs": 7, "guard_ns": 400}
    station = {"host": 0, "mode": mode, "rate": "fixed", "loss_ppm": 0, "driver": driver}
    cell = {
        "access_point": 1, "stations": [station], "band": "5GHz", "rts": False, "mpdu_overhead": 38, "driver": driver,
    }  # fmt: skip
    job = job_of(of_json(scenario(qdiscs=[], links=links(None, [0, 0])[1:], cells=[cell])))
    made = [(step["host"], step["value"]) for step in job["setup"] if step.get("path", "").endswith("/radio")]
    words = "10 15 40 1 300000 1 0 2 0 0 1 0"
    assert made == [(1, f"02:00:01:00:00:00 {words}"), (0, f"02:00:01:00:00:01 {words}")]
    (associated,) = (step["cell"] for step in job["setup"] if step["kind"] == "associate")
    assert associated["access_point"] == {"host": 1, "device": "w0", "address": "02:00:01:00:00:00"}
    assert (associated["standard"], associated["width"]) == ("802.11n", 40)
    # The link between a station and its access point is numbered after the wired ones.
    assert "/sbin/ip address add 10.0.1.2/24 dev w0" in commands(job, 0)
    assert "/sbin/ip route add 10.0.0.2/32 via 10.0.1.1 dev w0" in commands(job, 0)
    assert job["air"] == "/sys/module/tailback_wifi/parameters/zero"


def of_driver(make: Make, driver: str, mode: dict[str, Any], offloads: str = "off") -> Any:
    """The job of a scenario in which the client is the only station of the router."""
    profile = {"name": driver, "options": {}}
    station = {"host": 0, "mode": mode, "rate": "fixed", "loss_ppm": 0, "driver": profile}
    cell = {
        "access_point": 1, "stations": [station], "band": "5GHz", "rts": False, "mpdu_overhead": 38, "driver": profile,
    }  # fmt: skip
    given = make(qdiscs=[], links=links(None, [0, 0])[1:], cells=[cell])
    for host in given["hosts"]:
        host["offloads"] = offloads
    return job_of(of_json(given))


@pytest.mark.parametrize(
    ("driver", "standard", "width", "associates_as", "vht"),
    [
        ("ath9k", "ht", 40, "802.11n", "0"),
        ("mt76", "ht", 40, "802.11n", "1"),
        ("generic", "vht", 20, "802.11ac", "1"),
        ("mt76", "he", 160, "802.11ac", "1"),
    ],
)
def test_a_radio_announces_the_standard_of_its_card_and_associates_by_that_of_its_cell(
    driver: str, standard: str, width: int, associates_as: str, vht: str, scenario: Make
) -> None:
    mode = {"format": standard, "width": width, "streams": 2, "mcs": 7, "guard_ns": 800}
    job = of_driver(scenario, driver, mode)
    made = [step["value"].split() for step in job["setup"] if step.get("path", "").endswith("/radio")]
    assert [words[-1] for words in made] == [vht] * 2
    (associated,) = (step["cell"] for step in job["setup"] if step["kind"] == "associate")
    assert (associated["standard"], associated["width"]) == (associates_as, width)


@pytest.mark.parametrize(("offloads", "ends"), [("off", [1, 2]), ("gso", [1, 2]), ("on", [])])
def test_single_segments_come_to_a_host_with_a_radio_in_one_piece_as_from_a_nic(
    offloads: str, ends: list[int], scenario: Make
) -> None:
    mode = {"format": "ht", "width": 40, "streams": 2, "mcs": 7, "guard_ns": 800}
    setup = of_driver(scenario, "ath9k", mode, offloads)["setup"]
    assert [step["host"] for step in setup if step["kind"] == "linearize"] == ends
    wired = job_of(of_json(scenario()))["setup"]
    assert [step for step in wired if step["kind"] == "linearize"] == []


def test_an_access_point_leaves_rates_to_mac80211_if_one_of_its_stations_has_rate_control(scenario: Make) -> None:
    driver = {"name": "ath9k", "options": {}}
    fast = {"format": "ht", "width": 40, "streams": 2, "mcs": 7, "guard_ns": 400}
    slow = {"format": "ht", "width": 20, "streams": 1, "mcs": 0, "guard_ns": 800}
    stations = [
        {"host": host, "mode": mode, "rate": rate, "loss_ppm": 0, "driver": driver}
        for host, mode, rate in ((0, slow, "fixed"), (2, fast, "minstrel"))
    ]
    cell = {
        "access_point": 1, "stations": stations, "band": "5GHz", "rts": False, "mpdu_overhead": 38, "driver": driver,
    }  # fmt: skip
    job = job_of(of_json(scenario(qdiscs=[], links=[], cells=[cell])))
    made = [step["value"].split() for step in job["setup"] if step.get("path", "").endswith("/radio")]
    # Width, short guard interval; streams, modes vary, mac80211 chooses.
    assert [words[3:5] + words[8:11] for words in made] == [
        ["40", "1", "2", "1", "1"],
        ["20", "0", "1", "0", "0"],
        ["40", "1", "2", "1", "1"],
    ]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (("ht", 40, 2, 7, 400), 300_000),
        (("ht", 20, 1, 0, 800), 6_500),
        (("vht", 80, 2, 9, 400), 866_667),
        (("he", 160, 1, 11, 800), 1_200_980),
    ],
)
def test_the_bit_rate_of_a_mode_is_that_of_the_standard(mode: tuple[str, int, int, int, int], expected: int) -> None:
    standard, width, streams, mcs, guard_ns = mode
    found = kbps(Mode(format=standard, width=width, streams=streams, mcs=mcs, guard_ns=guard_ns))
    assert found == pytest.approx(expected, abs=1)


def test_options_of_controls_are_parameters_at_boot_because_a_running_kernel_refuses_some(scenario: Make) -> None:
    plain = scenario()
    for entry in plain["traffic"][:2]:
        entry["cc"] = {"name": "cubic", "options": {"bic_scale": 400, "beta": 512}}
    asked = of_json(plain)
    assert boot_parameters(asked) == ["tcp_cubic.bic_scale=400", "tcp_cubic.beta=512"]
    assert not any("tcp_cubic" in str(step) for step in job_of(asked)["setup"])


@pytest.mark.parametrize(("version", "words"), [("6.12.117", []), ("5.10.262", []), ("6.16.1", ["seccomp=auto"]),
                                                ("7.3.4", ["seccomp=auto"])])  # fmt: skip
def test_a_guest_catches_system_calls_by_seccomp_where_its_kernel_can(version: str, words: list[str]) -> None:
    assert how_processes_run(version) == words

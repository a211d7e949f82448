"""An import of captures measures the traffic that is meant, over its time, and says what it left out and why."""

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback
from command import in_process
from frames_of import ACK, FIN, PSH, SYN, Connection, Timed, ip_packet, ping, write, write_ng
from tailback.analysis import acks, passive
from tailback.analysis.conversations import conversations
from tailback.formats import NotReadable, choice_of, import_captures
from tailback.formats.pcap import Captured, packets
from tailback.formats.pcap.tap import Tap

SEGMENT = 1448


def imported(files: Path | Sequence[Path], folder: Path, **choice: Any) -> tuple[Captured, Any]:
    chosen = choice_of(choice.get("flows", ()), choice.get("ports", ()), choice.get("window"))
    found = import_captures([files] if isinstance(files, Path) else files, folder / "out", {}, chosen)
    return found, tailback.open(folder / "out").runs[0]


def taken(found: Captured) -> list[str]:
    return [row.flow for row in found.rows if not row.reason]


def why(found: Captured) -> dict[str, str]:
    return {row.flow: row.reason for row in found.rows if row.reason}


def iperf3(*, ttls: tuple[int, int] = (64, 63)) -> list[Timed]:
    """Three idle seconds, iperf3 for two, three idle seconds, with a ping beside it."""
    control, data = Connection(ports=(40000, 5201), ttls=ttls), Connection(ports=(40002, 5201), ttls=ttls)
    for connection, at in ((control, 3000.0), (data, 3010.0)):
        connection.handshake(at, 20)
        connection.there(at + 20.1, 1, 37, flags=ACK | PSH)
        connection.back(at + 40.1, 38)
    control.there(3050, 38, 200)
    control.back(3070, 238)
    data.bulk(3100, 20, segments=1901, first=38)
    control.there(5100, 238, 300)
    control.back(5120, 538)
    pings = [ping(100.0 * number, number, ttl=ttls[0]) for number in range(80)]
    pings += [ping(100.0 * number + 30, number, back=True, ttl=ttls[1]) for number in range(80)]
    return [*control.rows, *data.rows, *pings]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write(tmp_path / "iperf3.pcap", iperf3())


def test_idle_time_and_the_control_connection_do_not_count(capture: Path, tmp_path: Path) -> None:
    found, run = imported(capture, tmp_path)
    assert taken(found) == ["10.0.0.1:40002 > 10.0.1.1:5201"]
    assert why(found)["10.0.0.1:40000 > 10.0.1.1:5201"] == "iperf3's control connection"
    # From the first data, the cookie, to the last ACK.
    assert found.window_s == pytest.approx((3.0301, 5.020), abs=1e-3)
    assert "bulk" in found.window_is
    data = 1901 * SEGMENT + 37
    assert run.summary["goodput_mbps"]["total"] == pytest.approx(data * 8 / 1.99 / 1e6, rel=0.01)
    assert run.summary["goodput_mbps"]["up"] == run.summary["goodput_mbps"]["total"]
    # Jain's index of a single flow is none.
    assert "jain" not in run.summary
    assert run.summary["capture"]["flows_left_out"]["iperf3's control connection"] == 1
    assert run.summary["capture"]["window_s"] == pytest.approx(found.window_s)


def test_flows_are_chosen_by_name_end_pattern_and_port(capture: Path, tmp_path: Path) -> None:
    control, data = "10.0.0.1:40000 > 10.0.1.1:5201", "10.0.0.1:40002 > 10.0.1.1:5201"
    for place, (word, expected) in enumerate((
        (control, [control]), ("10.0.0.1:40000", [control]), ("10.0.1.1", [data, control]),
        ("*:4000? > *", [data, control]),
    )):  # fmt: skip
        (tmp_path / str(place)).mkdir()
        found, _ = imported(capture, tmp_path / str(place), flows=[word])
        assert taken(found) == expected
        assert set(why(found).values()) <= {"not named by --flow", "no data"}
    (tmp_path / "port").mkdir()
    found, _ = imported(capture, tmp_path / "port", ports=[5201])
    assert taken(found) == [data]
    for choice in ({"flows": ["10.9.9.9"]}, {"ports": [99]}):
        with pytest.raises(NotReadable, match=r"no flow with data is .*\n  hint: the largest are 10\.0\.0\.1:40002 > "):
            imported(capture, tmp_path / "none", **choice)


def test_a_window_is_in_time_of_the_capture(capture: Path, tmp_path: Path) -> None:
    found, run = imported(capture, tmp_path, window="3.5s:4.5s")
    assert found.window_s == (3.5, 4.5)
    assert run.summary["goodput_mbps"]["total"] == pytest.approx(SEGMENT * 8 / 1000, rel=0.01)
    assert run.summary["ping_ms"]["n"] == 10
    for text in ("3s", "5s:4s", "3:4", "a:b", "20s:30s"):
        with pytest.raises(NotReadable, match=r"\n  hint: "):
            imported(capture, tmp_path / text.replace(":", "-"), window=text)


@pytest.mark.parametrize(
    ("port", "payload", "reason"),
    [(22, 4000, "SSH"), (12865, 4000, "netperf's control connection"), (9999, 4000, "less than 10 kB")],
)
def test_small_connections_beside_large_ones_are_left_out(port: int, payload: int, reason: str, tmp_path: Path) -> None:
    small, large, idle = (Connection(ports=ports) for ports in ((1025, port), (1026, 80), (1027, 81)))
    idle.handshake(0, 20)
    small.there(5, 1, payload)
    small.back(25, 1 + payload)
    large.bulk(1000, 20)
    found, _ = imported(write(tmp_path / "x.pcap", [*small.rows, *large.rows, *idle.rows]), tmp_path)
    assert taken(found) == ["10.0.0.1:1026 > 10.0.1.1:80"]
    assert why(found)[f"10.0.0.1:1025 > 10.0.1.1:{port}"].startswith(reason)
    assert why(found)["10.0.0.1:1027 > 10.0.1.1:81"] == "no data"


def test_small_flows_among_their_like_count(tmp_path: Path) -> None:
    mice = [Connection(ports=(port, 80)) for port in range(2000, 2020)]
    for place, mouse in enumerate(mice):
        mouse.bulk(place * 100.0, 20, segments=3)
    found, run = imported(write(tmp_path / "x.pcap", [row for mouse in mice for row in mouse.rows]), tmp_path)
    assert len(taken(found)) == 20
    assert len(run.summary["goodput_mbps"]["flows"]) == 20


@pytest.mark.parametrize(
    ("ttls", "tap"),
    [
        ((64, 63), Tap.SENDER), ((64, 250), Tap.SENDER), ((62, 64), Tap.RECEIVER), ((63, 60), Tap.MIDDLE),
        ((127, 128), Tap.RECEIVER),
    ],
)  # fmt: skip
def test_the_place_of_the_capture_is_told_by_the_ttl(ttls: tuple[int, int], tap: Tap, tmp_path: Path) -> None:
    found, run = imported(write(tmp_path / "x.pcap", iperf3(ttls=ttls)), tmp_path)
    assert found.rows[0].tap is tap
    assert run.summary["capture"]["place"] == {str(tap): 1}
    seen_here = tap is Tap.SENDER
    assert ("tcp_rtt_ms" in run.summary, "retransmits" in run.summary, "ping_ms" in run.summary) == (seen_here,) * 3
    told = "\n".join(found.notes)
    if seen_here:
        assert run.summary["tcp_rtt_ms"]["p50"] == pytest.approx(20, abs=0.1)
        assert run.summary["ping_ms"]["p50"] == pytest.approx(30)
    else:
        assert "the RTT and the retransmissions are absent" in told
        assert "the ping 10.0.0.1 > 10.0.1.1 is left out" in told


@pytest.mark.parametrize(
    ("beyond_ms", "behind_ms", "tap"), [(20, 0.01, Tap.SENDER), (0.01, 20, Tap.RECEIVER), (10, 10, Tap.MIDDLE)]
)
def test_without_routers_the_times_tell_the_place(beyond_ms: float, behind_ms: float, tap: Tap, tmp_path: Path) -> None:
    flow = Connection(ttls=(64, 64), stamps=False)
    flow.there(0, 0, flags=SYN)
    flow.back(beyond_ms, 1, flags=SYN | ACK)
    flow.there(beyond_ms + behind_ms, 1)
    flow.bulk(100, beyond_ms)
    found, _ = imported(write(tmp_path / "x.pcap", flow.rows), tmp_path)
    assert found.rows[0].tap is tap
    assert "ms" in found.rows[0].ground


def test_a_capture_before_a_slow_sender_is_not_at_the_sender(tmp_path: Path) -> None:
    """On the sender's own network, behind its radio: the TTL is whole, but data answers ACKs late."""
    flow = Connection()
    for place in range(100):
        at = place * 30.0
        flow.there(at + 25, 1 + place * SEGMENT, SEGMENT, echo=max(1, int(at)))
        flow.back(at + 30, 1 + (place + 1) * SEGMENT, stamp=int(at + 30))
    found, run = imported(write(tmp_path / "x.pcap", flow.rows), tmp_path)
    assert found.rows[0].tap is Tap.MIDDLE
    assert "tcp_rtt_ms" not in run.summary


def trips_of(rows: list[Timed], path: Path) -> list[float]:
    own = conversations(packets(write(path, rows)).table)
    samples = acks.round_trips(own)
    return sorted((samples.values[samples.directions == 0] / 1e6).tolist())


def test_a_segment_that_was_sent_again_has_no_sample_without_time_stamps(tmp_path: Path) -> None:
    flow = Connection(stamps=False)
    flow.there(0, 1, SEGMENT)
    flow.back(20, 1 + SEGMENT)
    flow.there(30, 1 + SEGMENT, SEGMENT)
    flow.there(40, 1 + 2 * SEGMENT, SEGMENT)
    flow.there(300, 1 + SEGMENT, SEGMENT)
    flow.back(320, 1 + 3 * SEGMENT)
    assert trips_of(flow.rows, tmp_path / "x.pcap") == [20]


@pytest.mark.parametrize(("echo", "expected"), [(301, [20, 20]), (31, [20, 290]), (77, [20])])
def test_the_time_stamp_tells_which_transmission_an_ack_answers(echo: int, expected: list[int], tmp_path: Path) -> None:
    flow = Connection()
    flow.there(0, 1, SEGMENT, stamp=1)
    flow.back(20, 1 + SEGMENT, echo=1)
    flow.there(30, 1 + SEGMENT, SEGMENT, stamp=31)
    flow.there(300, 1 + SEGMENT, SEGMENT, stamp=301)
    flow.back(320, 1 + 2 * SEGMENT, echo=echo)
    assert trips_of(flow.rows, tmp_path / "x.pcap") == expected


def test_a_delayed_ack_counts_from_the_older_segment(tmp_path: Path) -> None:
    flow = Connection()
    flow.there(0, 1, SEGMENT)
    flow.there(12, 1 + SEGMENT, SEGMENT)
    flow.back(32, 1 + 2 * SEGMENT)
    assert trips_of(flow.rows, tmp_path / "x.pcap") == [32]


@pytest.mark.parametrize("isn", [1, 2**32 - 50_000, 2**31 - 20_000])
def test_numbers_that_wrap_give_the_same_results(isn: int, tmp_path: Path) -> None:
    flow = Connection(isn=isn)
    flow.handshake(0, 20)
    flow.bulk(100, 20)
    flow.there(250, 1 + 99 * SEGMENT, SEGMENT)
    _, run = imported(write(tmp_path / "x.pcap", flow.rows), tmp_path)
    assert run.flows["bytes"].sum() == 100 * SEGMENT
    assert run.tcp_info["total_retrans"].max() <= 1
    assert run.summary["tcp_rtt_ms"]["p50"] == pytest.approx(20, abs=0.1)


def test_a_capture_that_begins_late_counts_from_there(tmp_path: Path) -> None:
    flow = Connection(isn=4_000_000_000)
    flow.bulk(0, 20, first=700_000_001)
    found, run = imported(write(tmp_path / "x.pcap", flow.rows), tmp_path)
    # The first ACK is the base: what was sent before it is not known.
    assert run.flows["bytes"].sum() == 99 * SEGMENT
    assert any("no SYN" in note for note in found.notes)
    assert run.summary["tcp_rtt_ms"]["p50"] == pytest.approx(20, abs=0.1)


def test_super_segments_count_as_the_segments_they_are_cut_into(tmp_path: Path) -> None:
    flow = Connection()
    flow.handshake(0, 20)
    whole = 40 * SEGMENT
    for place in range(20):
        flow.there(100 + place, 1 + place * whole, whole)
        # The receiver acknowledges parts of it.
        flow.back(120 + place, 1 + place * whole + whole // 2)
        flow.back(120.5 + place, 1 + (place + 1) * whole)
    flow.there(200, 1 + 19 * whole, 10 * SEGMENT)
    found, run = imported(write(tmp_path / "x.pcap", flow.rows), tmp_path)
    assert found.rows[0].seen_again == 10
    assert run.flows["bytes"].sum() == 20 * whole
    # The last ACK of a super-segment covers it.
    assert trips_of(flow.rows, tmp_path / "y.pcap") == [20, *[20.5] * 20]


def test_connections_between_the_same_ports_are_told_apart(tmp_path: Path) -> None:
    rows = []
    for place, isn in enumerate((1000, 4_000_000_000, 77)):
        flow = Connection(isn=isn)
        flow.handshake(place * 1000.0, 20)
        flow.bulk(place * 1000.0 + 50, 20)
        flow.there(place * 1000.0 + 300, 1 + 100 * SEGMENT, flags=FIN | ACK)
        rows += flow.rows
    found, run = imported(write(tmp_path / "x.pcap", rows), tmp_path)
    name = "10.0.0.1:40000 > 10.0.1.1:5201"
    assert sorted(taken(found)) == [name, f"{name} (2)", f"{name} (3)"]
    assert run.flows.groupby("flow")["bytes"].sum().tolist() == [100 * SEGMENT] * 3
    assert all(row.seen_again == 0 for row in found.rows)


def test_data_without_its_acks_counts_as_it_passed(tmp_path: Path) -> None:
    flow = Connection()
    flow.bulk(0, 20)
    alone = [row for place, row in enumerate(flow.rows) if place % 2 == 0]
    found, run = imported(write(tmp_path / "x.pcap", alone), tmp_path)
    assert run.flows["bytes"].sum() == 100 * SEGMENT
    assert any("no ACKs in the capture" in note for note in found.notes)
    assert found.rows[0].tap is Tap.UNKNOWN or "tcp_rtt_ms" not in run.summary


def cooked(rows: list[Timed], *, sent: bool | None = None) -> list[Timed]:
    """Linux cooked, version 1; by default the host sends what has its whole TTL."""
    kinds = [4 if (data[14 + 8] == 64 if sent is None else sent) else 0 for _, data, _ in rows]
    heads = [struct.pack(">HHH8s", kind, 1, 6, b"\0" * 8) for kind in kinds]
    return [(t, head + data[12:], n + 2) for head, (t, data, n) in zip(heads, rows, strict=True)]


def cooked_2(rows: list[Timed], interface: int = 2) -> list[Timed]:
    head = struct.pack(">HIHBB8s", 0, interface, 1, 0, 6, b"\0" * 8)
    return [(t, data[12:14] + head + data[14:], n + 6) for t, data, n in rows]


def inserted(words: bytes) -> Callable[[list[Timed]], list[Timed]]:
    return lambda rows: [(t, data[:12] + words + data[12:], n + len(words)) for t, data, n in rows]


def pppoe(rows: list[Timed]) -> list[Timed]:
    head = b"\x88\x64\x11\x00\x00\x01\x00\x00\x00\x21"
    return [(t, data[:12] + head + data[14:], n + 8) for t, data, n in rows]


def six_to(kind: int, extension: bytes) -> Callable[[list[Timed]], list[Timed]]:
    """With an extension header."""

    def changed(rows: list[Timed]) -> list[Timed]:
        found = []
        for t, data, n in rows:
            length = struct.unpack_from(">H", data, 18)[0] + len(extension)
            head = data[:18] + struct.pack(">HB", length, kind) + data[21:54]
            found.append((t, head + bytes([data[20]]) + extension[1:] + data[54:], n + len(extension)))
        return found

    return changed


ENCAPSULATIONS: dict[str, tuple[int, Callable[[list[Timed]], list[Timed]]]] = {
    "ethernet": (1, lambda rows: rows),
    "vlan": (1, inserted(b"\x81\x00\x00\x05")),
    "vlan in vlan": (1, inserted(b"\x88\xa8\x00\x05\x81\x00\x00\x06")),
    "pppoe": (1, pppoe),
    "raw": (101, lambda rows: [(t, data[14:], n - 14) for t, data, n in rows]),
    "raw ipv4": (228, lambda rows: [(t, data[14:], n - 14) for t, data, n in rows]),
    "loopback": (0, lambda rows: [(t, b"\x02\0\0\0" + data[14:], n - 10) for t, data, n in rows]),
    "cooked": (113, cooked),
    "cooked 2": (276, cooked_2),
    "cooked 2 with vlan": (276, lambda rows: [
        (t, b"\x81\x00" + data[2:20] + b"\x00\x05\x08\x00" + data[20:], n + 4) for t, data, n in cooked_2(rows)
    ]),
}  # fmt: skip


def a_flow(ends: tuple[str, str] = ("10.0.0.1", "10.0.1.1")) -> list[Timed]:
    flow = Connection(ends=ends)
    flow.handshake(0, 20)
    flow.bulk(100, 20)
    return flow.rows


@pytest.mark.parametrize("kind", ENCAPSULATIONS)
@pytest.mark.parametrize("snap", [262144, 96])
def test_each_kind_of_frame_gives_the_same(kind: str, snap: int, tmp_path: Path) -> None:
    link_type, wrapped = ENCAPSULATIONS[kind]
    _, run = imported(write(tmp_path / "x.pcap", wrapped(a_flow()), link_type=link_type, snap=snap), tmp_path)
    assert run.flows["bytes"].sum() == 100 * SEGMENT
    assert run.summary["tcp_rtt_ms"]["p50"] == pytest.approx(20, abs=0.1)
    assert run.summary["retransmits"] == 0


HOP_BY_HOP = b"\x00\x00" + b"\x01\x04\0\0\0\0"
SIX = ("fd00::1", "fd00:1::1")


@pytest.mark.parametrize("changed", [lambda rows: rows, six_to(0, HOP_BY_HOP), six_to(60, HOP_BY_HOP)])
def test_ipv6_gives_the_same(changed: Callable[[list[Timed]], list[Timed]], tmp_path: Path) -> None:
    pings = [ping(10.0 * n, n, ends=SIX) for n in range(40)] + [
        ping(10.0 * n + 25, n, back=True, ends=SIX, ttl=63) for n in range(40)
    ]
    _, run = imported(write(tmp_path / "x.pcap", [*changed(a_flow(SIX)), *pings]), tmp_path)
    assert run.flows["flow"].unique().tolist() == ["[fd00::1]:40000 > [fd00:1::1]:5201"]
    assert run.flows["bytes"].sum() == 100 * SEGMENT
    assert run.summary["tcp_rtt_ms"]["p50"] == pytest.approx(20, abs=0.1)
    assert run.summary["ping_ms"]["p50"] == pytest.approx(25)
    (tmp_path / "named").mkdir()
    found, _ = imported(tmp_path / "x.pcap", tmp_path / "named", flows=["fd00::1"])
    assert taken(found) == ["[fd00::1]:40000 > [fd00:1::1]:5201"]


def later(rows: list[Timed], us: int) -> list[Timed]:
    """The same packets on the next interface, with one hop less to live."""
    return [(t + us * 1000, data[:22] + bytes([data[22] - 1]) + data[23:], n) for t, data, n in rows]


def test_a_packet_on_two_interfaces_counts_once(tmp_path: Path) -> None:
    rows = iperf3()
    out = later(rows, 40)
    files = [
        write_ng(tmp_path / "ng.pcapng", 2, [*((0, row) for row in rows), *((1, row) for row in out)]),
        write(tmp_path / "v2.pcap", [*cooked_2(rows, 2), *cooked_2(out, 3)], link_type=276),
        write(tmp_path / "v1.pcap", [*cooked(rows, sent=False), *cooked(out, sent=True)], link_type=113),
    ]
    for file in files:
        (tmp_path / file.stem).mkdir()
        found, run = imported(file, tmp_path / file.stem)
        assert run.flows["bytes"].sum() == 1901 * SEGMENT + 37, file
        assert found.rows[0].seen_again == 0
        assert found.rows[0].tap is Tap.MIDDLE
        assert "ping_ms" not in run.summary
        assert any("several interfaces" in note for note in found.notes)


def test_data_and_acks_on_different_interfaces_are_one_connection(tmp_path: Path) -> None:
    rows = a_flow()
    sides = [(0 if data[14 + 8] == 64 else 1, (t, data, n)) for t, data, n in rows]
    _, run = imported(write_ng(tmp_path / "x.pcapng", 2, sides), tmp_path)
    assert run.flows["bytes"].sum() == 100 * SEGMENT
    assert run.summary["tcp_rtt_ms"]["p50"] == pytest.approx(20, abs=0.1)


def datagrams(count: int, size: int = 1200) -> list[Timed]:
    rows = []
    for place in range(count):
        header = struct.pack(">HHHH", 5000, 6000, 8 + size, 0)
        packet = ip_packet(17, ("10.0.0.1", "10.0.1.1"), header, length=8 + size)
        rows.append((place * 1_000_000, b"\0" * 12 + b"\x08\x00" + packet, 14 + 28 + size))
    return rows


def test_udp_counts_as_it_passed_and_that_is_said(tmp_path: Path) -> None:
    found, run = imported(write(tmp_path / "x.pcap", datagrams(1001)), tmp_path)
    assert taken(found) == ["10.0.0.1:5000 > 10.0.1.1:6000"]
    assert run.summary["goodput_mbps"]["total"] == pytest.approx(1200 * 8 / 1000, rel=0.01)
    assert any("what passed the capture" in note for note in found.notes)


def test_two_captures_with_different_clocks_say_so(tmp_path: Path) -> None:
    here = a_flow()
    there = []
    for t, data, n in here:
        out = data[14 + 8] == 64
        there.append((t + (8 if out else -12) * 1_000_000 + 500_000_000, data, n))
    first, second = (write(tmp_path / name, rows) for name, rows in (("a.pcap", here), ("b.pcap", there)))
    found, run = imported([first, second], tmp_path)
    assert any("the clocks differ" in note for note in found.notes)
    assert run.summary["passive_rtt_ms"]["p50"] == pytest.approx(20, abs=0.2)


def test_the_command_prints_what_it_found_and_its_json_has_all_of_it(capture: Path, tmp_path: Path) -> None:
    done = in_process("import", "pcap", str(capture), "--out", str(tmp_path / "a"))
    assert "taken" in done.stdout
    assert "iperf3's control connection" in " ".join(done.stdout.split())
    assert "window: 3.030 s to 5.020 s" in done.stderr
    done = in_process("import", "pcap", str(capture), "--out", str(tmp_path / "b"), "--json", "--port", "5201")
    document = json.loads(done.stdout)
    assert [row["flow"] for row in document["flows"] if row["taken"]] == ["10.0.0.1:40002 > 10.0.1.1:5201"]
    assert document["flows"][0]["place"] == "at the sender"
    assert document["notes"] == tailback.open(tmp_path / "b").runs[0].summary["capture"]["notes"]
    said = [
        each["text"] for each in tailback.open(tmp_path / "b").runs[0].summary["warnings"] if each["code"] == "capture"
    ]
    assert said == ["; ".join(document["notes"])]
    done = in_process("import", "teacup", str(capture), "--port", "5201", status=2)
    assert "--port is an option of `import pcap`" in done.stderr


def test_an_import_is_drawn_beside_a_simulation_with_what_both_have(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        "links: [{ends: [client, server], rate: 10mbit, delay: 10ms}]\n"
        "traffic: [{tcp: client -> server, stop: 2s}, {ping: client -> server}]\nduration: 3s\n"
    )
    simulated = tailback.run(tmp_path / "x.yaml", out=tmp_path / "sim")
    _, _ = imported(capture, tmp_path)
    beside = ("--with", str(tmp_path / "out"), "-o", str(tmp_path / "x.svg"))
    in_process("plot", str(simulated.path), "-p", "timeseries", *beside)
    drawn = np.genfromtxt(tmp_path / "x.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    assert set(map(tuple, drawn[["results", "panel"]].tolist())) == {
        ("sim", "RTT"), ("out", "RTT"), ("sim", "Goodput"), ("out", "Goodput"),
    }  # fmt: skip


def test_retransmissions_of_many_connections_are_those_of_each(tmp_path: Path) -> None:
    """All connections are computed at once, with other numbers for each."""
    rng = np.random.default_rng(3)
    rows, expected = [], {}
    for place in range(60):
        flow = Connection(ports=(1000 + place, 80), isn=int(rng.integers(0, 2**32)))
        count, again = int(rng.integers(2, 40)), int(rng.integers(0, 4))
        flow.bulk(float(rng.uniform(0, 50)), 20, segments=count)
        for _ in range(again):
            flow.there(300, 1 + int(rng.integers(0, count)) * SEGMENT, SEGMENT)
        rows += flow.rows
        expected[f"10.0.0.1:{1000 + place} > 10.0.1.1:80"] = again
    assert passive.retransmissions(packets(write(tmp_path / "x.pcap", rows)).table) == expected


def test_frames_of_other_kinds_are_counted_by_kind(tmp_path: Path) -> None:
    arp = (0, b"\0" * 12 + b"\x08\x06" + b"\0" * 28, 42)
    cut = (0, a_flow()[0][1][:30], 1500)
    found = packets(write(tmp_path / "x.pcap", [*a_flow(), arp, cut]))
    assert found.others == {"not IP": 1, "cut or damaged": 1}

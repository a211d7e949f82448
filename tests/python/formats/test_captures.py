"""Captures: Wireshark finds no error in ours, metrics from them are right, and damaged ones are refused."""

import bz2
import gzip
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailback
from properties import cases
from tailback.analysis import passive
from tailback.formats import NotReadable, import_files
from tailback.formats.pcap import packets
from tailback.results import RunResult
from waiting import GENEROUS_S

TSHARK, CAPINFOS = shutil.which("tshark"), shutil.which("capinfos")
NEEDS_TSHARK = "tshark is missing: scripts/test-packages.sh installs it"

EXPERIMENT = """
title: captures
links:
  - {ends: [client, router], rate: 1gbit, delay: 5ms}
  - {ends: [router, server], rate: 1gbit, delay: 5ms}
qdiscs:
  router -> server: htb rate 20mbit | pfifo limit 60
traffic:
  - {tcp: client -> server, name: upload, flows: 2}
  - {tcp: server -> client, name: page, bytes: 200kB, start: 2s}
  - {ping: client -> server, interval: 100ms}
duration: 6s
measure: {warmup: 1s, pcap: [client, router, server]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Two uploads that lose packets, a download, pings; captured at each host."""
    folder = tmp_path_factory.mktemp("captures")
    (folder / "x.yaml").write_text(EXPERIMENT)
    return tailback.run(folder / "x.yaml", out=folder / "out").runs[0]


def said(program: str | None, *words: str | Path) -> str:
    assert program, NEEDS_TSHARK
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=GENEROUS_S, check=True)
    return done.stdout


def frames(file: Path, display_filter: str) -> int:
    """The number of frames that tshark finds, with all checksums checked."""
    checked = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    return len(said(TSHARK, "-r", file, *checked, "-Y", display_filter, "-T", "fields", "-e", "frame.number").split())


@pytest.mark.parametrize("host", ["client", "router", "server"])
def test_tshark_finds_no_malformed_packet_and_no_wrong_checksum(run: RunResult, host: str) -> None:
    file = run.captures[host]
    wrong = "_ws.malformed || _ws.expert.severity == error || ip.checksum.status == bad || icmp.checksum.status == bad"
    assert frames(file, wrong) == 0
    assert frames(file, "tcp.checksum.status == bad") == 0
    # Only whole packets can be checked; data is truncated, so these are ACKs and pings.
    assert frames(file, "tcp.checksum.status == good") > 100
    assert "Errors" not in said(TSHARK, "-r", file, "-q", "-z", "expert")


def test_tsharks_analysis_counts_the_retransmissions_that_we_count(run: RunResult) -> None:
    sent_again = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    counted = int(run.tcp_info.groupby("flow")["total_retrans"].max().filter(like="upload").sum())
    assert counted > 5
    assert frames(run.captures["client"], f"({sent_again}) && ip.src == 10.0.0.1") == counted
    table = packets(run.captures["client"]).table
    assert sum(passive.retransmissions(table[table["source"] == "10.0.0.1"]).values()) == counted
    assert frames(run.captures["client"], "tcp.analysis.zero_window || tcp.analysis.ack_lost_segment") == 0


def test_both_ends_of_a_connection_close(run: RunResult) -> None:
    """The page is over: FIN of the server, FIN of the client with its ACK, and the last ACK, as in a kernel's run."""
    file = run.captures["client"]
    closing = said(TSHARK, "-r", file, "-Y", "tcp.flags.fin == 1", "-T", "fields", "-e", "ip.src").split()
    assert closing == ["10.0.0.3", "10.0.0.1"]
    # Relative numbers: it acknowledges a FIN before which there was no data.
    assert frames(file, "ip.src == 10.0.0.3 && tcp.ack == 2 && tcp.len == 0") == 1


def test_capinfos_agrees_on_counts_lengths_and_resolution(run: RunResult) -> None:
    fields = said(CAPINFOS, "-M", "-T", "-r", run.captures["client"]).split("\t")
    table = packets(run.captures["client"])
    assert table.left_out == 0
    assert str(len(table.table)) in fields
    assert "nanoseconds (9)" in said(CAPINFOS, "-M", run.captures["client"])
    headers = 14 + 20 + np.where(table.table["protocol"] == passive.TCP, 32, 8)
    data = int(re.search(r"Data size: *(\d+)", said(CAPINFOS, "-M", run.captures["client"])).group(1))  # type: ignore[union-attr]
    # SYNs and SACK blocks are longer than the usual header of 32 bytes.
    assert data == pytest.approx(int((headers + table.table["payload"]).sum()), rel=0.001)


def test_a_router_has_an_interface_per_device_and_sees_each_packet_twice(run: RunResult) -> None:
    names = said(TSHARK, "-r", run.captures["router"], "-T", "fields", "-e", "frame.interface_name").split("\n")
    assert set(filter(None, names)) == {"router -> client", "router -> server"}
    there = frames(run.captures["router"], "icmp.type == 8")
    assert there == pytest.approx(2 * frames(run.captures["client"], "icmp.type == 8"), abs=4)


def test_options_are_those_of_linux(run: RunResult) -> None:
    text = said(TSHARK, "-r", run.captures["client"], "-Y", "tcp.flags.syn == 1", "-V")
    for option in ("Maximum segment size: 1460 bytes", "SACK permitted", "Timestamps", "Window scale: 7"):
        assert option in text
    assert frames(run.captures["client"], "tcp.options.sack.count >= 1") > 0


def test_captures_give_the_numbers_of_the_run(run: RunResult, tmp_path: Path) -> None:
    files = [run.captures["client"], run.captures["server"]]
    back = tailback.open(import_files("pcap", files, tmp_path / "back", {"from": "captures"})).runs[0]
    # Ethernet, 10 ms of wire each way, and the queue.
    assert back.summary["one_way_delay_ms"]["min"] == pytest.approx(10.0, abs=0.2)
    truth = run.ping.dropna(subset=["rtt_ms"])["rtt_ms"]
    assert back.ping["rtt_ms"].dropna().tolist() == pytest.approx(truth.tolist(), abs=1e-3)
    # The receiver's delays do not count, so passive RTT is slightly below the RTT of the sender's TCP.
    tcp = run.tcp_info[run.tcp_info["flow"].str.startswith("upload") & (run.tcp_info["rtt"] > 0)]["rtt"].median() / 1e3
    assert back.summary["passive_rtt_ms"]["p50"] == pytest.approx(tcp, rel=0.1)
    acknowledged = back.flows.groupby("flow")["bytes"].sum()
    ours = run.tcp_info.groupby("flow")["bytes_acked"].max()
    assert sorted(acknowledged)[1:] == pytest.approx(sorted(ours)[1:], rel=0.02)
    assert back.units("passive_rtt")["rtt_ms"] == "ms"


def test_passive_rtt_does_not_need_clocks_that_agree(run: RunResult) -> None:
    here, there = (packets(run.captures[host]).table for host in ("client", "server"))
    first = passive.passive_rtt(here, there)
    shifted = passive.passive_rtt(here, there.assign(t_ns=there["t_ns"] + 3_600_000_000_000))
    assert shifted["rtt_ms"].tolist() == pytest.approx(first["rtt_ms"].tolist())
    assert len(first) > 1000


def test_sequence_numbers_go_on_past_their_wrap() -> None:
    assert passive.unwrapped([2**32 - 10, 2**32 - 5, 3, 1, 20]).tolist() == [
        2**32 - 10, 2**32 - 5, 2**32 + 3, 2**32 + 1, 2**32 + 20,
    ]  # fmt: skip


def test_a_run_with_captures_has_the_same_tables_as_one_without(tmp_path: Path, run: RunResult) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENT.replace(", pcap: [client, router, server]", ""))
    plain = tailback.run(tmp_path / "x.yaml", out=tmp_path / "out").runs[0]
    assert plain.captures == {}
    for name in ("flows", "tcp_info", "ping", "qdisc", "events"):
        pd.testing.assert_frame_equal(plain.table(name), run.table(name))


def test_a_host_that_does_not_exist_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENT.replace("pcap: [client, router", "pcap: [client, gateway"))
    with pytest.raises(tailback.ScenarioError, match=r"measure\.pcap\[1\].*`gateway`"):
        tailback.load(tmp_path / "x.yaml")


def tcp_frame(seq: int, payload: int, *, source: bytes = b"\x0a\x00\x00\x01") -> bytes:
    """Ethernet, IPv4, TCP; payload of zeros."""
    tcp = struct.pack(">HHIIBBHHH", 1024, 5201, seq, 7, 5 << 4, 0x10, 100, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + payload, 0, 0, 64, 6, 0, source, b"\x0a\x00\x00\x02")
    return b"\0" * 12 + b"\x08\x00" + ip + tcp + b"\0" * payload


def pcap(order: str = "<", *, nano: bool = False, link_type: int = 1, rows: list[bytes]) -> bytes:
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    head = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)
    return head + b"".join(
        struct.pack(f"{order}IIII", 5, number, len(row), len(row)) + row for number, row in enumerate(rows)
    )


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_pcap_is_read_in_both_byte_orders_and_resolutions(tmp_path: Path, order: str, nano: bool) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(pcap(order, nano=nano, rows=[tcp_frame(1, 10), tcp_frame(11, 10)]))
    table = packets(file).table
    assert table["t_ns"].tolist() == [5_000_000_000, 5_000_000_001 if nano else 5_000_001_000]
    assert table["payload"].tolist() == [10, 10]
    (tmp_path / "x.pcap.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert len(packets(tmp_path / "x.pcap.gz").table) == 2


def test_vlan_tags_and_cooked_and_raw_links_are_decoded_and_other_frames_counted(tmp_path: Path) -> None:
    plain = tcp_frame(1, 4)
    tagged = plain[:12] + b"\x81\x00\x00\x05" + plain[12:]
    arp = b"\0" * 12 + b"\x08\x06" + b"\0" * 28
    for link_type, rows in ((1, [tagged, arp]), (101, [plain[14:]]), (113, [b"\0" * 14 + plain[12:]])):
        file = tmp_path / f"{link_type}.pcap"
        file.write_bytes(pcap(link_type=link_type, rows=rows))
        found = packets(file)
        assert (len(found.table), found.left_out) == (1, len(rows) - 1)


WHOLE = pcap(rows=[tcp_frame(1, 10), tcp_frame(11, 10)])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "begins like neither"),
        (b"GIF89a", "begins like neither"),
        (WHOLE[:20], "header is cut short"),
        (WHOLE[:-1], "ends within a packet"),
        (WHOLE[:-60], "ends within a packet"),
        (pcap(rows=[]), "no TCP, UDP or ping"),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0", "ends within"),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0????" + b"\0" * 16, "byte order"),
        (b"\x1f\x8b\x08\0", "unpacked"),
    ],
    ids=range(9),
)
def test_a_broken_capture_is_refused_in_words(tmp_path: Path, content: bytes, expected: str) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(content)
    with pytest.raises(NotReadable, match=expected) as refusal:
        import_files("pcap", [file], tmp_path / "out", {})
    assert "hint: " in str(refusal.value)


def test_a_packet_that_claims_four_gigabytes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(WHOLE + struct.pack("<IIII", 5, 2, 0xFFFF_FFFC, 60) + b"SECRET")
    with pytest.raises(NotReadable, match=r"4294967292 bytes is too long to be one\n.*2 whole packets before") as told:
        packets(file)
    assert "SECRET" not in str(told.value)


SECTION = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
DEVICE = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        (struct.pack("<II", 6, 0xFFFF_FFFC) + bytes(40), "4294967280 bytes is too long to be a packet"),
        (struct.pack("<II", 5, 0xFFFF_FFFC) + bytes(40), "ends within a block"),
        (struct.pack("<IIIIIII", 6, 52, 0, 0, 0, 21, 21) + bytes(24), "ends within a packet"),
        (DEVICE * 10_000, "more than 10000 interfaces"),
    ],
)
def test_a_block_that_claims_too_much_is_refused(rest: bytes, told: str, tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    file.write_bytes(SECTION + DEVICE + rest)
    with pytest.raises(NotReadable, match=told):
        packets(file)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_no_more_of_a_capture_is_unpacked_than_it_may_have(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailback.formats.pcap.frames.MAX_BYTES", 100_000)
    file = tmp_path / "x.pcap"
    file.write_bytes(pack(pcap(rows=[tcp_frame(1, 10)] * 10_000)))
    with pytest.raises(NotReadable, match=r"is not read: it has .* bytes.*\n  hint: .*editcap"):
        packets(file)


def test_no_more_packets_are_read_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailback.formats.pcap.frames.MAX_RECORDS", 100)
    file = tmp_path / "x.pcap"
    file.write_bytes(pcap(rows=[tcp_frame(1, 10)] * 101))
    with pytest.raises(NotReadable, match="more than 100 packets"):
        packets(file)


def test_blocks_that_are_not_read_are_left_out(tmp_path: Path) -> None:
    frame = tcp_frame(1, 10)
    packet = struct.pack("<IIIII", 0, 0, 5, len(frame), len(frame)) + frame
    length = 12 + len(packet)
    comment = struct.pack("<II", 5, 3_000_012) + bytes(3_000_000) + struct.pack("<I", 3_000_012)
    file = tmp_path / "x.pcapng"
    assert not length % 4
    file.write_bytes(SECTION + DEVICE + comment + struct.pack("<II", 6, length) + packet + struct.pack("<I", length))
    assert packets(file).table["t_ns"].tolist() == [5000]


@pytest.mark.parametrize("t_us", [2**64 - 1, 2**63 // 1000, 8 * 10**15])
def test_a_time_that_nobody_lives_to_see_is_none(t_us: int, tmp_path: Path) -> None:
    frame = tcp_frame(1, 10)
    packet = struct.pack("<IIIII", 0, t_us >> 32, t_us & 0xFFFF_FFFF, len(frame), len(frame)) + frame
    length = 12 + len(packet)
    file = tmp_path / "x.pcapng"
    file.write_bytes(SECTION + DEVICE + struct.pack("<II", 6, length) + packet + struct.pack("<I", length))
    with pytest.raises(NotReadable, match="not between 1970 and 2200"):
        packets(file)


def test_a_capture_that_breaks_off_says_how_much_of_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(WHOLE[:-1])
    with pytest.raises(NotReadable, match="1 whole packets before"):
        packets(file)


@pytest.fixture(scope="module")
def ours(run: RunResult) -> bytes:
    return run.captures["client"].read_bytes()[:4000]


@settings(max_examples=cases(300))
@given(
    content=st.binary(max_size=200),
    start=st.sampled_from([b"", WHOLE[:24], WHOLE[:50], b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a"]),
)
def test_any_bytes_are_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, start: bytes
) -> None:
    file = tmp_path_factory.mktemp("bytes") / "x.pcap"
    file.write_bytes(start + content)
    try:
        packets(file)
    except NotReadable as refusal:
        assert "hint: " in str(refusal)


@settings(max_examples=cases(300))
@given(place=st.integers(0, 3999), value=st.integers(0, 255), cut=st.integers(0, 3999))
def test_a_capture_with_a_wrong_byte_or_an_end_too_early_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, ours: bytes, place: int, value: int, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("flip")
    (folder / "x.pcapng").write_bytes((ours[:place] + bytes([value]) + ours[place + 1 :])[: 4000 - cut % 7])
    try:
        import_files("pcap", [folder / "x.pcapng"], folder / "out", {})
    except NotReadable as refusal:
        assert "hint: " in str(refusal)

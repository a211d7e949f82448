"""packetdrill's language, production by production: what a script needs and the runner lacks is unsupported, by name.

It is never a failure, which would say that the TCP under test is wrong, and never called malformed, which would say
that packetdrill does not read it.
"""

from pathlib import Path

import pytest

from tailback import drill
from tailback.drill import Report

OPENING = """\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <...>
 +.01 < . 1:1(0) ack 1 win 257
   +0 accept(3, ..., ...) = 4
"""


def report(text: str) -> Report:
    return drill.run_text(text, Path("script.pkt"), drill.Settings())


UNSUPPORTED = {
    # Packets.
    "udp": "+0 < udp (100)",
    "icmp": "+0 < icmp unreachable port_unreachable [1:1(0)]",
    "ipv4": "+0 < ipv4 1.2.3.4 > 5.6.7.8: . 1:1(0) ack 1 win 9",
    "ipv6": "+0 < ipv6 ::1 > ::2: . 1:1(0) ack 1 win 9",
    "gre": "+0 < ipv4 1.2.3.4 > 5.6.7.8: gre: . 1:1(0) ack 1 win 9",
    "mpls": "+0 < mpls (label 0, tc 0, ttl 0) : . 1:1(0) ack 1 win 9",
    "raw": "+0 > raw (100)",
    "ports": "+0 < 8080 > 5555 . 1:1(0) ack 1 win 9",
    "flowlabel": "+0 > [flowlabel 0x1] . 1:1(0) ack 1",
    "tos": "+0 > [tos 0x10] . 1:1(0) ack 1",
    "ttl": "+0 > [ttl 64] . 1:1(0) ack 1",
    "urgent data": "+0 < U. 1:2(1) ack 1 win 9",
    # Options of TCP.
    "TCP fast open": "+0 < S 0:0(0) win 1000 <mss 1000,FO 0123456789abcdef,nop,nop>",
    "TCP fast open, experimental": "+0 < S 0:0(0) win 1000 <mss 1000,FOEXP,nop,nop>",
    "MD5": "+0 < S 0:0(0) win 1000 <md5 00112233445566778899aabbccddeeff,nop,nop>",
    "`mss MSS`": "+0 > S. 0:0(0) ack 1 <mss MSS,nop,wscale 8>",
    # Calls.
    **{
        f"`{name}`": f"+0 {name}(4, 0, 1, 2) = 0"
        for name in ("cap_set", "open", "sendfile", "pipe", "splice", "psp_rx_assoc", "psp_tx_assoc", "epoll_create1")
    },
    "SOCK_DGRAM": "+0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 5",
    "IPPROTO_SCTP": "+0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 5",
    "MSG_FASTOPEN": "+0 sendto(4, ..., 10, MSG_FASTOPEN, ..., ...) = 10",
    "MSG_FASTOPEN, joined": "+0 sendto(4, ..., 10, MSG_FASTOPEN|MSG_DONTWAIT, AF_UNSPEC, ...) = -1 EOPNOTSUPP (no)",
    "TCP_FASTOPEN": "+0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0",
    "TCP_FASTOPEN_CONNECT": "+0 setsockopt(3, SOL_TCP, TCP_FASTOPEN_CONNECT, [1], 4) = 0",
    "MSG_ZEROCOPY": "+0 send(4, ..., 10, MSG_ZEROCOPY) = 10",
    "SO_ZEROCOPY": "+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0",
    "TCP_INFO": "+0 getsockopt(4, SOL_TCP, TCP_INFO, ..., ...) = 0",
    "TCP_MADE_UP": "+0 setsockopt(4, SOL_TCP, TCP_MADE_UP, [1], 4) = 0",
    "`EMADEUP`": "+0 read(4, ..., 10) = -1 EMADEUP (no such error)",
    "not a number": "+0 shutdown(4, SHUT_WR) = [1]",
    # Settings and commands.
    "tcp_fastopen": "`sysctl -q net.ipv4.tcp_fastopen=0x602`",
    "tcp_ecn": "`sysctl -q net.ipv4.tcp_ecn=3`",
    "tcp_ecn_option": "`sysctl -q net.ipv4.tcp_ecn_option=2`",
    "`rm": "`rm -rf /tmp/x`",
    "nft": "`nft add table x`",
    "ip route": "`ip route add 1.2.3.4/32 dev lo`",
    "tcpi_rcv_wnd": "+0 %{ assert tcpi_rcv_wnd > 0 }%",
}
"""A line after a connection is open, by a word that the message has (up to a comma)."""


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_modelled_is_unsupported_by_its_name(name: str) -> None:
    found = report(OPENING + UNSUPPORTED[name] + "\n")
    assert found.verdict == "unsupported", found.findings
    assert [finding.line for finding in found.findings] == [8]
    assert name.partition(",")[0].lower() in found.findings[0].message.lower(), found.findings[0].message


OPTIONS_IN_THE_HEAD = {
    "code_command": "x", "code_format": "x", "code_sockopt": "x", "init_scripts": "x", "wire_client": "",
    "wire_server": "", "wire_server_ip": "1.2.3.4", "so_filename": "x", "so_flags": "x", "is_anyip": "",
    "psp_udp_port": "1000", "define": "A=1", "tcp_ts_ecr_scaled": "",
}  # fmt: skip
SUPPORTED_IN_THE_HEAD = {
    "ip_version": "ipv4", "bind_port": "80", "connect_port": "81", "remote_ip": "1.2.3.4", "local_ip": "1.2.3.5",
    "gateway_ip": "1.2.3.6", "netmask_ip": "255.255.0.0", "mss": "1000", "mtu": "1500", "tolerance_usecs": "5000",
    "tolerance_percent": "1", "tcp_ts_tick_usecs": "1000", "strict_segments": "", "speed": "100", "non_fatal": "packet",
    "send_omit_free": "", "dry_run": "", "verbose": "", "debug": "",
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS_IN_THE_HEAD)
def test_an_option_in_the_head_that_is_not_modelled_is_unsupported_by_its_name(name: str) -> None:
    value = OPTIONS_IN_THE_HEAD[name]
    found = report(f"--{name}{'=' if value else ''}{value}\n{OPENING}")
    assert found.verdict == "unsupported" and name in found.findings[0].message, found.findings


def test_the_other_options_in_the_head_are_read() -> None:
    head = "".join(f"--{name}{'=' if value else ''}{value}\n" for name, value in SUPPORTED_IN_THE_HEAD.items())
    assert report(head + OPENING).verdict == "passed"


SUPPORTED = (
    "+0 < [ect0] P. 1:101(100) ack 1 win 257\n   +0 > . 1:1(0) ack 101 <...>",
    "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n   +0 read(4, ..., 10) = -1 EWOULDBLOCK (none)",
    "+0 setsockopt(4, SOL_TCP, TCP_NOTSENT_LOWAT, [-1], 4) = 0\n"
    "   +0 getsockopt(4, SOL_TCP, TCP_NOTSENT_LOWAT, [0xffffffff], [4]) = 0\n"
    "   +0 getsockopt(4, SOL_TCP, TCP_NOTSENT_LOWAT, [-1], [4]) = 0",
    "+0 ioctl(4, SIOCINQ, [0]) = 0",
    "+0 shutdown(4, SHUT_WR) = 0\n   +0 > F. 1:1(0) ack 1",
    "+0 %{ assert tcpi_snd_cwnd == 10 }%",
    "`sysctl -q net.ipv4.tcp_sack=1; sleep 0.1`",
)


@pytest.mark.parametrize("lines", SUPPORTED)
def test_what_is_modelled_passes(lines: str) -> None:
    found = report(f"{OPENING}   {lines}\n")
    assert found.verdict == "passed", found.findings


@pytest.mark.parametrize(("one", "other"), [("EAGAIN", "EWOULDBLOCK"), ("EWOULDBLOCK", "EAGAIN")])
def test_an_error_may_be_written_by_either_of_its_names(one: str, other: str) -> None:
    calls = "".join(f"   +0 read(4, ..., 10) = -1 {name} (none)\n" for name in (one, other))
    assert report(f"{OPENING}   +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n{calls}").verdict == "passed"


def test_another_error_is_a_failure_that_names_both() -> None:
    found = report(
        f"{OPENING}   +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n   +0 read(4, ..., 10) = -1 EPIPE (none)\n"
    )
    assert found.verdict == "failed" and "expected result -1 EPIPE but got -1 EAGAIN" in found.findings[0].message

"""Each word of packetdrill's language that may stand in a system call: it is supported, or unsupported by its name.

`tests/data/drill/calls.txt` has a call for each, of which Linux refuses none; FD is a connected, or a listening socket,
or one that is neither. `walk.rs` of the agent asks for the same calls on a kernel.
"""

import re
from pathlib import Path

import pytest

from drill.test_language import OPENING
from tailback import drill

CALLS = (Path(__file__).parents[2] / "data" / "drill" / "calls.txt").read_text().splitlines()
SOCKETS = {"connected": 4, "listening": 3, "neither": 7}
EPOLL = 8
BEFORE = (
    "   +0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 7\n   +0 epoll_create(1) = 8\n"
    "   +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n   +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
    "   +0 fcntl(7, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
)
ONLY_CONNECTED = ("send", "recv", "read", "write", "shutdown", "poll", "epoll", "accept", "ioctl", "connect", "close")
"""How calls begin whose result is another one on other sockets."""


def of(call: str, socket: str) -> str:
    return call.replace("EPOLL,", f"{EPOLL},").replace("LISTEN", "3").replace("FD", str(SOCKETS[socket]))


def found(call: str, socket: str) -> drill.Report:
    text = f"{OPENING}{BEFORE}   +0 {of(call, socket)}\n"
    return drill.run_text(text, Path("script.pkt"), drill.Settings())


@pytest.mark.parametrize("socket", SOCKETS)
def test_a_word_of_the_language_is_supported_or_unsupported_by_its_name(socket: str) -> None:
    wrong = []
    for call in CALLS:
        if socket != "connected" and call.startswith(ONLY_CONNECTED):
            continue
        report = found(call, socket)
        text = " ".join(finding.message for finding in report.findings)
        if report.verdict == "unsupported":
            words = [word for word in re.findall(r"[A-Za-z_0-9]{2,}", call) if not word.isdecimal()]
            if any(word in text for word in words):
                continue
        elif report.verdict == "passed":
            continue
        wrong.append((call, report.verdict, text))
    assert wrong == []

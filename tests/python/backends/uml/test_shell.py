"""`tailback shell`: commands and a terminal on a host of a guest, whose time is that of the run."""

import io
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backends.conftest import left_running
from command import in_process
from tailback.backends.linux import shell
from tailback.backends.uml import Uml
from waiting import GENEROUS_S

FILE = """\
links:
  - {ends: [client, router], rate: 10mbit, delay: 5ms}
  - {ends: [router, server]}
traffic:
  - {tcp: client -> server, name: up}
duration: 10s
"""
PROMPT = b"client:~# "


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "x.yaml").write_text(FILE)
    return tmp_path / "x.yaml"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    give("")
    return give


def test_a_command_runs_on_its_host_in_virtual_time_and_its_status_is_ours(
    uml: Uml, file: Path, typed: Any, tmp_path: Path
) -> None:
    del uml, typed
    words = "cat /etc/hosts; date +%s.%N; sleep 100; date +%s.%N; echo {server} $HOME >&2; touch /usr/x; exit 3"
    one, other = (in_process("shell", file, "client", "--", "sh", "-c", words, status=3) for _ in range(2))
    assert (one.stdout, one.stderr) == (other.stdout, other.stderr)
    *hosts, before, after = one.stdout.splitlines()
    assert hosts == ["127.0.0.1 localhost", "10.0.0.1 client", "10.0.0.2 router", "10.0.1.2 server"]
    assert float(after) - float(before) == pytest.approx(100, abs=1e-3)
    assert one.stderr.startswith("10.0.1.2 /tmp\n")
    assert "Read-only file system" in one.stderr
    assert left_running(tmp_path) == []


def test_a_script_from_a_pipe_sees_the_traffic_of_the_file_at_its_time(uml: Uml, file: Path, typed: Any) -> None:
    del uml
    script = "ss -tni state established; tc -s qdisc show dev l0; ping -c 2 server\n"
    typed(script)
    busy = in_process("shell", file, "client", "--at", "3s").stdout
    sent = re.search(r"bytes_sent:(\d+)", busy)
    # Three seconds at 10 Mbit/s.
    assert sent is not None
    assert int(sent[1]) == pytest.approx(3.6e6, rel=0.05)
    assert "qdisc htb 1: root" in busy
    assert "2 received, 0% packet loss, time 1001ms" in busy
    typed(script)
    idle = in_process("shell", file, "client", "--at", "3s", "--idle").stdout
    assert "bytes_sent" not in idle
    assert "rtt min/avg/max/mdev = 10.1" in idle


def test_what_a_command_leaves_running_does_not_keep_the_shell(uml: Uml, file: Path, typed: Any) -> None:
    del uml, typed
    done = in_process("shell", file, "client", "--", "sh", "-c", "setsid sleep 1000 & kill -9 $$", status=137)
    assert done.stdout == ""


WRONG = {
    "a slip": (["clint", "--", "ls"], "there is no host `clint`\n  hint: did you mean `client`?"),
    "another host": (["xyz", "--", "ls"], "there is no host `xyz`\n  hint: the hosts are client, router, server"),
    "no kernel": (["client", "--backend", "sim", "--", "ls"], "`sim` has no shell for a host: it has no kernel"),
    "a testbed": (["client", "--backend", "ssh:x.yaml", "--", "ls"], "log in there"),
    "no such program": (["client", "--", "nosuchprogram"], "the program `nosuchprogram` is not in /usr"),
    "too late": (["client", "--at", "10s", "--", "ls"], "--at: the run ends at 10s"),
    "no time": (["client", "--at", "soon", "--", "ls"], "--at: `soon` is not a time"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_had_is_named(what: str, uml: Uml, file: Path, typed: Any) -> None:
    del uml, typed
    words, said = WRONG[what]
    assert said in in_process("shell", file, *words, status=2).stderr


class Terminal:
    """`tailback` on a terminal of ours."""

    def __init__(self, *words: str | Path) -> None:
        import pty
        import termios

        self.fd, theirs = pty.openpty()
        termios.tcsetwinsize(self.fd, (33, 111))
        command = [sys.executable, "-m", "tailback.cli.app", *map(str, words)]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)

    def until(self, what: bytes) -> bytes:
        """What is printed until there is `what`, which must come before the end."""
        printed = b""
        while what not in printed:
            assert select.select([self.fd], [], [], GENEROUS_S)[0], printed
            try:
                printed += os.read(self.fd, 4096)
            except OSError:
                raise AssertionError(printed) from None
        return printed

    def ask(self, line: str) -> list[str]:
        """The lines that a command prints."""
        os.write(self.fd, line.encode() + b"\n")
        text = self.until(PROMPT).decode()
        plain = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]|\r", "", text)
        return plain.split("\n")[1:-1]


@pytest.fixture
def terminal(uml: Uml, file: Path) -> Iterator[Terminal]:
    del uml
    found = Terminal("shell", file, "client", "--still")
    yield found
    os.close(found.fd)
    found.process.kill()
    found.process.wait()


def test_at_a_terminal_time_stands_still_while_the_shell_waits(terminal: Terminal) -> None:
    terminal.until(PROMPT)
    assert terminal.ask("stty size; id -un") == ["33 111", "root"]
    first, second = (float(terminal.ask("date +%s.%N")[0]) for _ in range(2))
    assert second - first < 0.1
    assert terminal.ask("sleep 1") == []
    assert float(terminal.ask("date +%s.%N")[0]) - second == pytest.approx(1.0, abs=0.2)
    # One process, so that it is in front when it says so: between two commands of a list Ctrl-C is the shell's.
    os.write(terminal.fd, b"sh -c 'echo began; exec sleep 1000'\n")
    terminal.until(b"began\r\n")
    # Ctrl-C ends the command and not the shell.
    os.write(terminal.fd, b"\x03")
    terminal.until(PROMPT)
    os.write(terminal.fd, b"exit 5\n")
    assert terminal.process.wait(GENEROUS_S) == 5


def test_a_shell_that_answers_no_more_can_be_left(terminal: Terminal, tmp_path: Path) -> None:
    terminal.until(PROMPT)
    os.write(terminal.fd, b"echo began; while :; do :; done\n")
    terminal.until(b"began\r\n")
    os.write(terminal.fd, shell.LEAVE)
    assert terminal.process.wait(GENEROUS_S) == shell.LEFT
    assert left_running(tmp_path) == []

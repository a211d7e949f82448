"""A shell, or one command, on a host of the experiment: its part of the agent's job, and whoever talks with it.

The agent (`crates/agent/src/shell.rs`) starts it in the run, which ends with it and leaves no results. Without a
terminal its input is a file, and what it prints is passed on as it comes. With one, what is typed goes there as it is.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from tailback.backends.backend import RunFailed, Unsuitable
from tailback.backends.linux import process, programs
from tailback.backends.linux.hops import hops_of, radio_hops
from tailback.backends.linux.steps import Json
from tailback.resolved import Scenario
from tailback.tc.errors import nearest_hint

SHELL = ("bash", "--norc", "--noprofile", "-i")
SCRIPT = ("sh",)
LEAVE = b"\x1d"
"""Ctrl-], as in telnet: ends a shell that answers no more."""
LEFT = 130
"""The status of a shell that was ended so: as of one that SIGINT ends."""

INPUT, OUT, ERR, STATUS = "shell.in", "shell.out", "shell.err", "shell.status"
AT, GATE = "shell.at", "shell.gate"
"""Files in the folder of the run."""

LOOK_S = 0.005
QUIET_S = 0.1
"""Processor time that a guest gets after the last byte before it is stopped at its gate: on a busy machine wall time
says nothing of whether it has taken what was typed."""
AHEAD_S = 0.1
"""Wall time for which a guest that was late may hurry."""
LARGEST = 1 << 30
"""Bytes that a command may print: they lie in a file until it ends."""


class Wanted(Struct, frozen=True):
    """What is asked for."""

    host: str
    command: tuple[str, ...] = ()
    """Empty for a shell."""
    at_ns: int = 0
    """The time of the run at which it starts."""
    idle: bool = False
    """Without the traffic of the file."""
    still: bool = False
    """Time stands still while the shell waits for a command."""
    speed: float = 1.0
    """Seconds of virtual time in one second, with a terminal."""

    @property
    def terminal(self) -> bool:
        """Whether somebody sits at a terminal and wants a shell."""
        return not self.command and sys.stdin.isatty()


def job_of(job: Json, scenario: Scenario, wanted: Wanted) -> Json:
    """A job with the shell; raises `Unsuitable` if it has no such host, or no such program is on this machine."""
    host = number_of(scenario, wanted.host)
    addresses = programs.addresses_from(scenario, [*hops_of(scenario), *radio_hops(scenario)], host)
    words = wanted.command or (SHELL if wanted.terminal else SCRIPT)
    path = programs.found(words[0])
    if path is None:
        raise Unsuitable(f"the program `{words[0]}` is not in {programs.PATH}\n  hint: install it on this machine")
    shell = {
        "host": host,
        "path": str(path),
        "argv": [programs.with_addresses(word, addresses) for word in words],
        "environment": environment(wanted),
        "at_ns": wanted.at_ns,
        "terminal": wanted.terminal,
        "still": wanted.still,
    }
    names = {**job.get("names", {}), str(host): programs.hosts_file(addresses)}
    nothing: Json = {"traffic": [], "programs": []} if wanted.idle else {}
    return job | nothing | {"shell": shell, "names": names}


def number_of(scenario: Scenario, host: str) -> int:
    """The number of a host; raises `Unsuitable` with the hosts of the file if there is none."""
    names = list(scenario.host_names)
    if host not in names:
        hint = nearest_hint(host, names)
        listed = f"the hosts are {', '.join(names)}"
        raise Unsuitable(f"there is no host `{host}`\n  hint: {hint if hint.startswith('did') else listed}")
    return names.index(host)


def environment(wanted: Wanted) -> dict[str, str]:
    """The environment of the shell."""
    plain = {"PATH": programs.PATH, "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC"}
    if not wanted.terminal:
        return plain
    return {**plain, "TERM": os.environ.get("TERM", "dumb"), "PS1": f"{wanted.host}:\\w\\$ ", "HISTFILE": ""}


def write_input(wanted: Wanted, folder: Path) -> None:
    """Writes the standard input for a command, all of it: a guest must not wait for somebody outside of its time."""
    if not wanted.terminal:
        given = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
        (folder / INPUT).write_bytes(given)


@dataclass
class Tail:
    """Passes on what is appended to a file."""

    file: Path
    stream: BinaryIO
    read: int = 0

    def pass_on(self) -> None:
        """What is new."""
        with contextlib.suppress(FileNotFoundError), self.file.open("rb") as content:
            content.seek(self.read)
            while chunk := content.read(1 << 20):
                self.stream.write(chunk)
                self.read += len(chunk)
            self.stream.flush()
        if self.read > LARGEST:
            raise RunFailed(f"the command printed more than {LARGEST >> 20} MiB\n  hint: let it print less")


def follow(running: subprocess.Popen[bytes], folder: Path) -> None:
    """Passes on what a command prints until it ends."""
    tails = [Tail(folder / OUT, sys.stdout.buffer), Tail(folder / ERR, sys.stderr.buffer)]
    while running.poll() is None:
        for tail in tails:
            tail.pass_on()
        time.sleep(process.LOOK_S)
    for tail in tails:
        tail.pass_on()


@dataclass
class Gate:
    """Lets the time of a guest pass as that of whoever is there; it does not run while it waits."""

    folder: Path
    speed: float
    process: int = 0
    """The guest, once it is started."""
    had_s: Callable[[], float] = time.monotonic
    """The processor time that the guest has had."""
    allowed_ns: float = 0.0
    _looked: float = field(default_factory=time.monotonic)
    _active: float = 0.0
    _stopped: bool = False
    _written: str = ""

    def __post_init__(self) -> None:
        """Says how large the terminal is, before the shell starts."""
        self._write()

    def keep(self, *, active: bool) -> None:
        """Looks where it is. `active` if something was typed or printed."""
        now = time.monotonic()
        passed_s, self._looked = now - self._looked, now
        if active:
            self._active = self.had_s()
        at = self._at()
        if at is None:
            return
        at_ns, stands = at
        if not stands:
            ns = 1e9 * self.speed
            self.allowed_ns = min(max(self.allowed_ns + passed_s * ns, at_ns - AHEAD_S * ns), at_ns + AHEAD_S * ns)
        self._write()
        waits = stands or at_ns > self.allowed_ns
        self._stop(waits and self.had_s() - self._active > QUIET_S)

    def _at(self) -> tuple[int, bool] | None:
        """The time of the guest, and whether it is to stand still; `None` before it has a shell."""
        try:
            words = (self.folder / AT).read_text(encoding="ascii").split()
        except OSError:
            return None
        return (int(words[0]), words[1] == "still") if len(words) == 2 and words[0].isdigit() else None

    def _write(self) -> None:
        columns, rows = size_of_terminal()
        text = f"{int(self.allowed_ns)} {rows} {columns}"
        if text != self._written:
            new = self.folder / f"{GATE}.new"
            new.write_text(text, encoding="ascii")
            new.rename(self.folder / GATE)
            self._written = text

    def _stop(self, stop: bool) -> None:  # noqa: FBT001
        if stop != self._stopped:
            os.kill(self.process, signal.SIGSTOP if stop else signal.SIGCONT)
            self._stopped = stop


def size_of_terminal() -> tuple[int, int]:
    """Columns and rows."""
    with contextlib.suppress(OSError):
        found = os.get_terminal_size(sys.stdin.fileno())
        if found.columns and found.lines:
            return found.columns, found.lines
    return 80, 24


def converse(running: subprocess.Popen[bytes], there: tuple[int, int], keep: Callable[[bool], None]) -> bool:
    """Connects the terminal with the two ends of the shell until it ends, or the user leaves: then it returns false.
    `keep` is called all the time, and is told whether something was typed or printed.
    """
    here, (to, back) = sys.stdin.fileno(), there
    with _raw(here):
        inputs = [here, back]
        while running.poll() is None:
            ready, _, _ = select.select(inputs, [], [], LOOK_S)
            if here in ready:
                typed = os.read(here, 4096)
                if LEAVE in typed:
                    return False
                inputs = inputs if typed else [back]
                _write_all(to, typed)
            if back in ready and not _pass_on(back):
                return True
            keep(bool(ready))
        while select.select([back], [], [], 0)[0] and _pass_on(back):
            pass
    return True


def _write_all(to: int, content: bytes) -> None:
    with contextlib.suppress(OSError):
        while content:
            content = content[os.write(to, content) :]


def _pass_on(back: int) -> bool:
    """Passes on what the shell has printed; false at its end."""
    try:
        printed = os.read(back, 1 << 16)
    except OSError:
        # A terminal whose last user has gone.
        return False
    sys.stdout.buffer.write(printed)
    sys.stdout.buffer.flush()
    return bool(printed)


@contextlib.contextmanager
def _raw(terminal: int) -> Iterator[None]:
    """Keys go to the shell as they are; afterwards the terminal is as it was."""
    import termios
    import tty

    before = termios.tcgetattr(terminal)
    tty.setraw(terminal)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def start(
    command: process.Command, folder: Path, stdin: int, pass_fds: Sequence[int] = (), stdout: int | None = None
) -> subprocess.Popen[bytes]:
    """Starts the agent; what it says itself is in the file `console`."""
    with (folder / "console").open("wb") as console:
        return subprocess.Popen(
            command.words, cwd=folder, env=dict[str, str](command.environment), stdin=stdin,
            stdout=console if stdout is None else stdout, stderr=console, pass_fds=pass_fds, start_new_session=True,
        )  # fmt: skip


def status_in(folder: Path, where: str, ending: Callable[[], str]) -> int:
    """The exit status of the shell; raises `RunFailed` if it has none. `ending` says how the agent ended."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / STATUS).read_text(encoding="ascii"))
    said = process.failure(folder)
    raise RunFailed(f"{where}: {said}" if said is not None else ending())

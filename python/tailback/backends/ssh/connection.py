"""A connection to a machine: the system's `ssh`, which runs the agent; the agent is copied there if it is missing.

We use `ssh` instead of a library, so that the user's `~/.ssh/config` with jump hosts, keys, certificates, agents,
security tokens and known hosts applies. Host keys are always verified, and there are no interactive questions. The
remote command is fixed (`LAUNCH`), with quoted arguments; everything else goes through the protocol of the agent
(`crates/agent/src/serve.rs`), which executes programs with a list of arguments and without a shell.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tailback.backends.backend import Unsuitable
from tailback.testbed import Machine

SSH = "ssh"
CONNECT_S = 30
OPTIONS = (
    "BatchMode=yes", "StrictHostKeyChecking=yes", f"ConnectTimeout={CONNECT_S}", "ConnectionAttempts=1",
    "ServerAliveInterval=5", "ServerAliveCountMax=12", "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes",
    "PermitLocalCommand=no", "LogLevel=ERROR", "RequestTTY=no",
)  # fmt: skip

LAUNCH = """\
set -e
PATH="$PATH:/usr/sbin:/sbin"
export PATH
folder="${HOME:-/root}/.cache/tailback"
agent="$folder/agent-$1"
if [ -x "$agent" ]; then echo "have $(uname -sm) $SSH_CONNECTION"; else
  umask 077
  mkdir -p "$folder"
  new="$agent.$$"
  echo "need $(uname -sm) $SSH_CONNECTION"
  head -c "$2" > "$new"
  [ "$(wc -c < "$new")" -eq "$2" ] || { rm -f "$new"; exit 90; }
  chmod 700 "$new"
  mv "$new" "$agent"
  echo put
fi
shift 2
if [ "$1" = sudo ]; then shift; exec sudo -n -- "$agent" "$@"; fi
exec "$agent" "$@"
"""
"""Arguments: digest and size of the agent, `sudo` or nothing, and the arguments of the agent."""

REMEDIES = (
    ("host key verification failed", "its key is not known: connect once by hand and compare the fingerprint, or name "
     "a file with `known_hosts`; a key that has changed is a reason to ask who changed it"),
    ("remote host identification has changed", "find out why; if the machine is new: ssh-keygen -R ADDRESS"),
    ("permission denied", "give it your key (ssh-copy-id), name it with `key`, or load it (ssh-add)"),
    ("could not resolve", "check `address`; ssh -G ADDRESS shows what ssh makes of it"),
    ("timed out", "is the machine on, and is `address` on the management network?"),
    ("no route to host", "is the machine on, and is `address` on the management network?"),
    ("connection refused", "start sshd there, or name its `port`"),
    ("password is required", "let the user run the agent with sudo and no password (docs/testbed.md), or log in as "
     "root"),
    ("sudo: not found", "install sudo there, or log in as root"),
    ("not root", "set `sudo: true`, or log in as root"),
    ("busy", "wait for the other run, or end it"),
)  # fmt: skip


LAST_WORDS_S = 30.0
"""How long `ssh` may take to end, and to say why, after its output has ended."""

RUNS_ON = ["Linux", "x86_64"]

GETTING_THERE = ("connecting", "starting the agent")
"""The steps whose errors are those of ssh and sudo."""


class HostFailed(Exception):
    """A step failed on a machine; the message names both."""

    def __init__(self, host: str, step: str, reason: str, hint: str = "") -> None:
        remedy = hint or (remedy_for(reason) if step in GETTING_THERE else "")
        super().__init__(f"host `{host}`, {step}: {reason}" + (f"\n  hint: {remedy}" if remedy else ""))
        self.host = host
        self.step = step
        self.reason = reason
        self.hint = remedy


def remedy_for(reason: str) -> str:
    """The remedy for a message of ssh, sudo or the agent; empty if unknown."""
    lowered = reason.lower()
    return next((remedy for words, remedy in REMEDIES if words in lowered), "")


@dataclass(frozen=True)
class Agent:
    """The program to copy to each machine."""

    content: bytes

    @property
    def digest(self) -> str:
        """Digest of the program, which is part of its name on the machine."""
        return hashlib.sha256(self.content).hexdigest()[:16]


def ssh_words(machine: Machine) -> list[str]:
    """`ssh` and its options, up to the command: the testbed file takes precedence over the user's configuration."""
    words = [SSH, *(word for option in OPTIONS for word in ("-o", option))]
    if machine.config is not None:
        words += ["-F", str(Path(machine.config).expanduser())]
    if machine.user is not None:
        words += ["-l", machine.user]
    if machine.port is not None:
        words += ["-p", str(machine.port)]
    if machine.key is not None:
        words += ["-o", f"IdentityFile={_configured(machine.key)}", "-o", "IdentitiesOnly=yes"]
    if machine.known_hosts is not None:
        words += ["-o", f"UserKnownHostsFile={_configured(machine.known_hosts)}", "-o", "GlobalKnownHostsFile=none"]
    if machine.jump is not None:
        words += ["-J", machine.jump]
    return [*words, "--", machine.address]


def _configured(path: str) -> str:
    """A path in the syntax of ssh's configuration: quoted, because of spaces, and with `%` doubled, because ssh expands
    `%h`. The testbed file refuses `${`, which ssh also expands, without an escape. [ssh_config(5)]
    """
    word = str(Path(path).expanduser()).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{word}"'


def command_words(machine: Machine, agent: Agent, role: Sequence[str]) -> list[str]:
    """The complete command that runs the agent in a role on a machine."""
    sudo = ["sudo"] if machine.sudo else []
    remote = ["sh", "-c", LAUNCH, "sh", agent.digest, str(len(agent.content)), *sudo, *role]
    return [*ssh_words(machine), shlex.join(remote)]


class Connection:
    """The agent in a role on a machine. Closing it ends the agent."""

    def __init__(self, host: str, machine: Machine, agent: Agent, role: Sequence[str]) -> None:
        self.host = host
        self.management = ""
        """Address of the machine on the management network, as seen by its sshd."""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - it ends with the connection
        try:
            self._process = subprocess.Popen(
                command_words(machine, agent, role),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                # Ctrl-C must only reach the controller, which shuts down in order.
                start_new_session=True,
            )
        except FileNotFoundError:
            self._stderr.close()
            hint = "install it: apt-get install openssh-client"
            raise Unsuitable(f"missing: ssh, which reaches the machines of a testbed\n  hint: {hint}") from None
        try:
            self._place_agent(agent)
        except BaseException:
            self.close()
            raise

    @property
    def output(self) -> IO[bytes]:
        """The agent's output."""
        assert self._process.stdout is not None
        return self._process.stdout

    def send(self, data: bytes) -> None:
        """Sends data to the agent; ignores errors, because the missing answer is reported."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def reason(self, otherwise: str) -> str:
        """Why the connection ended, from the output of ssh."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS_S)
        self._stderr.seek(0)
        stderr = self._stderr.read().decode(errors="replace").strip()
        lines = [line.strip() for line in stderr.splitlines() if line.strip(" @")]
        return lines[-1] if lines else otherwise

    def close(self) -> None:
        """Ends the connection and closes all files."""
        self.end()
        self.output.close()
        self._stderr.close()

    def end(self, patience_s: float = 5.0) -> None:
        """Closes the input of the agent, which then ends."""
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _place_agent(self, agent: Agent) -> None:
        answer, _, rest = self._line().partition(" ")
        system, connection = rest.split()[:2], rest.split()[2:]
        if answer in ("have", "need") and system != RUNS_ON:
            hint = (
                "the agent is a program for Linux on x86_64; other machines can be switches and routers of the network"
            )
            raise HostFailed(self.host, "connecting", f"it is {' '.join(system)}", hint)
        if answer == "need":
            self.send(agent.content)
            if self._line() != "put":
                reason = self.reason("the agent could not be copied")
                raise HostFailed(self.host, "copying the agent", reason, "is its disk full?")
        elif answer != "have":
            raise HostFailed(self.host, "connecting", self.reason(f"it answered `{answer[:60]}`"))
        self.management = connection[2] if len(connection) >= 3 else ""

    def _line(self) -> str:
        return self.output.readline().decode(errors="replace").strip()


def local_agent(path: Path) -> Agent:
    """The agent of this installation."""
    return Agent(path.read_bytes())

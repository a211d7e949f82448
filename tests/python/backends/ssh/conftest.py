"""The lab of `scripts/testbed-lab.sh`: six hosts and a router, namespaces of this machine, each with an sshd."""

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailback import scenario
from tailback.backends.ssh import Ssh, run
from tailback.backends.ssh.connection import local_agent
from tailback.backends.ssh.facts import Facts
from tailback.kernel import build_agent
from tailback.resolved import Scenario
from waiting import until

ROOT = Path(__file__).parents[4]
SCRIPT = ROOT / "scripts" / "testbed-lab.sh"
NEEDED = {"ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping", "ssh": "openssh-client",
          "sshd": "openssh-server", "sysctl": "procps", "tcpdump": "tcpdump", "iperf3": "iperf3"}  # fmt: skip

EXPERIMENT = """\
title: three staggered flows
links:
  - {lan: [h1, h2, h3, router]}
  - {lan: [router, h4, h5, h6]}
qdiscs:
  router -> lan2: htb rate 10mbit burst 1600 cburst 1600 | pfifo limit 50
  router -> lan1: htb rate 10mbit burst 1600 cburst 1600 | pfifo limit 50
hosts:
  h1: {sysctl: {net.ipv4.tcp_pacing_ca_ratio: 150}}
  h2:
  h3:
  router:
  h4:
  h5:
  h6:
traffic:
  - {tcp: h1 -> h4, name: first, start: 0s}
  - {tcp: h2 -> h5, name: second, start: 1s, stop: 4s}
  - {tcp: h3 -> h6, name: third, start: 2s, stop: 3s}
  - {ping: h1 -> h4, interval: 50ms}
cc: reno
duration: 5s
measure: {window: [1s, 5s]}
"""


SMALL = """\
title: one flow
links:
  - {lan: [h1, router]}
  - {lan: [router, h4]}
hosts:
  h1: {sysctl: {net.ipv4.tcp_pacing_ca_ratio: 150}}
  router:
  h4:
qdiscs:
  router -> lan2: htb rate 10mbit burst 1600 cburst 1600 | pfifo limit 50
traffic:
  - {tcp: h1 -> h4, name: first}
  - {ping: h4 -> h1}
duration: 900s
"""
"""Three of the machines, for tests in which something is killed; it does not end by itself before that."""

TAKING_PART = ("h1", "router", "h4")


def absent() -> list[str]:
    """Missing packages; also `root` if the process is not root."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    packages = [package for program, package in NEEDED.items() if shutil.which(program, path=path) is None]
    return sorted({*packages, *([] if os.geteuid() == 0 else ["root"])})


@dataclass(frozen=True)
class Lab:
    """A lab that is set up."""

    folder: Path
    prefix: str

    @property
    def testbed(self) -> Path:
        return self.folder / "testbed.yaml"

    def within(self, host: str, *words: str) -> str:
        """The output of a program that runs on a host."""
        command = ["ip", "netns", "exec", f"{self.prefix}-{host}", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def processes(self, host: str) -> dict[int, str]:
        """Processes of a host with their command lines, without its listening sshd."""
        listening = int((self.folder / f"sshd_{host}.pid").read_text())
        said = subprocess.run(
            ["ip", "netns", "pids", f"{self.prefix}-{host}"], capture_output=True, text=True, check=True
        )
        found = {}
        for number in map(int, said.stdout.split()):
            try:
                words = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if number != listening and words:
                found[number] = words
        return found

    def state(self) -> dict[str, tuple[str, ...]]:
        """Everything that a run of the small experiment changes."""
        return {host: self._state(host) for host in TAKING_PART}

    def at_rest(self) -> dict[str, tuple[str, ...]]:
        """The state in which no run is under way. The last processes of a run may end after its controller."""
        until(lambda: not any(self.agents(host) for host in TAKING_PART))
        return self.state()

    def agents(self, host: str) -> list[str]:
        """The command lines of the agents on a host."""
        return [words for words in self.processes(host).values() if "agent-" in words]

    def _state(self, host: str) -> tuple[str, ...]:
        devices = ["eth1", "eth2"] if host == "router" else ["eth1"]
        return (
            self.within(host, "tc", "qdisc", "show"),
            self.within(host, "ip", "route", "show"),
            # An address of IPv6 appears some time after its device is up.
            self.within(host, "ip", "-4", "-br", "address", "show"),
            self.within(host, "sysctl", "net.ipv4.ip_forward", "net.ipv4.tcp_no_metrics_save",
                        "net.ipv4.ping_group_range", "net.ipv4.tcp_pacing_ca_ratio"),
            *(self.within(host, "ethtool", "-k", device) for device in devices),
            *(self.within(host, "ip", "-d", "link", "show", device) for device in devices),
            *self.agents(host),
        )  # fmt: skip


def own_prefix() -> str:
    """The prefix of the lab's addresses (`scripts/testbed-lab.sh`), different for each test process. Its network is not
    that of a lab that killed tests left behind.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return next(
        prefix
        for number in itertools.count(os.getpid())
        if (octet := octet_of(prefix := f"t{number % 100_000}")) % workers == worker and is_free(octet)
    )


def octet_of(prefix: str) -> int:
    """The third number of the addresses of a lab."""
    said = subprocess.run(["cksum"], input=prefix, capture_output=True, text=True, check=True).stdout
    return int(said.split()[0]) % 250


def is_free(octet: int) -> bool:
    """Whether no device of this machine has an address in the network of a lab."""
    command = ["ip", "-brief", "address", "show", "to", f"198.18.{octet}.0/24"]
    return not subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def built(folder: Path) -> tuple[Lab, subprocess.CompletedProcess[str]]:
    """A lab, and what building it said. Other tests on this machine may take its addresses after it has chosen them."""
    while True:
        made = Lab(folder, own_prefix())
        words = [str(SCRIPT), "up", str(folder), made.prefix]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if "is in use by" not in done.stderr:
            return made, done


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The lab, for all tests that need one."""
    if absent():
        reason = f"needs {', '.join(absent())}: scripts/test-packages.sh, as root"
        pytest.skip(reason)
    made, done = built(tmp_path_factory.mktemp("lab"))
    try:
        if done.returncode:
            pytest.skip(f"no namespaces here: {done.stderr.strip()}")
        yield made
    finally:
        subprocess.run([str(SCRIPT), "down", str(made.folder), made.prefix], check=True)


@pytest.fixture(scope="session")
def ssh(lab: Lab) -> Ssh:
    """The lab as a backend."""
    return Ssh.of_file(str(lab.testbed))


@pytest.fixture(scope="session")
def facts(ssh: Ssh) -> Mapping[str, Facts]:
    """The facts about the machines of the lab."""
    with run.sessions(ssh.testbed.machines, ssh.testbed, local_agent(build_agent())) as opened:
        return run.facts_of(opened)


def resolved(*settings: str, text: str = EXPERIMENT) -> Scenario:
    """The scenario of the first run."""
    return scenario.loads(text, settings).runs()[0].scenario

"""A kernel for programs: how they read its clock, and what its hosts send unasked."""

import itertools
import json
import tempfile
from pathlib import Path

import pytest

from backends.uml.test_captures import shown
from backends.uml.test_programs import bits, command, of_file, run
from tailback.backends import uml
from tailback.backends.uml import Uml
from tailback.kernel import Recipe, build, build_agent, package

PROGRAMS = "programs"
NEWER = f"linux-7.3-{PROGRAMS}"
READINGS = 5000
STEP_NS = 256
"""Steps of the clock of a guest."""

READER = f"""
import ctypes, json, time
libc = ctypes.CDLL(None)
time_of = (ctypes.c_long * 2)()
READ = {{
    "library": lambda clock: libc.clock_gettime(clock, time_of),
    "system call": lambda clock: libc.syscall(228, clock, time_of),
}}
found = {{}}
for how, read in READ.items():
    for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC):
        times = []
        for _ in range({READINGS}):
            read(clock)
            times.append(time_of[0] * 10**9 + time_of[1])
        found[f"{{how}}, {{clock}}"] = times
print(json.dumps(found))
"""
IPV4, IPV6 = "0x0800", "0x86dd"

pytestmark = pytest.mark.campaign


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def kernel() -> Uml:
    """The kernel, which is built if it is not in the cache."""
    build(Recipe(package("6.12"), PROGRAMS, (PROGRAMS,)), print)
    build_agent()
    return Uml.named(PROGRAMS)


def test_a_reading_of_the_clock_takes_as_long_with_a_system_call_as_without(kernel: Uml, tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text(READER)
    reader = command("python3 reader.py", files=["reader.py"], syscall="250ns")
    found = json.loads(run(kernel, of_file(tmp_path, reader)).files["it.stdout"])
    assert len(found) == 4
    for times in found.values():
        assert all(later > earlier for earlier, later in itertools.pairwise(times))
        # The system call itself, and what any reading of the clock takes; beside them passes what ticks take.
        passed_ns = times[-1] - times[0]
        assert passed_ns == pytest.approx((READINGS - 1) * (250 + STEP_NS), rel=0.002)


def kinds_of_packets(kernel: Uml, folder: Path, words: str) -> set[str]:
    """What the frames carry that the hosts send while a program of root runs, and a flow of TCP."""
    flow = {"tcp": "client -> server", "name": "flow", "stop": "2s"}
    given = of_file(folder, flow, command(words, user="root"), measure={"pcap": ["client", "router", "server"]})
    found = run(kernel, given).captures
    assert list(found) == ["client", "router", "server"]
    for host, content in found.items():
        (folder / f"{host}.pcapng").write_bytes(content)
    return {kind for host in found for kind in shown(folder / f"{host}.pcapng", "-T", "fields", "-e", "eth.type")}


def test_a_host_sends_no_packet_that_nobody_asked_for(kernel: Uml, tmp_path: Path) -> None:
    assert kinds_of_packets(kernel, tmp_path, "sleep 3") == {IPV4}
    on = "for each in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 0 > $each; done; sleep 3"
    assert kinds_of_packets(kernel, tmp_path, f"sh -c '{on}'") == {IPV4, IPV6}


BUSY = """
import os, select, subprocess, threading, time
threads = [threading.Thread(target=lambda: [select.select([], [], [], 0.001) for _ in range(50)]) for _ in range(5)]
for thread in threads:
    thread.start()
for _ in range(20):
    subprocess.run(["sh", "-c", "ls / | wc -l; kill -9 $$"], check=False)
for thread in threads:
    thread.join()
print(time.monotonic_ns(), os.times())
"""
"""Processes that fork, run others and are killed, beside threads: a guest enters and leaves all of them."""


def test_programs_do_the_same_however_their_system_calls_are_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(Recipe(package("7.3"), NEWER, (PROGRAMS,)), print)
    build_agent()
    (tmp_path / "busy.py").write_text(BUSY)
    flow = {"tcp": "client -> server", "name": "flow", "stop": "2s"}
    given = of_file(tmp_path, flow, command("python3 busy.py", files=["busy.py"], start="500ms"))

    def caught(how: str) -> dict[str, bytes]:
        monkeypatch.setattr(uml, "how_processes_run", lambda _version: [f"seccomp={how}"])
        return bits(run(Uml.named(NEWER), given))

    once, again, traced = caught("on"), caught("on"), caught("off")
    assert once == again
    assert once["it.stdout"].count(b"\n") == 21
    # With threads, and where a process becomes another program, an RTT may differ by a microsecond.
    assert {name for name in once if once[name] != traced[name]} <= {"tcp_info"}

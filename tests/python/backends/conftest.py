"""The cached kernel, for the tests that need one. CI builds it; without it these tests are skipped."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tailback.backends.uml import Uml
from tailback.kernel import STOCK, KernelMissing, Recipe, build, build_agent, package

Json: TypeAlias = dict[str, Any]
SECOND = 1_000_000_000


@pytest.fixture(scope="session")
def uml() -> Uml:
    if os.environ.get("CI") == "true":
        build(Recipe(package("6.12"), STOCK), print)
        build_agent()
    try:
        return Uml.named(None)
    except KernelMissing as missing:
        pytest.skip(f"needs a kernel: {missing}")


def left_running(room: Path) -> list[str]:
    """Processes whose working directory lies in `room`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(room):
                found.append(entry.name)
        except OSError:
            continue
    return found


def kernel_in(room: Path) -> int:
    """The process of the instance that runs in `room`: it leads a session. The numbers of processes do not say which
    was first: they begin anew, on many machines at 32768.
    """
    leaders = [number for number in map(int, left_running(room)) if os.getsid(number) == number]
    assert len(leaders) == 1
    return leaders[0]


def agent_in(room: Path) -> int:
    """The process that the instance in `room` traces: the agent, which is process 1 of the guest and has no others."""
    traced = [number for number in left_running(room) if tracer_of(number) == kernel_in(room)]
    assert len(traced) == 1
    return int(traced[0])


def tracer_of(process: str) -> int:
    status = (Path("/proc") / process / "status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("TracerPid:"))


def link(near: int, far: int, **changes: Any) -> Json:
    plain = {"ends": [near, far], "rate_bps": None, "delay_ns": [0, 0], "mtu": 1500, "ring": 256, "bql": False}
    return plain | changes


def flow(number: int, **changes: Any) -> Json:
    plain = {
        "kind": "tcp", "name": f"upload.{number}", "from": 0, "to": 2, "start_ns": SECOND, "stop_ns": 3 * SECOND,
        "bytes": None, "cc": {"name": "cubic", "options": {}}, "tsq": {"kind": "time", "shift": 10},
        "socket": {
            "max_pacing_rate_bps": None, "sndbuf": None, "rcvbuf": None, "rcvlowat": 1,
            "notsent_lowat": None, "mss": None,
        },
    }  # fmt: skip
    return plain | changes


@pytest.fixture
def scenario() -> Callable[..., Json]:
    """A client, a router and a server; the client shapes to 10 Mbit/s; two flows of 2 s and a ping."""

    def make(**changes: Any) -> Json:
        options = {"rate": 10_000_000, "burst": 1600, "cburst": 1600, "quantum": 1514}
        child = {"kind": "pfifo", "options": {"limit": 100}, "child": None}
        plain: Json = {
            "title": "a test of the kernel",
            "seed": 1,
            "duration_ns": 4 * SECOND,
            "hosts": [{"name": name, "stack": "linux-6.12", "sysctl": {}} for name in ("client", "router", "server")],
            "links": [link(0, 1), link(1, 2, delay_ns=[0, 200_000])],
            "qdiscs": [{"host": 0, "link": 0, "root": {"kind": "htb", "options": options, "child": child}}],
            "traffic": [
                flow(1),
                flow(2),
                {
                    "kind": "ping", "name": "ping", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 4 * SECOND,
                    "interval_ns": SECOND // 5, "size": 64,
                },
            ],
            "record": {"interval_ns": SECOND // 10, "tcp_info": "interval", "events": False},
        }  # fmt: skip
        return plain | changes

    return make

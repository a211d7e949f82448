"""`fq_codel ce_threshold_selector`: which packets a kernel marks, and that the simulator marks the same kinds."""

from pathlib import Path

import pytest

import tailback
from tailback.backends.uml import Uml

SHARED = """
hosts:
  client: {sysctl: {net.ipv4.tcp_ecn: 1}}
  router: {}
  server: {sysctl: {net.ipv4.tcp_ecn: 1}}
links: [{ends: [client, router], rate: 1gbit}, {ends: [router, server], rate: 1gbit, delay: [0us, 10ms]}]
qdiscs: {router -> server: htb rate 20mbit | fq_codel ce_threshold 1ms SELECTOR}
traffic:
  - {tcp: client -> server, name: plain, cc: dctcp}
  - {tcp: client -> server, name: ef, cc: dctcp, dscp: EF}
duration: 3s
measure: {warmup: 1s}
"""

SELECTORS = {
    "": {"plain", "ef"},
    "ce_threshold_selector 0x2/0x3": {"plain", "ef"},
    "ce_threshold_selector 0x1/0x3": set(),
    "ce_threshold_selector 0xb8/0xfc": {"ef"},
}
"""The flows that each marks, of two of DCTCP, which sends ECT(0)."""


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_flow_that_is_not_selected_waits_for_codel(uml: Uml, tmp_path: Path, selector: str) -> None:
    (tmp_path / "x.yaml").write_text(SHARED.replace("SELECTOR", selector))
    for backend in ("sim", uml.name):
        (run,) = tailback.run(tmp_path / "x.yaml", backend=backend, out=tmp_path / backend.replace(":", "-")).runs
        info = run.table("tcp_info")
        late = info[info["t"] > 1].groupby("flow")["rtt"].median() / 1000
        # The base RTT is 10 ms. A flow that is selected has 1 ms of queue, another one CoDel's target of 5 ms.
        marked = {flow for flow, rtt in late.items() if rtt < 12.5}
        assert marked == SELECTORS[selector], (backend, late.to_dict())


DATAGRAMS = """
import socket, sys
for port, octet in ((9001, 1), (9002, 2), (9003, 0)):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, octet)
    for _ in range(100):
        sender.sendto(bytes(1000), (sys.argv[1], port))
"""

PROGRAM = """
links: [{ends: [client, router]}, {ends: [router, server]}]
qdiscs: {router -> server: htb rate 10mbit | fq_codel target 1s ce_threshold 1ms SELECTOR}
traffic:
  - {program: client, name: sender, run: "python3 send.py {server}", files: [send.py], stop: 4s}
duration: 5s
measure: {warmup: 0s}
"""


def marks(uml: Uml, folder: Path, selector: str) -> int:
    folder.mkdir()
    (folder / "send.py").write_text(DATAGRAMS)
    (folder / "x.yaml").write_text(PROGRAM.replace("SELECTOR", selector))
    (run,) = tailback.run(folder / "x.yaml", backend=uml.name, out=folder / "out").runs
    queue = run.table("qdisc")
    return int(queue[queue["kind"] == "fq_codel"]["marked"].max())


def test_the_kernel_marks_datagrams_of_ect_1_alone_with_its_selector(uml: Uml, tmp_path: Path) -> None:
    every = marks(uml, tmp_path / "every", "")
    one = marks(uml, tmp_path / "one", "ce_threshold_selector 0x1/0x3")
    assert 190 <= every <= 200
    assert 95 <= one <= 100

"""Runs on the kernel of this machine: their results, what is refused, and that they leave nothing behind.

The machine that runs the tests may be busy. Where a test is not about validity, the limits are set out of reach.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from backends.conftest import SECOND, flow, left_running, link
from tailback.analysis.passive import TCP
from tailback.backends import Clock, RunCancelled, RunFailed, RunInvalid, Unsuitable
from tailback.backends.linux import process, tables
from tailback.backends.linux.job import job_of
from tailback.backends.netns import Netns, emulation
from tailback.formats.pcap import packets
from tailback.kernel import BuildFailed, KernelMissing
from tailback.resolved import of_json
from waiting import alive, ended, joined, until

Make = Callable[..., dict[str, Any]]
SYN = 2
NO_LIMITS = emulation.Shares(*[float("inf")] * 5)
NOBODY = 65534
EXPERIMENT = """\
title: a run in real time
links: [{ends: [client, server]}]
qdiscs: {client -> server: htb rate 10mbit | pfifo}
traffic: [{tcp: client -> server, start: 0s, stop: 120s}, {ping: client -> server}]
duration: 120s
"""


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs create their folders here, so that the test finds what they leave behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def agent() -> Path:
    """The agent, on a machine that allows namespaces; CI does."""
    try:
        found = Netns.of_this_machine()
        found.check(of_json(make_bare()))
    except (KernelMissing, BuildFailed, Unsuitable) as missing:
        pytest.skip(f"needs namespaces: {missing}")
    return found.agent


@pytest.fixture
def netns(agent: Path) -> Netns:
    return Netns(agent, NO_LIMITS)


@pytest.fixture
def bare(scenario: Make) -> Make:
    """The scenario of these tests without a delay, which would need netem."""

    def make(**changes: Any) -> dict[str, Any]:
        flows = [flow(number, start_ns=0, stop_ns=2 * SECOND) for number in (1, 2)]
        plain = scenario(links=[link(0, 1), link(1, 2)], duration_ns=2 * SECOND)
        ping = plain["traffic"][2] | {"stop_ns": 2 * SECOND}
        return plain | {"traffic": [*flows, ping]} | changes

    return make


def make_bare() -> dict[str, Any]:
    """Two hosts connected directly."""
    hosts: list[dict[str, Any]] = [{"name": name, "stack": "linux-6.12", "sysctl": {}} for name in ("a", "b")]
    record = {"interval_ns": SECOND, "tcp_info": "interval", "events": False}
    plain = {"title": "bare", "seed": 1, "duration_ns": SECOND, "qdiscs": [], "traffic": []}
    return plain | {"hosts": hosts, "links": [link(0, 1)], "record": record}


def devices() -> set[str]:
    """The network devices that this process sees."""
    return {path.name for path in Path("/sys/class/net").iterdir()}


def test_the_tables_are_those_of_the_contract_and_the_rate_is_kept(netns: Netns, bare: Make) -> None:
    before = devices()
    given = bare()
    given["traffic"][1]["cc"] = {"name": "reno", "options": {}}
    result = netns.run(of_json(given), netns.new_progress())
    assert {name: table.names for name, table in result.tables.items()} == {
        name: list(columns) for name, columns in tables.COLUMNS.items()
    }
    shares = {f"cpu_{name}" for name in ("running", "waiting", "softirq", "stolen", "late")}
    assert set(result.cost) == {"wall_s", "cpu_s", "sim_s", "segments"} | shares
    qdisc = result.tables["qdisc"].to_arrow().to_pandas()
    assert set(qdisc["device"]) == {"client -> router"}
    assert set(qdisc["kind"]) == {"htb", "pfifo"}
    last = qdisc[qdisc.kind == "htb"].iloc[-1]
    # A shaper never sends faster, up to its burst; how much slower depends on how busy the machine is. A busy machine
    # reads the last counters late, though before the run ends.
    assert 0 < last.sent_bytes * 8 < 10e6 * result.cost["wall_s"] + 0.05 * 10e6
    # Offloads are off: a packet is one segment.
    assert last.sent_bytes / last.sent_packets < 1514
    assert set(result.tables["flows"].to_arrow()["flow"].to_pylist()) == {"upload.1", "upload.2"}
    assert min(result.tables["ping"].to_arrow().to_pandas().rtt_ms.dropna()) > 0
    made = {device["interface"] for device in job_of(of_json(given))["devices"]}
    assert made
    assert (devices() - before).isdisjoint(made)


def covered(seen: pd.DataFrame, port: int) -> tuple[int, int]:
    """The first byte of a flow by its packets, and how many follow without a hole."""
    sent = seen[seen["sport"] == port]
    first = int(sent["seq"].iloc[0]) + bool(sent["flags"].iloc[0] & SYN)
    spans = sorted(zip((sent["seq"].astype("int64") - first) % 2**32, sent["payload"], strict=True))
    end = 0
    for begin, length in spans:
        if begin > end:
            break
        end = max(end, begin + length)
    return first, end


def test_a_capture_has_every_packet_of_the_run(netns: Netns, bare: Make, tmp_path: Path) -> None:
    given = bare()
    given["record"]["pcap"] = [0, 2]
    result = netns.run(of_json(given), netns.new_progress())
    assert list(result.captures) == ["client", "server"]
    found = {}
    for host, content in result.captures.items():
        (tmp_path / f"{host}.pcapng").write_bytes(content)
        found[host] = packets(tmp_path / f"{host}.pcapng").table
    assert min(seen["t_ns"].min() for seen in found.values()) >= 0
    client = found["client"][found["client"]["protocol"] == TCP]
    acks = client[(client["source"] != "10.0.0.1") & (client["t_ns"] < 2 * SECOND)]
    flows = set(client["sport"]) & set(acks["dport"])
    assert len(flows) == 2
    # How much that is depends on how busy the machine is; what was acknowledged has passed both hosts.
    for port in flows:
        for seen in found.values():
            first, length = covered(seen[seen["source"] == "10.0.0.1"], port)
            assert 0 < ((acks[acks["dport"] == port]["ack"].astype("int64") - first) % 2**32).max() - 1 <= length


def test_a_flow_goes_over_ipv6_with_datagrams_and_pings_beside_it(netns: Netns, bare: Make) -> None:
    if not Path("/proc/net/if_inet6").exists():
        return
    given = bare()
    ends = {"from": 0, "to": 2, "start_ns": 0, "stop_ns": 2 * SECOND, "dscp": 46}
    udp = {"kind": "udp", "name": "udp", "rate_bps": 400_000, "size": 1000, "sndbuf": None, **ends}
    echo = {"kind": "ping", "name": "echo", "interval_ns": SECOND // 10, "size": 64, "protocol": "udp", **ends}
    given["traffic"] = [given["traffic"][0] | {"ip": 6}, udp, echo]
    scenario = of_json(given)
    netns.check(scenario)
    result = netns.run(scenario, netns.new_progress())
    last = result.tables["tcp_info"].to_arrow().to_pandas().iloc[-1]
    # A header of 40 bytes and timestamps leave 1428 bytes of a packet of 1500. Both are of one moment.
    assert 1300 < last.bytes_acked / (last.delivered - last.sacked) <= 1428
    assert result.tables["udp"].to_arrow().to_pandas()["received"].sum() > 0
    assert result.tables["ping"].to_arrow().to_pandas()["rtt_ms"].count() > 0


def test_a_network_that_only_the_processor_limits_is_invalid(agent: Path, bare: Make) -> None:
    strict = Netns(agent)
    with pytest.raises(RunInvalid, match=r"the emulation was CPU-bound: .*\n  hint: .*--backend uml"):
        strict.run(of_json(bare(qdiscs=[])), strict.new_progress())


def test_an_ordinary_user_needs_no_rights(netns: Netns, bare: Make) -> None:
    if os.geteuid() != 0:
        # The other tests already run as an ordinary user.
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as shared:
        folder, program = Path(shared) / "run", Path(shared) / "agent"
        program.write_bytes(netns.agent.read_bytes())
        program.chmod(0o755)
        Path(shared).chmod(0o755)
        folder.mkdir()
        (folder / "job.json").write_text(json.dumps(job_of(of_json(bare()))))
        os.chown(folder, NOBODY, NOBODY)
        words = [str(program), "host", str(os.getpid())]
        subprocess.run(words, cwd=folder, user=NOBODY, group=NOBODY, extra_groups=[], check=False)
        assert process.failure(folder) is None
        assert (folder / "done").exists()
        assert tables.read_segments(folder) > 0


def test_a_refusal_of_the_kernel_during_a_run_is_reported(netns: Netns, bare: Make, room: Path) -> None:
    refused = bare()
    refused["hosts"][0]["sysctl"] = {"net.ipv4.tcp_no_such_thing": 1}
    with pytest.raises(RunFailed, match=r"in the namespaces: writing .1. to /proc/sys/net/ipv4/tcp_no_such_thing"):
        netns.run(of_json(refused), netns.new_progress())
    assert list(room.iterdir()) == []


def test_an_agent_without_a_parent_process_does_nothing(agent: Path, bare: Make, room: Path) -> None:
    (room / "job.json").write_text(json.dumps(job_of(of_json(bare()))))
    done = subprocess.run([agent, "host", "1"], cwd=room, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "whoever started this run is gone" in done.stderr


def test_a_run_is_cancelled(netns: Netns, bare: Make, room: Path) -> None:
    progress, raised = process.Progress(), list[BaseException]()

    def work() -> None:
        try:
            netns.run(of_json(bare(duration_ns=120 * SECOND)), progress)
        except RunCancelled as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: progress.fraction > 0, while_=thread.is_alive)
    progress.cancel()
    joined(thread)
    assert len(raised) == 1
    until(lambda: left_running(room) == [])
    assert list(room.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_controller_that_is_ended_leaves_nothing_running(number: signal.Signals, agent: Path, room: Path) -> None:
    assert agent.is_file()
    (room / "e.yaml").write_text(EXPERIMENT)
    runs = room / "runs"
    runs.mkdir()
    words = [sys.executable, "-c", "from tailback.cli import main; main()", "run", "e.yaml", "--backend", "netns"]
    environment = {**os.environ, "TMPDIR": str(runs), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(words, cwd=room, env=environment, stderr=subprocess.DEVNULL) as controller:
        until(lambda: list(runs.glob("*/progress")), while_=alive(controller))
        assert left_running(runs) != []
        controller.send_signal(number)
        ended(controller)
    until(lambda: left_running(runs) == [])
    # A folder may remain after SIGKILL; the next run removes it.
    for folder in runs.iterdir():
        os.utime(folder, (0, 0))
    tempfile.tempdir = str(runs)
    with process.run_folder("tailback-netns-"):
        assert len(list(runs.iterdir())) == 1
    assert not list((room / "results" / "e" / "runs").iterdir())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s["hosts"][0].update(stack="linux-2.6"), "host `client` has the stack `linux-2.6`"),
        (lambda s: s["traffic"][0]["cc"].update(name="nonesuch"), "does not have the congestion control `nonesuch`"),
        (lambda s: s["traffic"][0].update(tsq={"kind": "off"}), "`upload.1` has a `tsq` other than 1ms"),
        (lambda s: s["traffic"][0].update(tsq={"kind": "time", "shift": 8}), "a `tsq` other than 1ms"),
        (lambda s: s["traffic"][0].update(tsq={"kind": "bytes", "bytes": 65_536}), "tcp_limit_output_bytes"),
        (lambda s: s["traffic"][0]["cc"].update(options={"beta": 700}), "`beta` of `cubic` would change for every"),
        (lambda s: s["hosts"][1].update(sysctl={"net.ipv4.tcp_none": 1}), "`net.ipv4.tcp_none` cannot be 1"),
        (lambda s: s["qdiscs"][0]["root"]["child"].update(kind="pfifo", options={"limit": -1}), "discipline `pfifo`"),
        (lambda s: s["links"].append(link(0, 1)), "are connected by two links"),
        (lambda s: s["record"].update(tcp_info="ack"), "after each ACK"),
    ],
)
def test_what_this_kernel_cannot_run_is_refused_by_name(
    change: Callable[[dict[str, Any]], object], said: str, netns: Netns, bare: Make
) -> None:
    given = bare()
    change(given)
    with pytest.raises(Unsuitable, match=r"\n  hint: ") as refused:
        netns.check(of_json(given))
    assert said in str(refused.value)


def test_a_link_with_a_delay_is_run_or_refused_with_what_is_missing(netns: Netns, bare: Make) -> None:
    given = bare(links=[link(0, 1), link(1, 2, delay_ns=[5_000_000, 5_000_000])])
    try:
        netns.check(of_json(given))
    except Unsuitable as refused:
        assert "the rate or delay of the link router - server needs netem" in str(refused)
        assert "modprobe -a sch_netem" in str(refused)
        return
    found = netns.run(of_json(given), netns.new_progress())
    assert min(found.tables["ping"].to_arrow().to_pandas().rtt_ms.dropna()) >= 10.0


def test_where_namespaces_are_not_allowed_the_remedies_are_named(bare: Make, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\ncat >/dev/null\necho 'making a user namespace: not permitted' >&2\nexit 3\n")
    agent.chmod(0o755)
    with pytest.raises(Unsuitable, match=r"does not allow namespaces: making a user namespace.*\n  hint: run as root"):
        Netns(agent).check(of_json(bare()))


def test_runs_pass_in_real_time() -> None:
    assert Netns.clock is Clock.REAL

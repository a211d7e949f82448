"""Runs on the lab, a testbed of namespaces with an sshd each: their results, and that they leave nothing behind.

Machines of a testbed work in real time. A busy machine sends less and later, never more or sooner: `make test` asserts
only that. `make campaign-tests` compares the rest with the simulator, on an idle machine.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

import tailback
from backends.ssh.conftest import EXPERIMENT, SMALL, Lab, resolved
from tailback import testbed
from tailback.backends import Clock, RunCancelled, RunFailed, Unsuitable
from tailback.backends.linux import tables
from tailback.backends.ssh import Ssh, suitable
from tailback.backends.ssh.facts import Facts
from tailback.backends.ssh.layout import Layout
from tailback.backends.ssh.plan import plan_of
from tailback.backends.ssh.run import TestbedProgress
from tailback.formats import pcap
from tailback.kernel import build_agent
from tailback.resolved import of_json, to_json
from tailback.results import Results, open_results
from waiting import alive, joined, until

CONTROLLER = [sys.executable, "-c", "from tailback.cli import main; main()"]


# A burst of the shaper and a late sample can make a bottleneck exceed its rate by this factor.
MORE = 1.05


@pytest.fixture(scope="module")
def carried(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The experiment on the lab, as a user runs it."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "e.yaml").write_text(EXPERIMENT)
    return tailback.run(folder / "e.yaml", backend=f"ssh:{lab.testbed}", out=folder / "ssh")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The experiment of the testbed, run in the simulator."""
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "e.yaml").write_text(EXPERIMENT)
    return tailback.run(folder / "e.yaml", out=folder / "sim")


def test_three_staggered_flows_have_no_more_than_those_of_the_simulator(carried: Results, simulated: Results) -> None:
    measured, expected = carried.runs[0].summary, simulated.runs[0].summary
    for summary in (measured, expected):
        assert set(summary["goodput_mbps"]["flows"]) == {"first", "second", "third"}
    assert min(measured["goodput_mbps"]["flows"].values()) > 0
    assert measured["goodput_mbps"]["total"] < MORE * expected["goodput_mbps"]["total"]


@pytest.mark.campaign
def test_three_staggered_flows_are_those_of_the_simulator(carried: Results, simulated: Results) -> None:
    measured, expected = carried.runs[0].summary, simulated.runs[0].summary
    assert measured["goodput_mbps"]["total"] == pytest.approx(expected["goodput_mbps"]["total"], rel=0.03)
    assert measured["tcp_rtt_ms"]["p50"] == pytest.approx(expected["tcp_rtt_ms"]["p50"], rel=0.15)
    assert measured["ping_ms"]["p90"] == pytest.approx(expected["ping_ms"]["p90"], rel=0.15)


def test_the_tables_are_those_of_the_contract_and_of_both_ends(carried: Results) -> None:
    run = carried.runs[0]
    for name, columns in tables.COLUMNS.items():
        assert list(run.table(name).columns) == list(columns)
    flows = run.table("flows")
    starts = flows.groupby("flow")["t"].min()
    # All machines have one time axis: each flow begins when the file says.
    assert starts["second"] > 1
    assert starts["third"] > 2
    queue = run.table("qdisc")
    assert set(queue["device"]) == {"router -> lan1", "router -> lan2"}
    assert set(zip(queue["kind"], queue["depth"], strict=True)) == {("htb", 0), ("pfifo", 1)}
    received = run.table("tcp_info_receiver").groupby("flow")["bytes_received"].max()
    # Besides the data, only the token at the start of the connection is received.
    assert received["third"] == flows[flows.flow == "third"]["bytes"].sum() + 32 + 1


def test_the_manifest_describes_each_machine_without_secrets(carried: Results, lab: Lab) -> None:
    file = next((carried.path / "runs").glob("*/manifest.json"))
    manifest = json.loads(file.read_text())
    router = manifest["testbed"]["machines"]["router"]
    assert router["kernel"] == os.uname().release
    assert router["sysctl"]["net.ipv4.tcp_congestion_control"]
    assert router["devices"]["eth2"]["driver"] == "veth"
    assert "tc qdisc add dev eth2 parent 1:1 handle 2: pfifo limit 50" in router["commands"]
    htb = {each["dev"]: each for each in router["qdiscs_at_end"] if each["kind"] == "htb"}
    assert htb["eth2"]["packets"] > 100
    assert router["clock"]["uncertainty_us"] > 0
    assert (lab.folder / "key").read_text() not in file.read_text()


def test_the_commands_are_those_that_an_expert_would_type(ssh: Ssh, facts: Mapping[str, Facts]) -> None:
    text = EXPERIMENT.replace(
        "router -> lan2: htb rate 10mbit burst 1600 cburst 1600 | pfifo limit 50",
        'router -> lan2: ["netem delay 10ms limit 1000", "htb rate 10mbit | fq_codel limit 180"]',
    )
    plan = plan_of(Layout(resolved(text=text), ssh.testbed, facts), "TOKEN")
    words = [step.words for step in plan.steps if step.host == "router"]
    assert words[-11:] == [
        "tc qdisc add dev eth1 root handle 1: htb default 1",
        "tc class add dev eth1 parent 1: classid 1:1 htb rate 10000000bit burst 1600 cburst 1600",
        "tc qdisc add dev eth1 parent 1:1 handle 2: pfifo limit 50",
        "tc qdisc add dev eth2 clsact",
        "ip link add name tbo-eth2 type ifb",
        "ip link set tbo-eth2 up",
        "tc qdisc add dev tbo-eth2 root handle 1: netem limit 1000 delay 10000.000us",
        "tc filter add dev eth2 egress protocol ip u32 match u32 0 0 action mirred egress redirect dev tbo-eth2",
        "tc qdisc add dev eth2 root handle 1: htb default 1",
        "tc class add dev eth2 parent 1: classid 1:1 htb rate 10000000bit",
        "tc qdisc add dev eth2 parent 1:1 handle 2: fq_codel limit 180",
    ]
    assert words[:-11] == [
        "sysctl -w net.ipv4.tcp_no_metrics_save=1",
        "sysctl -w 'net.ipv4.ping_group_range=0 2147483647'",
        "sysctl -w net.ipv4.ip_forward=1",
        "ethtool -K eth1 tso off gso off",
        "ip link set eth1 gso_max_segs 1",
        "ethtool -K eth2 tso off gso off",
        "ip link set eth2 gso_max_segs 1",
    ]
    undone = [step.undo_words for step in plan.steps if step.host == "router" and step.undo]
    assert undone[-4:] == [
        "tc qdisc del dev eth1 root",
        "tc qdisc del dev eth2 clsact",
        "ip link del tbo-eth2",
        "tc qdisc del dev eth2 root",
    ]


def delays(captures: Mapping[str, bytes], folder: Path) -> "pd.Series[float]":
    """One-way delays in ms from h1 to h4, by their captures."""
    for name, content in captures.items():
        (folder / f"{name}.pcapng").write_bytes(content)
    found = open_results(pcap.import_files([folder / "h1.pcapng", folder / "h4.pcapng"], folder / "pcap", {}))
    table = found.runs[0].table("one_way_delay")
    return pd.Series(table[table["flow"].str.startswith("10.1.1.11:")]["owd_ms"])


def test_a_list_of_disciplines_is_passed_through_in_its_order(ssh: Ssh, lab: Lab, tmp_path: Path) -> None:
    """Two shapers, the slower one on the ifb: netem is not in every kernel."""
    text = SMALL.replace(
        "htb rate 10mbit burst 1600 cburst 1600 | pfifo limit 50",
        '["tbf rate 4mbit burst 3000 limit 30000", "htb rate 10mbit burst 1600 | pfifo limit 50"]',
    )
    before = lab.at_rest()
    given = resolved("duration=2s", "measure.pcap=[h1, h4]", text=text)
    ssh.check(given)
    found = ssh.run(given, ssh.new_progress())
    queue = found.tables["qdisc"].to_arrow().to_pandas()
    last = queue[(queue.device == "router -> lan2")].groupby(["kind", "depth"]).last()
    assert set(last.index) == {("tbf", 1), ("htb", 1), ("pfifo", 2)}
    assert 0 < last.loc[("tbf", 1)].sent_bytes * 8 / 2 < 1.1 * 4e6
    # The counters are not read at one moment; a third of a second passes at most in a hundred packets.
    assert abs(float(last.loc[("tbf", 1)].sent_packets) - float(last.loc[("htb", 1)].sent_packets)) < 100
    captured = delays(found.captures, tmp_path)
    # No delay is negative beyond the uncertainty of the clocks.
    assert len(captured) > 10
    unsure_ms = 2 * float(found.cost["clock_uncertainty_us"]) / 1000
    assert captured.min() > -0.1 - unsure_ms
    until(lambda: lab.state() == before)


DATAGRAMS = SMALL.replace("- {tcp: h1 -> h4, name: first}", "- {udp: h1 -> h4, name: first, rate: 12mbit, size: 1000b}")


def datagrams(ssh: Ssh, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The tables `udp` and `flows` of the lab, and the table `udp` of the simulator."""
    given = resolved("duration=2s", text=DATAGRAMS)
    ssh.check(given)
    found = ssh.run(given, ssh.new_progress())
    (folder / "e.yaml").write_text(DATAGRAMS)
    simulated = tailback.run(folder / "e.yaml", settings=["duration=2s"], out=folder / "sim").runs[0]
    return (
        found.tables["udp"].to_arrow().to_pandas(),
        found.tables["flows"].to_arrow().to_pandas(),
        simulated.table("udp"),
    )


def test_datagrams_are_sent_at_no_more_than_their_rate_and_counted(ssh: Ssh, tmp_path: Path) -> None:
    seen, flows, expected = datagrams(ssh, tmp_path)
    assert list(seen.columns) == list(expected.columns)
    assert 0 < seen["received"].sum() <= seen["sent"].sum() < 1.01 * expected["sent"].sum()
    assert seen["received"].sum() < MORE * expected["received"].sum()
    assert flows["bytes"].to_numpy().sum() == seen["received"].sum() * 1000


@pytest.mark.campaign
def test_datagrams_are_sent_at_their_rate_and_their_delay_is_known(ssh: Ssh, tmp_path: Path) -> None:
    seen, _, expected = datagrams(ssh, tmp_path)
    assert seen["sent"].sum() == pytest.approx(int(expected["sent"].sum()), rel=0.01)
    assert seen["received"].sum() == pytest.approx(int(expected["received"].sum()), rel=0.05)
    # The queue of 50 packets is full: each packet waits for all before it.
    assert seen["delay_ms"].iloc[-2] == pytest.approx(float(expected["delay_ms"].iloc[-2]), rel=0.1)


def test_the_flows_can_be_those_of_iperf3(lab: Lab) -> None:
    text = lab.testbed.read_text() + "engine: iperf3\n"
    ssh = Ssh(testbed.loads(text), build_agent())
    before = lab.at_rest()
    given = resolved("duration=2s", "traffic[0].start=1s", text=SMALL)
    found = ssh.run(given, ssh.new_progress())
    flows = found.tables["flows"].to_arrow().to_pandas()
    assert set(flows["flow"]) == {"first"}
    assert flows["t"].min() > 1
    assert 0 < flows["bytes"].sum() * 8 < 1.3 * 10e6
    info = found.tables["tcp_info"].to_arrow().to_pandas()
    assert info["rtt"].max() > 5_000
    assert info["snd_cwnd"].max() > 10
    assert len(found.tables["ping"]) > 0
    until(lambda: lab.state() == before)


class Running:
    """A run in another thread, and how it ended."""

    def __init__(self, ssh: Ssh) -> None:
        self.progress = TestbedProgress()
        self.raised: list[BaseException] = []
        self._thread = threading.Thread(target=self._work, args=(ssh,))
        self._thread.start()
        until(lambda: self.progress.fraction > 0, while_=self._thread.is_alive)

    def _work(self, ssh: Ssh) -> None:
        try:
            ssh.run(resolved(text=SMALL), self.progress)
        except (RunFailed, RunCancelled) as error:
            self.raised.append(error)

    def end(self) -> BaseException:
        joined(self._thread)
        assert len(self.raised) == 1
        return self.raised[0]


def killed(lab: Lab, host: str, wanted: Callable[[str], bool]) -> None:
    numbers = [number for number, words in lab.processes(host).items() if wanted(words)]
    assert numbers
    for number in numbers:
        os.kill(number, signal.SIGKILL)


def test_when_an_sshd_is_killed_the_machines_are_restored_and_its_host_is_named(ssh: Ssh, lab: Lab) -> None:
    before = lab.at_rest()
    running = Running(ssh)
    # Each machine reports its own.
    until(lambda: re.search("first [0-9.]+ Mbit/s", running.progress.words))
    assert lab.state() != before
    killed(lab, "router", lambda words: words.startswith("sshd"))
    said = str(running.end())
    assert "host `router`, measuring:" in said
    assert "\n  hint: the machine restores itself" in said
    until(lambda: lab.state() == before)


@pytest.mark.parametrize("role", [" serve ", " guard "])
def test_when_the_agent_is_killed_the_machines_are_restored(role: str, ssh: Ssh, lab: Lab) -> None:
    before = lab.at_rest()
    running = Running(ssh)
    killed(lab, "h4", lambda words: role in words)
    assert "host `h4`, measuring:" in str(running.end())
    until(lambda: lab.state() == before)


def test_the_next_run_undoes_the_changes_of_a_run_that_was_killed_on_all_sides(ssh: Ssh, lab: Lab) -> None:
    before = lab.at_rest()
    running = Running(ssh)
    for number, words in lab.processes("h1").items():
        if " serve " in words or " guard " in words:
            os.kill(number, signal.SIGSTOP)
    killed(lab, "h1", lambda words: " serve " in words or " guard " in words)
    assert "host `h1`" in str(running.end())
    assert lab.state() != before
    fresh = Ssh(ssh.testbed, build_agent())
    found = {(each.host, each.what): each for each in fresh.findings(resolved(text=SMALL))}
    assert "of a run that was killed were undone" in found["h1", "left behind"].says
    until(lambda: lab.state() == before)


def test_a_run_is_cancelled(ssh: Ssh, lab: Lab) -> None:
    before = lab.at_rest()
    running = Running(ssh)
    running.progress.cancel()
    assert isinstance(running.end(), RunCancelled)
    until(lambda: lab.state() == before)


def test_a_controller_that_is_killed_leaves_nothing_and_the_next_goes_on(lab: Lab, tmp_path: Path) -> None:
    before = lab.at_rest()
    short = SMALL.replace("duration: 900s", "duration: 4s\nrepeat: 2")
    (tmp_path / "e.yaml").write_text(short)
    command = [*CONTROLLER, "run", "e.yaml", "--testbed", str(lab.testbed), "--out", "out"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = tmp_path / "out" / "runs"

    def complete() -> list[Path]:
        return sorted(runs.glob("r*/manifest.json"))

    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as controller:
        until(lambda: len(complete()) == 1 and lab.agents("h1"), while_=alive(controller))
        controller.send_signal(signal.SIGKILL)
    until(lambda: lab.state() == before)
    first = complete()[0].stat().st_mtime_ns
    done = subprocess.run(
        [*command, "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [run["status"] for run in json.loads(done.stdout)["runs"]] == ["ok", "ok"]
    assert re.search(r"^1 s: first [0-9.]+ Mbit/s, ping [0-9.]+ ms$", done.stderr, re.MULTILINE)
    assert len(complete()) == 2
    assert complete()[0].stat().st_mtime_ns == first


def test_a_step_that_a_machine_refuses_is_named_and_undone(ssh: Ssh, lab: Lab) -> None:
    before = lab.at_rest()
    document = to_json(resolved(text=SMALL))
    document["qdiscs"][0]["root"]["child"]["options"] = {"limit": 2**40}
    given = of_json(document)
    with pytest.raises(RunFailed, match=r"host `router`, the discipline pfifo of eth[12]: `tc qdisc add"):
        ssh.run(given, ssh.new_progress())
    until(lambda: lab.state() == before)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["tsq=off"], "`first` needs no small queue, which a stock kernel does not support"),
        (["tsq=64kB"], "net.ipv4.tcp_limit_output_bytes"),
        (["tsq=100p"], "`first` needs 100 packets"),
        (["tsq=4ms"], "`first` needs 4 ms (sk_pacing_shift 8)"),
        (["hosts.h1.stack=linux-4.14"], "the experiment has the stack linux-4.14, and this is Linux"),
        (["qdiscs.router -> lan2=[pfifo, pfifo, pfifo]"], "has 3 stages"),
    ],
)
def test_what_the_machines_cannot_run_is_found_with_the_remedy(
    settings: list[str], said: str, ssh: Ssh, facts: Mapping[str, Facts]
) -> None:
    given = resolved(*settings)
    found = list(suitable.written(given, ssh.testbed))
    found = found or list(suitable.of_scenario(Layout(given, ssh.testbed, facts)))
    assert {finding.verdict for finding in found} == {"fail"}
    assert any(said in f"{finding.says} {finding.remedy}" for finding in found)
    assert all(finding.remedy for finding in found)


def test_gaps_of_the_testbed_file_are_found_before_any_connection() -> None:
    hosts = (
        "hosts: {h1: {address: 192.0.2.1, interfaces: {lan1: eth1}}, router: {address: 192.0.2.2, interfaces: {lan1: "
    )
    found = testbed.loads(f"{hosts}eth1}}}}, lan1: switch, lan2: switch}}")
    said = "\n".join(finding.says for finding in suitable.written(resolved(text=SMALL), found))
    assert "has no host `h4`" in said
    assert "has no device of `router` towards `lan2`" in said


def test_a_discipline_of_another_user_is_not_removed(ssh: Ssh, lab: Lab) -> None:
    lab.within("h4", "tc", "qdisc", "add", "dev", "eth1", "root", "handle", "7:", "pfifo", "limit", "7")
    try:
        with pytest.raises(
            Unsuitable, match=r"has the discipline pfifo, configured by someone.*\n  hint: remove it: tc qdisc del"
        ):
            Ssh(ssh.testbed, build_agent()).check(resolved(text=SMALL))
    finally:
        lab.within("h4", "tc", "qdisc", "del", "dev", "eth1", "root")


def test_runs_pass_in_real_time() -> None:
    assert Ssh.clock is Clock.REAL

"""Programs in an experiment file: their words, their names and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tailback import fitting, scenario, testbed
from tailback.backends import Unsuitable
from tailback.backends.sim import Sim
from tailback.backends.ssh import suitable
from tailback.resolved import Scenario, of_json, to_json
from tailback.scenario import ScenarioError

CLIENT = {"program": "client", "run": "iperf3 -c {server} -t 2 -J", "start": "1s"}
SERVER = {"program": "server", "run": "iperf3 -s", "server": True}


def text(*traffic: dict[str, Any], **keys: Any) -> str:
    plain = {"links": [{"ends": ["client", "server"], "rate": "10mbit"}], "traffic": list(traffic), "duration": "4s"}
    return str(yaml.safe_dump({**plain, **keys}))


def resolved(*traffic: dict[str, Any], **keys: Any) -> Scenario:
    return scenario.loads(text(*traffic, **keys)).runs()[0].scenario


def test_a_program_is_resolved_with_its_words_and_defaults() -> None:
    server, client = resolved(SERVER, CLIENT).programs
    assert (server.name, server.role, server.host, server.argv) == ("server-iperf3", "server", 1, ("iperf3", "-s"))
    assert (client.name, client.role, client.host) == ("iperf3", "client", 0)
    assert client.argv == ("iperf3", "-c", "{server}", "-t", "2", "-J")
    assert (client.user, client.exit, client.stop_ns, client.start_ns) == ("nobody", 0, None, 10**9)


def test_words_are_split_as_a_shell_splits_them_and_no_shell_reads_them() -> None:
    (found,) = resolved({"program": "client", "run": "sh -c 'echo \"$HOME\" > x; cat x'", "exit": "any"}).programs
    assert found.argv == ("sh", "-c", 'echo "$HOME" > x; cat x')
    assert found.exit is None


def test_the_json_of_a_scenario_with_programs_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>")
    entry = {**CLIENT, "files": ["page.html"], "environment": {"A": "1"}, "input": "x", "memory": "1gb"}
    (tmp_path / "x.yaml").write_text(text(SERVER, entry, clock="2026-11-29"))
    found = scenario.load(tmp_path / "x.yaml").runs()[0].scenario
    assert of_json(to_json(found)) == found
    assert found.clock_ns == 1_795_910_400 * 10**9
    assert found.programs[1].files[0].name == "page.html"


def test_another_content_of_a_file_that_is_brought_is_another_run(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text({**CLIENT, "files": ["page.html"]}))
    found = []
    for content in ("<p>", "<b>"):
        (tmp_path / "page.html").write_text(content)
        found.append(scenario.load(tmp_path / "x.yaml").runs()[0].scenario)
    assert found[0] != found[1]


def test_the_measurement_window_follows_the_programs_that_are_no_servers() -> None:
    (run,) = scenario.loads(text(SERVER, {**CLIENT, "stop": "3s"})).runs()
    assert run.window_ns == (10**9, 3 * 10**9)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no such host": ({"program": "clint", "run": "ls"}, "there is no host `clint`"),
    "a slip in the name of a host": ({"program": "client", "run": "curl {sever}"}, "there is no host `sever`"),
    "no words": ({"program": "client", "run": ""}, "names no program"),
    "an open quote": ({"program": "client", "run": "sh -c 'x"}, "cannot be split into words"),
    "too late": ({"program": "client", "run": "ls", "start": "4s"}, "`4s` is not before the end of the run"),
    "stopped too late": ({"program": "client", "run": "ls", "stop": "5s"}, "after the end of the run"),
    "a server that starts": ({**SERVER, "start": "1s"}, "a server starts before the run"),
    "no status": ({"program": "client", "run": "ls", "exit": 256}, "`256` is not an exit status"),
    "no file": ({"program": "client", "run": "ls", "files": ["nowhere.txt"]}, "`nowhere.txt` cannot be read"),
    "much output": ({"program": "client", "run": "ls", "output": "1gb"}, "is not from 64kb to 256mb"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_program_that_cannot_be_is_refused_with_a_message(what: str) -> None:
    entry, said = WRONG[what]
    with pytest.raises(ScenarioError, match=said):
        scenario.loads(text(entry))


def test_braces_that_name_no_host_are_the_programs_own() -> None:
    (found,) = resolved({"program": "client", "run": "curl -w '%{http_code}' {server}", "name": "curl"}).programs
    assert found.argv == ("curl", "-w", "%{http_code}", "{server}")
    (found,) = resolved({"program": "client", "run": "awk '{print $1}'"}).programs
    assert found.argv == ("awk", "{print $1}")


def test_two_programs_with_one_name_are_refused() -> None:
    with pytest.raises(ScenarioError, match="the name `iperf3` is already used"):
        scenario.loads(text(CLIENT, CLIENT))
    with pytest.raises(ScenarioError, match="the name `up` is already used"):
        scenario.loads(text({**CLIENT, "name": "up"}, {"tcp": "client -> server", "name": "up"}))


def test_a_date_that_is_none_is_refused() -> None:
    with pytest.raises(ScenarioError, match="`tomorrow` is not a date"):
        scenario.loads(text(CLIENT, clock="tomorrow"))


def test_the_simulator_refuses_a_program_by_name_and_says_what_comes_nearest() -> None:
    with pytest.raises(Unsuitable, match=r"program `iperf3`(?s:.*)--backend uml.*\{tcp: client -> server\}"):
        Sim().check(resolved({**CLIENT}))
    with pytest.raises(Unsuitable, match="`clock` is that of a guest"):
        Sim().check(resolved({"tcp": "client -> server"}, clock="2026-11-29"))


def test_a_testbed_refuses_programs_by_name() -> None:
    hosts = "{a: {address: 192.0.2.1, interfaces: {lan1: eth1}}, b: {address: 192.0.2.2, interfaces: {lan1: eth1}}}"
    machines = testbed.loads(f"hosts: {hosts}")
    found = list(suitable.written(resolved(SERVER, CLIENT, clock="2026-11-29"), machines))
    said = "\n".join(f"{finding.says} {finding.remedy}" for finding in found)
    assert "Tailback does not ask a kernel for this yet: the program `server-iperf3` on a machine of a testbed" in said
    assert "`clock` is that of a guest" in said


def unread(run: str) -> list[tuple[str, str]]:
    found = scenario.lint(scenario.loads(text({"program": "client", "run": run})))
    return [(each.text.split("` reaches")[0][1:], each.remedy) for each in found if each.code == "no-shell"]


@pytest.mark.parametrize(
    ("run", "word"),
    [
        ("iperf3 -c {server} > out.txt", ">"),
        ("iperf3 -c {server} >out.txt 2>&1", ">"),
        ("iperf3 -c {server} 2>/dev/null", "2>"),
        ("cat < page.html", "<"),
        ("ss -ti | grep rtt", "|"),
        ("ping -c 1 {server}; ss -ti", ";"),
        ("ping -c 1 {server} && ss -ti", "&&"),
        ("ping {server} &", "&"),
        ("iperf3 -c $SERVER", "$SERVER"),
        ("date +$(uname)", "$("),
        ("date `uname`", "`"),
        ("cat *.txt", "*.txt"),
        ("LANG=C iperf3 -c {server}", "LANG="),
        ("sh -c 'ss -ti' > out.txt", ">"),
    ],
)
def test_what_only_a_shell_would_read_is_warned_of_by_name_with_what_to_write(run: str, word: str) -> None:
    [(said, remedy)] = unread(run)
    assert said == word
    assert "sh -c" in remedy or "environment" in remedy or "`-c`" in remedy


@pytest.mark.parametrize(
    "run",
    [
        "iperf3 -c {server} -t 2 -J",
        "sh -c 'ss -ti | grep rtt > $HOME/x; cat *.txt && date `uname`'",
        'bash -lc "ss -ti > x"',
        "awk '{print $1}' x",
        "ss -i 'dport = :5001 | sport > 3'",
        r"echo \$HOME \> x",
        "curl http://{server}/?a=1&b=2",
        "iperf3 -c {server} --cport=5",
    ],
)
def test_what_is_quoted_or_plain_is_the_programs_own(run: str) -> None:
    assert unread(run) == []


def test_the_command_of_the_hint_is_the_whole_one_within_a_shell() -> None:
    [(_, remedy)] = unread("ss -ti | grep rtt")
    assert remedy == "let a shell read it: run: \"sh -c 'ss -ti | grep rtt'\""
    assert unread("sh -c 'ss -ti | grep rtt'") == []


def test_without_a_backend_programs_are_checked_for_what_every_kernel_needs() -> None:
    there = scenario.loads(text({"program": "client", "run": "sh -c 'exit 0'"}))
    assert fitting.check(there) == 1
    with pytest.raises(Unsuitable, match="no kernel for the program"):
        fitting.check(there, "sim")
    missing = scenario.loads(text({"program": "client", "run": "no-such-program"}))
    with pytest.raises(Unsuitable, match=r"the program `no-such-program` .* is not in"):
        fitting.check(missing)
    observed = scenario.loads(text({"program": "client", "run": "sh -c 'exit 0'"}, measure={"tcp_info": "ack"}))
    with pytest.raises(Unsuitable, match="after each ACK"):
        fitting.check(observed)

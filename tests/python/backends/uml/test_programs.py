"""Programs of this machine on hosts of a guest: they run in virtual time, their connections are measured, and what they
may not do is named.
"""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tailback import scenario
from tailback.analysis.table import Table
from tailback.backends import RunFailed, RunResult, Unsuitable, fingerprint_of
from tailback.backends.linux import own_figures, programs
from tailback.backends.uml import Uml
from tailback.kernel import KernelMissing
from tailback.resolved import Scenario

needs_iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3: scripts/test-packages.sh")
IPERF3 = {"program": "client", "run": "iperf3 -c {server} -t 2 -J", "start": "1s"}
SERVER = {"program": "server", "run": "iperf3 -s", "server": True}


def of_file(folder: Path, *traffic: dict[str, Any], **keys: Any) -> Scenario:
    plain = {
        "links": [{"ends": ["client", "router"], "rate": "10mbit", "delay": "5ms"}, {"ends": ["router", "server"]}],
        "traffic": list(traffic),
        "duration": "4s",
    }
    (folder / "x.yaml").write_text(yaml.safe_dump({**plain, **keys}))
    return scenario.load(folder / "x.yaml").runs()[0].scenario


def run(uml: Uml, found: Scenario) -> RunResult:
    uml.check(found)
    return uml.run(found, uml.new_progress())


def command(words: str, **more: Any) -> dict[str, Any]:
    return {"program": "client", "name": "it", "run": words, **more}


def bits(result: RunResult) -> dict[str, bytes]:
    return {**{name: table.stream for name, table in result.tables.items()}, **result.files}


@needs_iperf3
def test_iperf3_runs_in_virtual_time_and_its_connections_are_flows(uml: Uml, tmp_path: Path) -> None:
    found = of_file(tmp_path, SERVER, IPERF3)
    result = run(uml, found)
    server, client = result.notes["programs"]
    assert (client["exit"], client["stopped"], server["stopped"]) == (0, False, True)
    assert client["started_s"] == pytest.approx(1.0, abs=1e-5)
    theirs = own_figures.figures(result.files["iperf3.stdout"])
    assert theirs == client["reported"]
    assert theirs["goodput_mbps"] == pytest.approx(9.5, abs=0.2)
    control, data = client["connections"]
    assert (control["flow"], data["flow"], data["from"], data["to"]) == ("iperf3.1", "iperf3.2", "client", "server")
    flows = result.tables["flows"].to_arrow().to_pandas()
    received = flows[flows.flow == "iperf3.2"].bytes.sum()
    # A connection of data begins with the 37 bytes of the test's cookie.
    assert received == data["bytes"] == theirs["bytes"] + 37
    info = Table.of(result.tables["tcp_info"])
    assert "iperf3.2" in set(info.words("flow").present())


@needs_iperf3
def test_iperf3_has_the_goodput_and_the_rtt_of_bulk_data_of_the_agent(uml: Uml, tmp_path: Path) -> None:
    bulk = {"tcp": "client -> server", "name": "bulk", "start": "1s", "stop": "4s"}
    found = {}
    for name, traffic in (("bulk", (bulk,)), ("iperf3.2", (SERVER, {**IPERF3, "run": "iperf3 -c {server} -t 3 -J"}))):
        result = run(uml, of_file(tmp_path, *traffic, duration="5s"))
        tables = {each: result.tables[each].to_arrow().to_pandas() for each in ("flows", "tcp_info")}
        rows = {each: table[(table.flow == name) & (table.t > 2) & (table.t <= 4)] for each, table in tables.items()}
        found[name] = (rows["flows"].bytes.sum(), rows["tcp_info"].rtt.median())
    (of_agent, rtt), (theirs, their_rtt) = found["bulk"], found["iperf3.2"]
    assert theirs == pytest.approx(of_agent, rel=0.005)
    assert their_rtt == pytest.approx(rtt, rel=0.05)


@needs_iperf3
def test_a_program_runs_on_a_station_of_a_cell(tmp_path: Path) -> None:
    try:
        uml = Uml.named("wifi")
    except KernelMissing as missing:
        pytest.skip(f"needs a kernel: {missing}")
    cell = {"wifi": {"ap": "router", "stations": ["client"]}, "standard": "802.11n", "width": "20MHz", "mcs": 7}
    links = [cell, {"ends": ["router", "server"], "delay": "5ms"}]
    client = {**IPERF3, "run": "iperf3 -c {server} -n 200K -J", "start": "200ms"}
    result = run(uml, of_file(tmp_path, SERVER, client, links=links, duration="1s"))
    data = result.notes["programs"][1]["connections"][1]
    assert (data["from"], data["to"]) == ("client", "server")
    assert data["bytes"] > 50_000


@needs_iperf3
def test_a_run_with_programs_repeats_to_the_byte(uml: Uml, tmp_path: Path) -> None:
    """Two runs of two servers and two clients, one of them a program in Python, which starts slowly."""
    (tmp_path / "page").write_bytes(b"a line\n" * 20_000)
    web = {"program": "server", "run": "python3 -m http.server 8000", "server": True, "name": "web", "files": ["page"]}
    curl = command("curl -s -o got -w '%{json}\\n' http://{server}:8000/page", start="1s")
    iperf3 = {**IPERF3, "run": "iperf3 -c {server} -t 1 -J"}
    found = of_file(tmp_path, SERVER, iperf3, web, curl, duration="3s")
    one, other = (run(uml, found) for _ in range(2))
    assert bits(one) == bits(other)
    assert one.files["it.got"] == (tmp_path / "page").read_bytes()
    assert one.notes["programs"] == other.notes["programs"]
    fetched = one.notes["programs"][3]
    assert [(each["from"], each["direction"]) for each in fetched["connections"]] == [("server", "down")]
    assert fetched["reported"]["bytes"] == 140_000


def test_packets_are_captured_while_programs_start(uml: Uml, tmp_path: Path) -> None:
    flow = {"tcp": "client -> server", "name": "flow", "stop": "2s"}
    words = "sh -c 'for n in 1 2 3; do sleep 0.5; done'"
    result = run(uml, of_file(tmp_path, flow, command(words), measure={"pcap": ["client", "server"]}))
    assert list(result.captures) == ["client", "server"]
    assert all(len(content) > 100_000 for content in result.captures.values())


def test_a_host_sees_names_folders_and_devices_of_its_own(uml: Uml, tmp_path: Path) -> None:
    looks = "cat /etc/hosts; ls -d /sys/class/net/l*; id -un; pwd; date +%Y; cat; echo $MODE; touch /dev/shm/x; ls /tmp"
    words = f"sh -c '{looks}'"
    entry = command(words, input="typed {server}\n", environment={"MODE": "fast {router}"})
    result = run(uml, of_file(tmp_path, entry, {"ping": "client -> server"}, clock="2026-11-29", duration="1s"))
    lines = result.files["it.stdout"].decode().splitlines()
    assert lines == [
        "127.0.0.1 localhost", "10.0.0.1 client", "10.0.0.2 router", "10.0.1.2 server",
        "/sys/class/net/l0", "/sys/class/net/lo", "nobody", "/tmp/it", "2026", "typed 10.0.1.2", "fast 10.0.0.2", "it",
    ]  # fmt: skip
    assert result.files["it.stderr"] == b""


def test_a_file_that_is_brought_runs(uml: Uml, tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text("#!/bin/sh\necho mine: $0 $1\n")
    entry = command("./mine.sh {server}", files=["mine.sh"])
    result = run(uml, of_file(tmp_path, entry, {"ping": "client -> server"}, duration="100ms"))
    assert result.files["it.stdout"] == b"mine: ./mine.sh 10.0.1.2\n"


FAILS: dict[str, tuple[dict[str, Any], str]] = {
    "another status": (
        command("sh -c 'echo no such thing >&2; exit 3'"),
        "`?it`? ended with status 3(?s:.*)no such thing",
    ),
    "a signal": (command("sh -c 'kill -11 $$'"), "was ended by signal 11"),
    "no end": (command("sleep 100"), "had not ended at the end of the run: give it a `stop`"),
    "much output": (command("yes", output="64kb"), "all of the"),
    "a full disk": (command("dd if=/dev/zero of=big bs=1M", output="1mb"), "No space left on device"),
    "a server that does not listen": (command("sleep 100", server=True), "listens on no port within 10 s"),
    "a server that ends": (command("false", server=True), "ended with status 1, before it listened"),
    "a forbidden place": (command("touch /usr/x"), "Read-only file system"),
    "no way out": (command("curl -sS -m 1 http://192.0.2.1/"), "ended with status"),
}


@pytest.mark.parametrize("what", FAILS)
def test_a_program_that_ends_badly_fails_the_run_with_its_last_lines(what: str, uml: Uml, tmp_path: Path) -> None:
    entry, said = FAILS[what]
    with pytest.raises(RunFailed, match=said):
        run(uml, of_file(tmp_path, entry, {"ping": "client -> server"}, duration="1s"))


def test_a_program_may_end_as_it_likes_if_the_file_says_so_and_is_stopped_when_it_is_due(
    uml: Uml, tmp_path: Path
) -> None:
    result = run(uml, of_file(tmp_path, command("false", exit="any"), command("sleep 9", stop="1s") | {"name": "long"}))
    one, long = result.notes["programs"]
    assert (one["exit"], long["stopped"], long["signal"]) == (1, True, 15)
    assert long["ended_s"] == pytest.approx(1.0, abs=1e-4)


def test_more_processes_than_a_program_may_have_are_refused_to_it(uml: Uml, tmp_path: Path) -> None:
    bomb = "sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 0.5 & done; wait'"
    with pytest.raises(RunFailed, match=r"(?i)cannot fork|resource temporarily"):
        run(uml, of_file(tmp_path, command(bomb, processes=4), {"ping": "client -> server"}, duration="1s"))


POLLS = "python3 -c 'import os\nwhile True: os.sched_yield()'"
COUNTS = """python3 -c 'import os, time
begun = time.monotonic_ns()
for _ in range(2000): os.sched_yield()
print(time.monotonic_ns() - begun)'"""


def test_a_program_that_polls_lets_time_pass(uml: Uml, tmp_path: Path) -> None:
    """Each call takes what the file says; the calls of other programs take what theirs say."""
    slow = command(COUNTS, syscall="2us", start="100ms") | {"name": "slow"}
    polls = command(POLLS, stop="10ms") | {"name": "polls"}
    found = of_file(tmp_path, polls, command(COUNTS, start="50ms"), slow, duration="200ms")
    one, other = (run(uml, found) for _ in range(2))
    assert bits(one) == bits(other)
    assert one.notes["programs"] == other.notes["programs"]
    ended = one.notes["programs"][0]
    assert (ended["stopped"], ended["ended_s"]) == (True, pytest.approx(0.01, abs=1e-4))
    # Each reading of the clock takes 256 ns, too, and the kernel may read it for a timer.
    assert int(one.files["it.stdout"]) == pytest.approx(2000 * 250, abs=2000)
    assert int(one.files["slow.stdout"]) == pytest.approx(2000 * 2000, abs=20_000)


SPINS: dict[str, tuple[str, dict[str, Any]]] = {
    "one that computes": ("sh -c 'while :; do :; done'", {}),
    "a fork bomb": ("perl -e 'fork while 1'", {}),
    "one that polls in no time": (POLLS, {"syscall": "0s"}),
}


@pytest.mark.parametrize("what", SPINS)
def test_a_program_that_keeps_time_from_passing_is_named(what: str, uml: Uml, tmp_path: Path) -> None:
    impatient = Uml(uml.kernel, replace(uml.machine, program_s=2.0), chosen=False)
    waiting = {"program": "server", "run": "sleep 0.5", "name": "waits"}
    words, more = SPINS[what]
    found = of_file(tmp_path, command(words, start="100ms", processes=16, **more), waiting, duration="1s")
    with pytest.raises(RunFailed, match=r"at 0\.1 s of the run: the program `it` computes, or polls"):
        run(impatient, found)


def test_a_program_that_is_not_there_is_found_before_the_run(uml: Uml, tmp_path: Path) -> None:
    with pytest.raises(Unsuitable, match=r"program `nosuchprogram` .*is not in"):
        uml.check(of_file(tmp_path, command("nosuchprogram")))
    hidden = tmp_path / "mine.sh"
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    with pytest.raises(Unsuitable, match="do not see /tmp"):
        uml.check(of_file(tmp_path, command(str(hidden))))
    uml.check(of_file(tmp_path, command("./mine.sh", files=["mine.sh"])))
    with pytest.raises(Unsuitable, match="the user `nobodyatall`"):
        uml.check(of_file(tmp_path, command("ls", user="nobodyatall")))


def test_the_fingerprint_of_a_run_covers_its_programs_and_their_libraries(uml: Uml, tmp_path: Path) -> None:
    plain, one, other = (
        of_file(tmp_path, *traffic)
        for traffic in (({"ping": "client -> server"},), (command("cat /dev/null"),), (command("ls"),))
    )
    assert fingerprint_of(uml, plain) == uml.fingerprint
    assert len({fingerprint_of(uml, each) for each in (plain, one, other)}) == 3
    listed = {file.name for file in programs.executed(Path(shutil.which("cat") or "/bin/cat"))}
    assert {"cat", "libc.so.6"} <= listed
    script = tmp_path / "script.py"
    script.write_text(f"#!{sys.executable}\n")
    assert Path(sys.executable) in set(programs.executed(script))


def system(folder: Path, *names: str) -> Path:
    """A folder with these programs and what they need."""
    for part in ("tmp", "proc", "dev", "etc"):
        (folder / part).mkdir(parents=True)
    (folder / "etc/hosts").touch()
    for file in {file for name in names for file in programs.executed(Path(name))}:
        copy = folder / file.relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.resolve(), copy)
    for each in (folder, *folder.rglob("*")):
        each.chmod(each.stat().st_mode | 0o055)
    return folder


def test_a_program_with_a_root_of_its_own_sees_nothing_else_of_this_machine(uml: Uml, tmp_path: Path) -> None:
    """Its host has another program, which sees what everybody may read."""
    secret = Path("/etc/passwd")
    root = system(tmp_path / "system", "/bin/sh", "/bin/cat", "/bin/ls")
    looks = f"cat /etc/hosts; ls / /dev; echo x > mine; cat mine; cat {secret} || cat ../../..{secret}; echo > /bin/x"
    within = command(f"sh -c '{looks}'", root="system", exit="any")
    beside = command(f"cat {secret}") | {"name": "beside"}
    result = run(uml, of_file(tmp_path, within, beside, {"ping": "client -> server"}, duration="1s"))
    assert result.files["beside.stdout"] == secret.read_bytes()
    lines = result.files["it.stdout"].decode().split()
    below = sorted(each.name for each in root.iterdir())
    assert lines[:6] == ["127.0.0.1", "localhost", "10.0.0.1", "client", "10.0.0.2", "router"]
    assert lines[8:] == [
        "/:", *below, "/dev:", "full", "null", "random", "shm", "urandom", "zero", "x",
    ]  # fmt: skip
    said = result.files["it.stderr"].decode()
    assert said.count("No such file or directory") == 2
    assert "Read-only file system" in said
    assert result.files["it.mine"] == b"x\n"


def test_a_program_that_is_not_below_its_root_is_found_before_the_run(uml: Uml, tmp_path: Path) -> None:
    root = system(tmp_path / "system", "/bin/sh")
    with pytest.raises(Unsuitable, match=rf"`iperf3` \(`it`\) is not in .* of {root}"):
        uml.check(of_file(tmp_path, command("iperf3", root="system")))
    (root / "tmp").rmdir()
    with pytest.raises(Unsuitable, match="has no folder `tmp`"):
        uml.check(of_file(tmp_path, command("sh", root="system")))
    with pytest.raises(scenario.ScenarioError, match=r"root: `nowhere` is no folder"):
        of_file(tmp_path, command("sh", root="nowhere"))
    with pytest.raises(scenario.ScenarioError, match="a program of root can mount"):
        of_file(tmp_path, command("sh", root="system", user="root"))


def test_a_link_below_a_root_does_not_lead_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "bin").symlink_to("/usr/bin")
    (tmp_path / "up").symlink_to("../../../..")
    (tmp_path / "round").symlink_to("round")
    assert programs.within(tmp_path, Path("/bin/sh")) == tmp_path / "usr/bin/sh"
    assert programs.within(tmp_path, Path("/up/etc/passwd")) == tmp_path / "etc/passwd"
    assert programs.within(tmp_path, Path("/../etc")) == tmp_path / "etc"
    assert programs.within(tmp_path, Path("/round")) == tmp_path / "round"


def test_a_program_reads_no_file_that_only_its_owner_may_read_and_reaches_no_other_process(
    uml: Uml, tmp_path: Path
) -> None:
    """Secrets of this machine, the folder of the run, the memory of the agent."""
    places = ["/etc/shadow", "/proc/1/mem", "/proc/1/environ", "/proc/kcore"]
    words = "; ".join(f"head -c 1 {place} && echo read {place}" for place in places)
    result = run(uml, of_file(tmp_path, command(f"sh -c '{words}; ls /tmp/run'", exit="any"), duration="1s"))
    assert result.files["it.stdout"] == b""
    assert result.files["it.stderr"].count(b"\n") == len(places) + 1

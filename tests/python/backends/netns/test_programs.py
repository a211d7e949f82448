"""Programs in namespaces of this machine: they see their host, their connections are measured, and none is left."""

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from backends.conftest import left_running
from tailback import scenario
from tailback.backends import RunFailed, Unsuitable
from tailback.backends.linux import process, programs
from tailback.backends.linux.job import job_of
from tailback.backends.linux.shell import Wanted
from tailback.backends.netns import Netns, emulation
from tailback.kernel import BuildFailed, KernelMissing
from tailback.resolved import Scenario

NO_LIMITS = emulation.Shares(*[float("inf")] * 5)
NOBODY = 65534
Write = Callable[..., Scenario]

SERVE = """\
import socket
with socket.create_server(("", 7000)) as server:
    connection, _ = server.accept()
    connection.sendall(b"x" * 100_000)
    connection.close()
    server.accept()
"""
FETCH = """\
import socket
print(len(socket.create_connection(("b", 7000)).makefile("rb").read()))
"""


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def made(*traffic: dict[str, Any], **keys: Any) -> Scenario:
        plain = {"links": [{"ends": ["a", "b"]}], "traffic": list(traffic), "duration": "1s"}
        (tmp_path / "x.yaml").write_text(yaml.safe_dump({**plain, **keys}))
        return scenario.load(tmp_path / "x.yaml").runs()[0].scenario

    return made


@pytest.fixture
def netns(write: Write) -> Netns:
    try:
        found = Netns.of_this_machine()
        found.check(write({"ping": "a -> b"}))
    except (KernelMissing, BuildFailed, Unsuitable) as missing:
        pytest.skip(f"needs namespaces: {missing}")
    return Netns(found.agent, NO_LIMITS)


def test_a_program_runs_on_its_host_and_its_connection_is_a_flow(netns: Netns, write: Write, tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(SERVE)
    server = {"program": "b", "run": "python3 serve.py", "server": True, "name": "web", "files": ["serve.py"]}
    (tmp_path / "fetch.py").write_text(FETCH)
    client = {"program": "a", "run": "python3 fetch.py", "name": "fetch", "files": ["fetch.py"]}
    found = write(server, client, duration="3s")
    result = netns.run(found, netns.new_progress())
    assert result.files["fetch.stdout"] == b"100000\n", result.files["fetch.stderr"]
    # The kernel counts the FIN, which has a number of its own, as a byte.
    (connection,) = result.notes["programs"][1]["connections"]
    assert (connection["flow"], connection["from"], connection["bytes"]) == ("fetch", "b", 100_001)
    flows = result.tables["flows"].to_arrow().to_pandas()
    assert flows.groupby("flow").bytes.sum().to_dict() == {"fetch": 100_001}


def test_what_a_program_leaves_running_ends_with_the_run(netns: Netns, write: Write, room: Path) -> None:
    found = write({"program": "a", "run": "sh -c 'setsid sleep 1000 & id -un'", "name": "it"})
    result = netns.run(found, netns.new_progress())
    assert result.files["it.stdout"].strip() == (b"nobody" if os.geteuid() == 0 else os.getlogin().encode())
    assert left_running(room) == []
    sleeping = [file.parent for file in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x001000" in _read(file)]
    assert sleeping == []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_an_ordinary_user_runs_programs_as_that_user(netns: Netns, write: Write) -> None:
    if os.geteuid() != 0:
        pytest.skip("this machine has no superuser for it: only root may become another user")
    found = write({"program": "a", "run": "sh -c 'touch x; ls /sys/class/net'", "name": "it"})
    with process.run_folder("tailback-netns-") as folder:
        process.place(netns.agent, folder)
        (folder / "job.json").write_text(json.dumps(job_of(found)))
        for part in (folder.parent, folder, *folder.iterdir()):
            part.chmod(0o755)
            os.chown(part, NOBODY, NOBODY)
        words = ["./agent", "host", str(os.getpid())]
        subprocess.run(words, cwd=folder, user=NOBODY, group=NOBODY, extra_groups=[], check=False)
        assert (folder / "done").exists(), (folder / "failed").read_text()
        assert (folder / "program.0.out").read_text() == "l0\nlo\n"


def test_a_program_that_ends_badly_fails_the_run(netns: Netns, write: Write) -> None:
    with pytest.raises(RunFailed, match=r"`?it`? ended with status 3(?s:.*)no such thing"):
        netns.run(
            write({"program": "a", "run": "sh -c 'echo no such thing >&2; exit 3'", "name": "it"}),
            netns.new_progress(),
        )


def test_the_clock_of_this_machine_is_not_set(netns: Netns, write: Write) -> None:
    with pytest.raises(Unsuitable, match="`clock` would be that of this machine"):
        netns.check(write({"program": "a", "run": "ls"}, clock="2026-11-29"))
    with pytest.raises(Unsuitable, match="`syscall` of `ls` is that of this machine"):
        netns.check(write({"program": "a", "run": "ls", "syscall": "1us"}))


def test_a_shell_on_a_host_is_in_its_network_and_writes_none_of_the_files_of_this_machine(
    netns: Netns, write: Write, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ls /sys/class/net; touch /usr/x /tmp/x; exit 4")))
    assert netns.shell(write({"ping": "a -> b"}), Wanted("a")) == 4
    out, err = capfdbinary.readouterr()
    assert (out, b"Read-only" in err, b"/tmp/x" in err) == (b"l0\nlo\n", True, False)
    with pytest.raises(Unsuitable, match="neither stands still"):
        netns.shell(write({"ping": "a -> b"}), Wanted("a", still=True))


def test_a_program_with_a_root_of_its_own_sees_nothing_else_of_this_machine(
    netns: Netns, write: Write, tmp_path: Path
) -> None:
    for part in ("tmp", "dev", "etc"):
        (tmp_path / "system" / part).mkdir(parents=True)
    for file in {each for name in ("/bin/sh", "/bin/ls") for each in programs.executed(Path(name))}:
        copy = tmp_path / "system" / file.relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.resolve(), copy)
    for each in (tmp_path / "system").rglob("*"):
        each.chmod(0o755)
    found = write(
        {
            "program": "a",
            "run": "sh -c 'ls / /etc; echo x > y; echo > /etc/x'",
            "name": "it",
            "exit": "any",
            "root": "system",
        }
    )
    result = netns.run(found, netns.new_progress())
    below = sorted(each.name for each in (tmp_path / "system").iterdir())
    assert result.files["it.stdout"].decode().split() == ["/:", *below, "/etc:"]
    assert (b"Read-only" in result.files["it.stderr"], result.files["it.y"]) == (True, b"x\n")

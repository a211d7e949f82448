"""What `tailback shell` reads of its command line, without a kernel."""

from pathlib import Path
from typing import Any

import pytest

from command import in_process
from tailback import backends

FILE = """\
links: [{ends: [client, server], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: client -> server}]
duration: 10s
"""


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked of the backend, in place of a shell."""
    asked: list[Any] = []

    def shell(name: str, _run: Any, each: Any) -> int:
        asked.append((name, each))
        return 0

    monkeypatch.setattr(backends, "shell", shell)
    return asked


@pytest.mark.parametrize(
    "words",
    [
        ["client", "tc", "-s", "qdisc"],
        ["client", "--", "tc", "-s", "qdisc"],
        ["client", "--backend", "netns", "--at", "2s", "tc", "-s", "qdisc"],
        ["client", "--at=2s", "--idle", "--backend=netns", "--", "tc", "-s", "qdisc"],
    ],
)
def test_the_options_of_a_command_are_its_own_with_dashes_before_it_or_without(
    words: list[str], wanted: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text(FILE)
    in_process("shell", tmp_path / "x.yaml", *words)
    [(backend, asked)] = wanted
    assert (asked.host, asked.command) == ("client", ("tc", "-s", "qdisc"))
    assert (backend, asked.at_ns) == (("netns", 2 * 10**9) if "netns" in str(words) else ("uml", 0))


def test_options_that_a_command_and_the_shell_both_have_are_those_of_the_command(
    wanted: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text(FILE)
    in_process("shell", "--at", "1s", tmp_path / "x.yaml", "client", "ls", "--at", "--help", "-h")
    [(_, asked)] = wanted
    assert (asked.command, asked.at_ns) == (("ls", "--at", "--help", "-h"), 10**9)


def test_a_shell_does_not_start_after_the_end_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(FILE)
    said = in_process("shell", tmp_path / "x.yaml", "client", "--at", "10s", "ls", status=2).stderr
    assert "--at: the run ends at 10s" in said

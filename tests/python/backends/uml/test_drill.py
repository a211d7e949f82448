"""Runs packetdrill scripts against a kernel's TCP: Linux 6.12 behaves as every script of conformance/drill says."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailback import drill
from tailback.backends.uml import Uml
from tailback.cli.app import app

SCRIPTS = sorted((Path(__file__).parents[4] / "conformance" / "drill").glob("*.pkt"))

OPENING = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 512
+0 accept(3, ..., ...) = 4
"""


def settings(uml: Uml) -> drill.Settings:
    return drill.Settings(backend=f"uml:{uml.kernel.manifest.digest}")


def report(uml: Uml, text: str) -> drill.Report:
    return drill.run_text(text, Path("x.pkt"), settings(uml))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_kernel_does_what_the_script_says(uml: Uml, script: Path) -> None:
    found = drill.run_file(script, settings(uml))
    assert found.verdict == "passed", str(found)


def test_a_difference_of_a_kernel_is_reported_with_line_and_both_packets(uml: Uml) -> None:
    found = report(uml, OPENING + "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1002(1001) ack 1\n")
    assert (found.verdict, found.findings[0].line) == ("failed", 9)
    late = report(uml, OPENING + "+0 write(4, ..., 1000) = 1000\n+.2 > P. 1:1001(1000) ack 1\n")
    message = str(late)
    assert "timing error: expected outbound packet at 0.300000 sec but happened at 0.100000 sec" in message
    assert "script packet: P. 1:1001(1000) ack 1" in message
    assert "actual packet: [noecn] P. 1:1001(1000) ack 1 win 502 at 0.100000" in message


def test_readings_are_those_of_the_kernel(uml: Uml) -> None:
    found = report(uml, OPENING + "+0 %{ print(tcpi_snd_cwnd, tcpi_snd_mss); assert tcpi_snd_cwnd == 11 }%\n")
    assert (found.verdict, found.printed) == ("failed", ("10 1000",))
    assert [(finding.line, finding.message) for finding in found.findings] == [
        (8, "assertion failed: tcpi_snd_cwnd == 11")
    ]


def test_a_call_that_waits_returns_when_the_script_says(uml: Uml) -> None:
    waits = OPENING + "+0...0.1 read(4, ..., 1000) = 500\n+.1 < P. 1:501(500) ack 1 win 512\n"
    assert report(uml, waits).verdict == "passed"
    found = report(uml, waits.replace("0.1 read", "0.2 read"))
    assert (found.verdict, found.findings[0].line) == ("failed", 8)
    never = report(uml, OPENING + "+0 read(4, ..., 1000) = 500\n")
    assert (never.verdict, never.findings[0].line) == ("failed", 8)


@pytest.mark.parametrize(
    "line",
    [
        "`rm -rf /`",
        "`echo 1 > /proc/sys/net/ipv4/made_up`",
        "+0 splice(4, ..., 5, ..., 100, 0) = 100",
        "+0 setsockopt(4, SOL_TCP, TCP_MADE_UP, [1], 4) = 0",
    ],
)
def test_what_cannot_be_done_in_a_guest_is_reported_with_its_line(uml: Uml, line: str) -> None:
    found = report(uml, OPENING + line + "\n")
    assert (found.verdict, [finding.line for finding in found.findings]) == ("unsupported", [8])


def test_the_command_line_and_its_document_are_the_same(uml: Uml, tmp_path: Path) -> None:
    path = tmp_path / "good.pkt"
    path.write_text(OPENING)
    done = CliRunner().invoke(app, ["drill", "--json", "--backend", settings(uml).backend, str(path)])
    (row,) = json.loads(done.stdout)["scripts"]
    assert (done.exit_code, row["verdict"], row["events"]) == (0, "passed", 7)


def test_a_kernel_has_no_stack_to_choose(uml: Uml) -> None:
    with pytest.raises(drill.WrongDrill, match="--stack"):
        drill.run_text(OPENING, Path("x.pkt"), drill.Settings(None, "linux-5.10", settings(uml).backend))


def test_scripts_are_played_on_the_simulator_or_a_kernel_only() -> None:
    with pytest.raises(drill.WrongDrill, match="backend"):
        drill.run_text(OPENING, Path("x.pkt"), drill.Settings(backend="netns"))

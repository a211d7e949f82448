"""`tailback drill`: exit status, output, unsupported features."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import tailback
from tailback import drill
from tailback.cli.app import app
from tailback.drill.meant import KNOWN

OPENING = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 512
+0 accept(3, ..., ...) = 4
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.pkt"
    path.write_text(text)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["drill", *map(str, arguments)])


def report(text: str) -> drill.Report:
    return drill.run_text(text, Path("x.pkt"), drill.Settings())


def test_a_script_that_passes_exits_with_0(tmp_path: Path) -> None:
    done = run(written(tmp_path, "good", OPENING))
    assert (done.exit_code, "passed" in done.stdout) == (0, True)


def test_a_script_that_fails_exits_with_1_and_names_file_line_and_both_packets(tmp_path: Path) -> None:
    path = written(tmp_path, "bad", OPENING + "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1002(1001) ack 1\n")
    done = run(path)
    assert done.exit_code == 1
    told = done.stderr.replace("\n", " ")
    assert f"{path}:9: " in told
    late = written(tmp_path, "late", OPENING + "+0 write(4, ..., 1000) = 1000\n+.2 > P. 1:1001(1000) ack 1\n")
    message = str(drill.run_file(late, drill.Settings()))
    assert re.search(
        r"timing error: expected outbound packet at 0\.30000\d sec but happened at 0\.10000\d sec", message
    )
    assert "script packet: P. 1:1001(1000) ack 1" in message
    assert "actual packet: [noecn] P. 1:1001(1000) ack 1 win 502 at 0.10000" in message


def test_the_tolerance_of_the_command_line_wins(tmp_path: Path) -> None:
    text = "--tolerance_usecs=1000\n" + OPENING + "+0 write(4, ..., 1000) = 1000\n+.05 > P. 1:1001(1000) ack 1\n"
    path = written(tmp_path, "late", text)
    assert run(path).exit_code == 1
    assert run("--tolerance-usecs", "60000", path).exit_code == 0


def test_a_script_that_cannot_run_exits_with_2_unless_another_failed(tmp_path: Path) -> None:
    good = written(tmp_path, "good", OPENING)
    unsupported = written(tmp_path, "udp", OPENING + "+0 < udp (100)\n")
    malformed = written(tmp_path, "not", "+0 what\n")
    failing = written(tmp_path, "bad", OPENING + "+0 > P. 1:1001(1000) ack 1\n")
    assert run(good, unsupported).exit_code == 2
    assert run(malformed).exit_code == 2
    assert run(tmp_path / "missing.pkt").exc_info is not None
    assert run(unsupported, failing).exit_code == 1


def test_json_is_one_document(tmp_path: Path) -> None:
    path = written(tmp_path, "mixed", OPENING + "+0 %{ print(tcpi_snd_cwnd); assert tcpi_snd_cwnd == 11 }%\n")
    done = run("--json", path)
    (row,) = json.loads(done.stdout)["scripts"]
    assert (done.exit_code, row["verdict"], row["printed"]) == (1, "failed", ["10"])
    assert row["findings"] == [{"line": 8, "message": "assertion failed: tcpi_snd_cwnd == 11"}]


@pytest.mark.parametrize(
    "line",
    [
        "+0 < udp (100)",
        "+0 < icmp unreachable frag_needed mtu 1000 [1:1(0)]",
        "+0 < S 0:0(0) win 1000 <mss 1000,FO,nop>",
        "+0 > . 1:1(0) ack 1 urg 5",
        "+0 > [flowlabel 0x1] . 1:1(0) ack 1",
        "`ip route add 1.2.3.4/32 dev lo`",
        "`sysctl -q net.ipv4.tcp_recovery=0`",
        "+0 `nstat > /tmp/x`",
        "+0 epoll_create1(0) = 5",
        "+0 setsockopt(3, SOL_TCP, TCP_USER_TIMEOUT, [3000], 4) = 0",
        "+0 getsockopt(4, SOL_TCP, TCP_INFO, ..., ...) = 0",
        "+0 send(4, ..., 10, MSG_ZEROCOPY) = 10",
        "+0 %{ import os }%",
        "+0 %{ assert tcpi_made_up == 1 }%",
        "+0 socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP) = 5",
    ],
)
def test_unsupported_features_are_reported_with_their_line(line: str) -> None:
    found = report(OPENING + line + "\n")
    assert (found.verdict, [finding.line for finding in found.findings]) == ("unsupported", [8])


def test_all_unsupported_statements_are_reported_at_once_and_nothing_is_run() -> None:
    found = report(OPENING + "+0 < udp (1)\n+0 close(4) = 0\n+0 < udp (1)\n")
    assert ([finding.line for finding in found.findings], found.events) == ([8, 10], 0)


def test_ecn_is_negotiated_unless_the_host_has_it_off() -> None:
    asked = OPENING.replace("< S 0", "< SEW 0")
    assert (report(asked).verdict, report(asked).findings[0].line) == ("failed", 5)
    assert report(asked.replace("> S. 0", "> SE. 0")).verdict == "passed"
    off = "`sysctl -q net.ipv4.tcp_ecn=0`\n" + OPENING.replace("< S 0", "< SEW 0")
    assert report(off).verdict == "passed"


def test_an_unknown_stack_is_wrong_input() -> None:
    with pytest.raises(drill.WrongDrill, match=r"there are: linux-6\.12"):
        drill.run_text(OPENING, Path("x.pkt"), drill.Settings(stack="linux-0.01"))


def test_segments_carried_by_ipv6_have_twenty_bytes_less() -> None:
    text = "--ip_version=ipv6\n" + OPENING.replace("<...>", "<mss 1440,nop,nop,sackOK,nop,wscale 7>")
    assert report(text).verdict == "passed"


def test_the_other_stack_runs_too() -> None:
    assert drill.run_text(OPENING, Path("x.pkt"), drill.Settings(stack="linux-5.10")).verdict == "passed"


def test_the_function_of_the_package_does_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, "good", OPENING)
    assert tailback.drill_script(path).verdict == "passed"


@pytest.mark.parametrize("text", ["", "// only a remark\n", "--tolerance_usecs=5000\n"])
def test_a_script_without_an_event_is_none(text: str) -> None:
    report = drill.run_text(text, Path("empty.pkt"), drill.Settings())
    assert (report.verdict, report.events) == ("malformed", 0)
    assert "no event" in str(report)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("0 sockett(..., SOCK_STREAM, IPPROTO_TCP) = 3", "did you mean `socket`?"),
        ("+0 < S 0:0(0) win 1000 <msss 1000>", "did you mean `mss`?"),
        ("0 frobnicate(3) = 0", None),
    ],
)
def test_an_unknown_word_of_a_script_is_answered_with_the_one_that_it_resembles(line: str, meant: str | None) -> None:
    said = str(drill.run_text(line + "\n", Path("x.pkt"), drill.Settings()))
    assert "is not modelled" in said
    assert said.endswith(meant) if meant else "did you mean" not in said


def test_the_known_words_of_scripts_are_those_of_the_parser() -> None:
    parser = Path(__file__).parents[3] / "crates" / "script" / "src" / "parser"
    calls = re.search(r"const CALLS: .*? = \[(.*?)\];", (parser / "calls.rs").read_text(), re.DOTALL)
    assert calls is not None
    assert tuple(re.findall(r'"(\w+)"', calls[1])) == KNOWN["system call"]
    options = re.findall(r'"(\w+)" => (?:Ok\(TcpOption::|self\.\w+\(\),)', (parser / "segments.rs").read_text())
    assert tuple(options) == KNOWN["TCP option"]

"""CUBIC over a slow path, window by window, as in Linux before early 2025: a signature that packetdrill's own scripts
assert. [packetdrill]
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tailback import drill
from tailback.scenario.defaults import STACKS

OF_STACKS = sorted((Path(__file__).parents[3] / "conformance" / "drill" / "stacks").glob("*.pkt"))

OPENING = """\
--tolerance_usecs=20000
`tc qdisc replace dev tun0 root fq
sysctl -q net.ipv4.tcp_min_tso_segs=4 net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_slow_start_after_idle=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 10>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 514
+0 accept(3, ..., ...) = 4
+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [200000], 4) = 0
"""
SLOW_START = {10_001: 20, 20_001: 30, 30_001: 40, 38_001: 48}
"""cwnd by the byte that was acknowledged."""


def acknowledged(first: int, last: int, windows: Mapping[int, int]) -> str:
    """An ACK for two segments every 100 ms, and cwnd after some of them."""
    lines = []
    for ack in range(first, last + 1, 2_000):
        lines.append(f"+.1 < . 1:1(0) ack {ack} win 514")
        if ack in windows:
            lines.append(f"+0 %{{ assert tcpi_snd_cwnd == {windows[ack]}, tcpi_snd_cwnd }}%")
    return "\n".join(lines) + "\n"


def verdict(text: str, stack: str) -> tuple[str, list[str]]:
    report = drill.run_text(text, Path("cubic.pkt"), drill.Settings(stack=stack))
    return report.verdict, [finding.message for finding in report.findings]


def test_cubic_leaves_slow_start_at_48_and_adds_a_segment_per_two_at_last() -> None:
    later = {60_001: 49, 80_001: 50, 100_001: 52, 120_001: 58}
    steps = {ack: 58 + (ack - 120_001) // 2_000 for ack in range(122_001, 200_002, 2_000)}
    script = OPENING + "+0 write(4, ..., 400000) = 400000\n" + acknowledged(2_001, 200_001, SLOW_START | later | steps)
    assert verdict(script, "linux-6.6") == ("passed", [])


def test_cubic_takes_no_credit_for_four_idle_seconds() -> None:
    later = {60_001: 48, 80_001: 49, 100_001: 52, 120_001: 58}
    script = OPENING + "+0 write(4, ..., 40000) = 40000\n" + acknowledged(2_001, 40_001, SLOW_START)
    script += "+4 write(4, ..., 160000) = 160000\n" + acknowledged(42_001, 120_001, later)
    assert verdict(script, "linux-6.6") == ("passed", [])


@pytest.mark.parametrize("stack", ["linux-6.12"])
def test_rounds_counted_from_the_start_end_slow_start_at_36(stack: str) -> None:
    windows = {24_001: 34, 26_001: 36, 28_001: 36, 40_001: 36}
    script = OPENING + "+0 write(4, ..., 400000) = 400000\n" + acknowledged(2_001, 40_001, windows)
    assert verdict(script, stack) == ("passed", [])


@pytest.mark.parametrize("file", OF_STACKS, ids=lambda file: file.stem)
def test_a_script_of_some_stacks_passes_on_these_and_fails_on_all_others(file: Path) -> None:
    text = file.read_text()
    named = text.splitlines()[1].removeprefix("// passes on: ").split()
    verdicts = {stack: verdict(text, stack)[0] for stack in STACKS}
    assert [stack for stack in STACKS if verdicts[stack] == "passed"] == sorted(named, key=STACKS.index)
    assert {verdicts[stack] for stack in STACKS if stack not in named} <= {"failed"}

"""The sentences under a table, of real runs: what they say is what the table shows."""

import json
from pathlib import Path

import pytest

import tailback
from command import in_process

INCAST = """\
title: incast, 64 servers answer 32 kB at once
links: [{star: 65, rate: 10gbit, delay: 5us}]
let: {rto: 200000}
hosts: {host1..65: {sysctl: {net.ipv4.tcp_rto_min_us: "${rto}"}}}
qdiscs: {hub -> host1: pfifo limit 100}
traffic: [{request: host1 -> host2..65, name: fetch, answer: 32kb, every: 500ms, start: 100ms, jitter: 20us}]
duration: 2500ms
vary: {rto: [200000, 10000]}
repeat: 3
"""

CAKE = """\
title: cake against fq_codel
let: {q: fq_codel}
links: [{ends: [client, router], rate: 1gbit}, {ends: [router, server], rate: 10mbit, delay: 10ms}]
qdiscs: {router -> server: "${q}"}
traffic: [{tcp: client -> server, start: 1s, jitter: 1s}, {ping: client -> server, interval: 20ms}]
duration: 5s
measure: {warmup: 2s}
vary: {q: [fq_codel, cake bandwidth 9.5mbit]}
repeat: 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_shorter_timeout_is_said_by_the_tail_that_it_changes(here: Path) -> None:
    (here / "incast.yaml").write_text(INCAST)
    printed = in_process("run", "incast.yaml").stdout
    said = next(line for line in printed.splitlines() if line.startswith("•"))
    assert said.startswith("• rto 10000 instead of 200000: request p95 falls from 20"), said
    assert " to 1" in said
    assert "while p50" in said
    assert "request p50 stays" not in printed
    assert tailback.open("results/incast").findings == [said.removeprefix("• ")]
    document = json.loads(in_process("run", "incast.yaml", "--json").stdout)
    (found,) = document["findings"]
    assert (found["text"], found["dir"]) == (said.removeprefix("• "), str(here / "results" / "incast"))
    assert found["effects"][0]["decision"] == "changes"
    assert "•" not in in_process("run", "incast.yaml", "--findings", "none").stdout
    assert (
        "at most 1 in 20 is expected to be due to chance"
        in in_process("run", "incast.yaml", "--findings", "all").stdout
    )
    compared = in_process("compare", "results/incast", "rto=200000", "rto=10000").stdout
    assert said in compared
    assert "numbers, " in compared
    tailback.write_report("results/incast", "report.html")
    assert said.removeprefix("• ") in Path("report.html").read_text()


def test_a_shaper_is_compared_with_another_discipline_on_request(here: Path) -> None:
    (here / "cake.yaml").write_text(CAKE)
    in_process("run", "cake.yaml")
    apart = in_process("recommend", "results/cake", "--for", "ping p99 < 30ms").stdout
    assert "the only configuration" not in apart
    assert "q is given, because it changes the rate of a shaper; --choose q compares its values" in apart
    chosen = in_process("recommend", "results/cake", "--for", "ping p99 < 30ms", "--choose", "q").stdout
    assert "2 of 2 settings surely meet it" in chosen
    assert "  q fq_codel: goodput 9.3" in chosen
    assert "is given" not in chosen
    both = json.loads(in_process("recommend", "results/cake", "--choose", "q", "--json").stdout)["recommendations"]
    assert [(each["given"], each["because"]) for each in both] == [({}, {})]
    [front] = json.loads(in_process("pareto", "results/cake", "--choose", "q", "--json").stdout)["fronts"]
    assert len(front["configurations"]) == 2
    assert "has no unit" in in_process("recommend", "results/cake", "--for", "ping p99 < 30", status=2).stderr
    refused = in_process("recommend", "results/cake", "--choose", "q", "--given", "q", status=2).stderr
    assert "`q` is both given and to be chosen" in refused
    assert "q is given, as asked" in in_process("recommend", "results/cake", "--given", "q").stdout

"""`expect:` in a file: its verdicts on the results."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from command import in_process
from fake_backend import FakeBackend
from tailback import scenario
from tailback.analysis.bounds import WrongBound
from tailback.scenario import Experiment, ScenarioError
from tailback.sweep.expectations import Verdict, entry, expected, verdicts
from tailback.sweep.local import Outcome
from tailback.sweep.plan import plan_of

FILE = """\
links: [{ends: [a, b], rate: 10mbit, delay: 1ms}]
traffic:
  - {tcp: a -> b, name: up, flows: 2}
  - {ping: a -> b, interval: 20ms}
duration: 3s
vary: {cc: [cubic, reno]}
repeat: 2
"""


def experiment(expect: str) -> Experiment:
    return scenario.loads(f"{FILE}expect: {expect}\n")


def judged(expect: str, pings: Mapping[str, Sequence[float]]) -> list[Verdict]:
    """The verdicts, given the p99 of the pings of each repetition."""
    found = experiment(expect)
    outcomes = [
        Outcome(run, "ok", None, {"ping_ms": {"p99": pings[run.axes["cc"]][run.repetition - 1]}})
        for run in plan_of(found, FakeBackend(), ()).runs
        if run.axes["cc"] in pings
    ]
    return verdicts(expected(found), outcomes)


def test_each_configuration_has_a_verdict_on_each_condition() -> None:
    found = judged('{"ping p99": "< 20ms"}', {"cubic": (30, 31), "reno": (18, 19)})
    assert [(verdict.axes["cc"], verdict.holds, verdict.mean) for verdict in found] == [
        ("cubic", False, 30.5), ("reno", True, 18.5),
    ]  # fmt: skip
    assert [verdict.crosses for verdict in found] == [False, True]


def test_a_share_of_the_best_is_one_over_all_configurations() -> None:
    found = judged('{"ping p99": "<= 150% of best"}', {"cubic": (30, 30), "reno": (10, 10)})
    assert [(str(verdict.bound), verdict.holds) for verdict in found] == [
        ("ping p99 <= 15 ms", False), ("ping p99 <= 15 ms", True),
    ]  # fmt: skip


def test_an_unknown_number_does_not_hold() -> None:
    found = judged('{"jain": "> 0.5"}', {"cubic": (30, 30), "reno": (10, 10)})
    assert [(verdict.holds, math.isnan(verdict.mean)) for verdict in found] == [(False, True)] * 2
    assert "mean" not in entry(found[0])


def test_wrong_conditions_are_errors_before_any_run() -> None:
    with pytest.raises(ScenarioError, match="is not a condition"):
        experiment("{jain: 0.9}")
    with pytest.raises(WrongBound, match="expect: `pong` is not a quantity"):
        expected(experiment('{pong: "< 1ms"}'))
    with pytest.raises(WrongBound, match="expect: `ping < 110` has no unit\n  hint: write `ping < 110ms`"):
        expected(experiment('{ping: "< 110"}'))
    with pytest.raises(WrongBound, match="`mbit` is not a unit of ping p50"):
        expected(experiment('{ping: "< 1mbit"}'))


def test_run_ends_with_status_1_if_a_condition_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(FILE + 'expect: {goodput: "> 5mbit", "ping p99": "< 1us"}\n')
    told = in_process("run", "x.yaml", status=1).stdout
    assert "2 of 4 conditions do not hold" in told
    assert "FAILS" in told
    document: dict[str, Any] = json.loads(in_process("run", "x.yaml", "--json", status=1).stdout)
    assert [row["holds"] for row in document["expectations"]] == [True, False, True, False]
    Path("x.yaml").write_text(FILE + 'expect: {goodput: "> 5mbit"}\n')
    again = in_process("run", "x.yaml", status=0)
    assert "all 2 conditions hold" in again.stdout
    assert "4 of them reused" in again.stderr
    assert "expect: `pong`" in in_process("check", "x.yaml", "--set", "expect.pong=< 1ms", status=2).stderr


def test_a_condition_may_be_about_a_part_of_the_run_or_about_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    links = "links: [{ends: [a, b], rate: 10mbit, delay: 1ms, schedule: [{at: 2s, rate: 2mbit}]}]\n"
    Path("x.yaml").write_text(
        links + "traffic: [{tcp: a -> b, name: up, cc: bbr}]\nduration: 4s\nexpect:\n"
        '  goodput: {is: "< 2mbit", after: 2500ms}\n'
        '  goodput up: {is: "> 8mbit", after: 1s, until: 2s}\n'
        '  "total(startup, flow(\'up\'))": "< 1"\n'
        '  highest(bbr_bw / rate): {is: "< 1", until: 2s}\n'
    )
    document: dict[str, Any] = json.loads(in_process("run", "x.yaml", "--json", status=0).stdout)
    rows = {row["metric"]: row for row in document["expectations"]}
    assert [row["holds"] for row in rows.values()] == [True] * 4
    assert list(rows) == [
        "goodput after 2500ms", "goodput up after 1s until 2s", "total(startup, flow('up'))",
        "highest(bbr_bw / rate) until 2s",
    ]  # fmt: skip
    assert 1.5 < rows["goodput after 2500ms"]["mean"] < 2
    assert 8 < rows["goodput up after 1s until 2s"]["mean"] < 10
    Path("x.yaml").write_text(Path("x.yaml").read_text().replace('"< 1", until: 2s', '"< 1", after: 2s'))
    late = in_process("run", "x.yaml", status=1)
    assert "highest(bbr_bw / rate) after 2s" in late.stdout
    assert "1 of 4 conditions does not hold" in late.stdout


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ('{ping: {is: "< 1ms"}}', "a condition in time is not complete"),
        ("{ping: {after: 1s}}", "a condition in time is not complete"),
        ('{ping: {is: "< 1ms", until: 2s, after: 2s}}', "is not after its beginning"),
        ('{ping: {is: "< 1ms", befor: 2s}}', "`befor` is no key of a condition"),
        ("{ping: {is: 5, after: 1s}}", "`5` is not a condition"),
        ('{ping: {is: "< 1ms", after: 3s}}', "is wanted after 3s, and the run ends at 3s"),
        ('{highest(rtt): "< 1ms"}', "write a number without a unit"),
        ('{highest(rttt): "< 1"}', "`rttt` is not known over time"),
        ('{highest(rtt) - rtt: "< 1"}', "has a value for each sample"),
    ],
)
def test_wrong_conditions_in_time_say_what_is_wrong(expect: str, message: str) -> None:
    with pytest.raises((ScenarioError, WrongBound), match=re.escape(message)):
        expected(experiment(expect))

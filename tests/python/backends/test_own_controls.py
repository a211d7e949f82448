"""Congestion controls in Python, on the simulator, and their refusal by kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback import scenario, starters
from tailback.backends import RunFailed, RunResult, Unsuitable, stalled
from tailback.backends.linux import suitable
from tailback.backends.sim import Sim
from tailback.resolved import Scenario

EXPERIMENT = """\
links: [{ends: [client, router], rate: 1gbit, delay: 5ms}, {ends: [router, server], rate: 1gbit, delay: 5ms}]
qdiscs: {router -> server: htb rate 20mbit | pfifo limit 50}
traffic: [{tcp: client -> server, name: upload, stop: 9s}]
duration: 10s
"""

RENO = starters.FOLDER / "control.py.txt"

PLAIN = """\
class Mine:
    def __init__(self, step=1):
        self.step = step

    def on_ack(self, flow, sample):
        {on_ack}

    def on_loss(self, flow):
        {on_loss}
"""


def scenario_of(folder: Path, control: str, text: str | None = None) -> Scenario:
    if text is not None:
        (folder / "mine.py").write_text(text)
    (folder / "experiment.yaml").write_text(f"{EXPERIMENT}cc: {control}\n")
    return scenario.load(folder / "experiment.yaml").runs()[0].scenario


def run(asked: Scenario) -> RunResult:
    return Sim().run(asked, Sim().new_progress())


def mine(folder: Path, *, on_ack: str = "pass", on_loss: str = "pass", parameters: str = "") -> Scenario:
    text = PLAIN.format(on_ack=on_ack, on_loss=on_loss)
    return scenario_of(folder, f"{{python: mine.py{parameters}}}", text)


def failure(asked: Scenario) -> str:
    with pytest.raises(RunFailed) as caught:
        run(asked)
    return str(caught.value)


def tcp_info(result: RunResult) -> Any:
    return result.tables["tcp_info"].to_arrow().to_pandas()


def test_the_reno_to_begin_with_acts_as_the_built_in_one(tmp_path: Path) -> None:
    text = RENO.read_text().replace("$CLASS", "Mine").replace("$NAME", "mine")
    ours = tcp_info(run(scenario_of(tmp_path, "{python: mine.py}", text)))
    built_in = tcp_info(run(scenario_of(tmp_path, "reno")))
    assert built_in["snd_cwnd"].max() > 60, "it lost packets and grew again"
    assert ours[["t", "snd_cwnd", "snd_ssthresh"]].equals(built_in[["t", "snd_cwnd", "snd_ssthresh"]])


def test_two_runs_are_the_same_to_the_bit_also_with_random_numbers(tmp_path: Path) -> None:
    grow = "flow.cwnd += flow.random.random() * sample.acked / flow.cwnd"
    asked = mine(tmp_path, on_ack=grow, on_loss="flow.ssthresh = max(flow.cwnd / 2, 2)")
    first, second = run(asked).tables, run(asked).tables
    assert {name: table.stream for name, table in first.items()} == {
        name: table.stream for name, table in second.items()
    }


def test_a_fraction_of_cwnd_is_kept_from_ack_to_ack(tmp_path: Path) -> None:
    asked = mine(tmp_path, on_ack="flow.cwnd += self.step / flow.cwnd", parameters=", step: 0.5")
    windows = tcp_info(run(asked))["snd_cwnd"]
    assert windows.is_monotonic_increasing
    assert windows.iloc[-1] > windows.iloc[0]


def test_cong_control_sets_the_pacing_rate_and_gets_rate_samples(tmp_path: Path) -> None:
    text = """\
class Mine:
    def on_start(self, flow):
        flow.pacing_rate = 5e6

    def cong_control(self, flow, sample):
        assert sample.delivery_rate is None or sample.delivery_rate > 0
        flow.cwnd, flow.pacing_rate = 100, 5e6
"""
    info = tcp_info(run(scenario_of(tmp_path, "{python: mine.py}", text)))
    assert (info["pacing_rate"].iloc[10:] * 1e-6).between(4.9, 5.1).all() or info["snd_cwnd"].iloc[-1] == 100
    assert info["snd_cwnd"].iloc[-1] == 100


def test_an_error_shows_file_line_and_text(tmp_path: Path) -> None:
    message = failure(mine(tmp_path, on_ack="flow.cwnd += 1 / (flow.cwnd - flow.cwnd)"))
    assert message.startswith("the congestion control failed: mine.py, line 6, in Mine.on_ack: ZeroDivisionError")
    assert message.endswith("\n  flow.cwnd += 1 / (flow.cwnd - flow.cwnd)")


@pytest.mark.parametrize(
    ("on_ack", "on_loss", "said"),
    [
        ("flow.cwnd = 0.5", "pass", "line 6, in Mine.on_ack: ValueError: cwnd cannot be 0.5"),
        ("flow.cwnd = float('nan')", "pass", "cwnd cannot be NaN"),
        ("flow.pacing_rate = 1e6", "pass", "only a class with `cong_control` sets pacing_rate"),
        ("sample.delivery_rate", "pass", "only the sample of `cong_control` has this"),
        ("flow.cwnd += 10", "flow.cwnd = 5", "line 9, in Mine.on_loss: ValueError: here only ssthresh can be set"),
        ("flow.cwnd += 10", "raise SystemExit", "line 9, in Mine.on_loss: SystemExit"),
    ],
)
def test_what_a_method_may_not_do_ends_the_run_with_its_line(
    tmp_path: Path, on_ack: str, on_loss: str, said: str
) -> None:
    assert said in failure(mine(tmp_path, on_ack=on_ack, on_loss=on_loss))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mine.py has to have one class with `on_ack` or `cong_control`; it has none"),
        ("class A:\n    def on_ack(self, flow, sample): pass\n", "the class `A` has no `on_loss`"),
        ("x = 1\ny = x / 0\n", "mine.py, line 2, in <module>: ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_before_a_run(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Unsuitable, match="the congestion control failed") as caught:
        Sim().check(scenario_of(tmp_path, "{python: mine.py}", text))
    assert said in str(caught.value)


def test_an_unknown_parameter_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(Unsuitable, match="got an unexpected keyword argument 'speed'"):
        Sim().check(mine(tmp_path, parameters=", speed: 3"))


def test_one_run_that_fails_leaves_the_others_their_results(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLAIN.format(on_ack="flow.nothing", on_loss="pass"))
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT + "vary: {cc: [reno, {python: mine.py}]}\n")
    with pytest.raises(tailback.RunsFailed, match=r"mine\.py, line 6"):
        tailback.run(tmp_path / "experiment.yaml", out=tmp_path / "results")
    results = tailback.open(tmp_path / "results")
    assert list(results.summary["cc"]) == ["reno"]


@pytest.mark.parametrize(
    ("on_ack", "line"),
    [("while True: pass", "mine.py, line 6, in Mine.on_ack"), ("[x for x in iter(int, 1)]", "mine.py, line 6")],
)
def test_a_method_that_never_returns_ends_its_run_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_ack: str, line: str
) -> None:
    monkeypatch.setattr(stalled, "LIMIT_S", 0.3)
    said = failure(mine(tmp_path, on_ack=on_ack))
    assert "did not return within 0.3 s of CPU time" in said
    assert line in said


def test_code_that_catches_every_exception_is_ended_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalled, "LIMIT_S", 0.3)
    text = "class Mine:\n    def on_loss(self, flow): pass\n    def on_ack(self, flow, sample):\n        while True:\n"
    text += "            try:\n                sum(range(9))\n            except Exception:\n                pass\n"
    assert "did not return" in failure(scenario_of(tmp_path, "{python: mine.py}", text))


def test_a_file_that_never_ends_is_refused_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalled, "LOADING_S", 0.3)
    asked = scenario_of(tmp_path, "{python: mine.py}", "while True:\n    pass\n")
    with pytest.raises(Unsuitable, match="did not return"):
        Sim().check(asked)


def test_many_short_calls_are_no_long_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalled, "LIMIT_S", 0.05)
    monkeypatch.setattr(stalled, "LOOK_S", 0.01)
    assert run(mine(tmp_path, on_ack="sum(range(300))")).tables


def test_a_kernel_refuses_it_by_its_name(tmp_path: Path) -> None:
    asked = mine(tmp_path)
    with pytest.raises(Unsuitable, match=r"`mine\.py` is a congestion control in Python, which no kernel runs"):
        suitable.refuse(suitable.findings(asked))


def test_no_exception_stays_pending_after_a_run_which_would_stop_a_traced_process_for_ever() -> None:
    program = """
import resource, sys
from tailback.backends.stalled import watched
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
with watched([]):
    pass
sys.setprofile(lambda *_: None)
(lambda: None)()
sys.setprofile(None)
print("went on")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "went on\n")

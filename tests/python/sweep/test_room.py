"""A run that needs more memory than is available fails without affecting the others."""

from pathlib import Path

import pytest

from fake_backend import Nobody
from tailback import scenario
from tailback.backends.sim import Sim
from tailback.fitting import memory, runs_at_once
from tailback.results import claim
from tailback.sweep import Outcome, Request, Sweep, run_all, run_experiment
from tailback.sweep.plan import plan_of

FILE = """\
links: [{ends: [client, server], rate: 100mbit, delay: 1ms}]
traffic: [{ping: client -> server, interval: 10ms}]
duration: 1s
vary:
  traffic[0].interval: [100ms, 10us]
"""


MANY_FLOWS = """\
links: [{ends: [client, server], rate: 1gbit, delay: 1ms}]
traffic: [{tcp: client -> server, size: 30kb, arrivals: poisson 1000/s}]
duration: 60s
"""


def test_a_run_at_its_limit_of_memory_fails_and_the_others_go_on(tmp_path: Path) -> None:
    backend = Sim().with_memory(1_000_000)
    with claim(tmp_path / "x", plan_of(scenario.loads(FILE), backend)) as store:
        outcomes = run_all(Sweep(store, backend, 1), Nobody())
    assert [outcome.status for outcome in outcomes] == ["ok", "failed"]
    assert (outcomes[1].error or "").startswith("out of memory at ")
    assert "a longer `measure.interval`" in (outcomes[1].error or "")


def test_a_run_whose_tables_find_no_memory_fails_and_is_no_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def summarise(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tailback.sweep.work.summarise", summarise)
    with claim(tmp_path / "x", plan_of(scenario.loads(FILE, ["traffic[0].interval=100ms"]), Sim())) as store:
        [outcome] = run_all(Sweep(store, Sim(), 1), Nobody())
    assert outcome.status == "failed"
    assert (outcome.error or "").startswith("the recorded data do not fit into memory")


def test_a_run_that_needs_too_much_memory_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailback.fitting.memory.available", lambda: 10**6)
    with pytest.raises(scenario.ScenarioError, match=r"10us.*gives at least 1e\+05 rows"):
        run_experiment(scenario.loads(FILE), Request(out=tmp_path / "x"), Nobody())
    assert not (tmp_path / "x").exists()


def test_fewer_runs_go_side_by_side_where_memory_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr("tailback.fitting.memory.available", lambda: 200 * 10**6)
    monkeypatch.setattr("tailback.fitting.jobs.cores", lambda: 64)

    def noted(sweep: Sweep, _: object) -> list[Outcome]:
        seen.append(sweep.jobs)
        return []

    monkeypatch.setattr("tailback.sweep.session.run_all", noted)
    run_experiment(scenario.loads(FILE), Request(out=tmp_path / "x"), Nobody())
    assert seen == [5]


def test_a_run_of_many_short_flows_goes_alone_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailback.fitting.memory.available", lambda: 10**9)
    monkeypatch.setattr("tailback.fitting.jobs.cores", lambda: 64)
    assert runs_at_once(scenario.loads(MANY_FLOWS), Sim()) == 1
    assert runs_at_once(scenario.loads(MANY_FLOWS, ["duration=6s"]), Sim()) == 19


def test_the_available_memory_is_the_minimum_of_machine_control_group_and_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 16 kB\nMemAvailable:   8000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available() == 8000 * 1024
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("2000\n")
    assert memory.available() == 3000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() == 8000 * 1024

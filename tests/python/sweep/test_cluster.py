"""A sweep on a Dask cluster of real processes: the same bytes as a local one, lost and mismatched workers."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from distributed import Future, Security

import tailback
from sweep.same import lasting
from tailback import scenario
from tailback.results import durable, open_results
from tailback.sweep import Audience, Outcome, Request, SweepResult, cluster, run_experiment
from waiting import GENEROUS_S, alive, ended, until

EXPERIMENT = """\
title: two controls at a local bottleneck
links:
  - {ends: [client, server], rate: 100mbit, delay: 500us}
qdiscs:
  client -> server: htb rate 20mbit | pfifo_fast
traffic:
  - {tcp: client -> server, name: upload, flows: 2, jitter: 10ms}
  - {ping: client -> server, interval: 100ms}
duration: 20s
measure: {warmup: 1s}
vary:
  cc: [cubic, reno]
repeat: 6
"""

PATIENT = {f"DASK_DISTRIBUTED__COMM__TIMEOUTS__{name}": f"{GENEROUS_S:g}s" for name in ("CONNECT", "TCP")}
"""The processes of a cluster bear with each other on a busy machine."""

ADDRESS = re.compile(r"tcp://127\.0\.0\.1:\d+")


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.address = self._scheduler()

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """One more worker."""
        words = ["worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        return self._start([*words, "--local-directory", str(self.folder)], "worker", environment)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _scheduler(self) -> str:
        self._start(["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"], "scheduler", {})
        until(lambda: ADDRESS.search(self._log()), while_=alive(self.processes[0]))
        found = ADDRESS.search(self._log())
        assert found is not None
        return found[0]

    def _log(self) -> str:
        return (self.folder / "scheduler.log").read_text()

    def _start(self, words: Sequence[str], name: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words], cwd=self.folder, stdout=log, stderr=log,
                env={**os.environ, **PATIENT, **environment},
            )  # fmt: skip
        self.processes.append(process)
        return process


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    started = Cluster(folder)
    yield started
    started.stop()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeouts for the start of a scheduler and its workers are long."""
    monkeypatch.setattr(cluster, "ANSWER_S", GENEROUS_S)
    monkeypatch.setattr(cluster, "WORKER_S", GENEROUS_S)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.yaml"
    path.write_text(EXPERIMENT)
    return path


class Kills(Audience):
    """Kills a worker after the first run has returned."""

    def __init__(self, victim: subprocess.Popen[bytes]) -> None:
        self.victim = victim

    def begun(self, runs: Sequence[object]) -> None:
        pass

    def update(self, done: int, total: int, fraction: float) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        assert outcome.status == "ok"
        self.victim.send_signal(signal.SIGKILL)


def swept(
    file: Path, out: Path, address: str | None = None, watch: Audience | None = None, jobs: int | None = None
) -> SweepResult:
    request = Request(out=out, cluster=address, jobs=jobs)
    return run_experiment(scenario.load(file), request, watch or Looks())


class Looks(Kills):
    """A watch that does nothing."""

    def __init__(self) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        assert outcome.status == "ok"


def test_a_sweep_that_loses_a_worker_gives_the_same_bytes_as_a_local_one(
    dask: Cluster, file: Path, tmp_path: Path
) -> None:
    victim, _ = dask.worker(), dask.worker()
    there = swept(file, tmp_path / "there", dask.address, Kills(victim))
    assert ended(victim) == -signal.SIGKILL
    assert [outcome.status for outcome in there.outcomes] == ["ok"] * 12
    swept(file, tmp_path / "here")
    assert lasting(tmp_path / "there") == lasting(tmp_path / "here")
    assert len(open_results(tmp_path / "there").runs) == 12


def test_a_run_whose_worker_is_lost_with_its_result_is_done_by_another(
    dask: Cluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, result = dask.worker(), cluster._result
    lost: list[Any] = []

    def after_loss(future: "Future[Any]", progress: Any) -> Any:
        if not lost:
            lost.append(future.key)
            victim.kill()
            until(lambda: not future.done())
            dask.worker()
        return result(future, progress)

    monkeypatch.setattr(cluster, "_result", after_loss)
    there = swept(file, tmp_path / "there", dask.address)
    assert [outcome.status for outcome in there.outcomes] == ["ok"] * 12
    assert len(lost) == 1


def test_a_run_whose_result_does_not_arrive_is_submitted_again(
    dask: Cluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, waited = Future.result, []

    def late(future: "Future[object]", timeout: float | None = None) -> object:
        if future.key not in waited:
            waited.append(future.key)
            raise TimeoutError
        return result(future, timeout)

    monkeypatch.setattr(Future, "result", late)
    dask.worker()
    there = swept(file, tmp_path / "there", dask.address)
    assert [outcome.status for outcome in there.outcomes] == ["ok"] * 12
    assert len(waited) == 12


def test_a_worker_of_another_build_is_refused(
    dask: Cluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask.worker()
    monkeypatch.setattr(cluster, "package_digest", lambda: "of yesterday")
    with pytest.raises(
        cluster.ClusterUnfit, match=r"another package of Tailback, .*of yesterday\n  hint: .*same build"
    ):
        swept(file, tmp_path / "there", dask.address)
    assert not (tmp_path / "there").exists()


def test_a_scheduler_that_is_not_there_is_reported(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_S", 1)
    with pytest.raises(cluster.ClusterUnfit, match=r"no scheduler answers at `tcp://127.0.0.1:9`.*\n  hint: "):
        swept(file, tmp_path / "there", "tcp://127.0.0.1:9")


def test_a_scheduler_without_workers_is_reported(
    dask: Cluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "WORKER_S", 1)
    with pytest.raises(cluster.ClusterUnfit, match=r"has no workers\n  hint: start some with `dask worker tcp://"):
        swept(file, tmp_path / "there", dask.address)


def test_a_scheduler_that_is_lost_ends_the_sweep_and_keeps_what_is_complete(
    dask: Cluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = durable.write_folder

    def write_and_kill(target: Path, files: Mapping[str, bytes], flush: durable.Flush) -> None:
        write(target, files, flush)
        dask.processes[0].kill()
        ended(dask.processes[0])

    monkeypatch.setattr(cluster, "LOOK_S", 1)
    monkeypatch.setattr(durable, "write_folder", write_and_kill)
    # The client searches for a lost scheduler as long as one may take to answer.
    monkeypatch.setattr(cluster, "ANSWER_S", 60)
    dask.worker()
    with pytest.raises(cluster.ClusterUnfit, match=r"the scheduler is lost\n  hint: complete runs are kept"):
        swept(file, tmp_path / "there", dask.address, jobs=1)
    assert len(open_results(tmp_path / "there").runs) == 1


def test_the_certificates_of_a_scheduler_are_passed_on(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def refusing(address: str, **words: Any) -> None:
        given.append((address, words.get("security")))
        raise OSError("no certificate")

    monkeypatch.setattr("distributed.Client", refusing)
    secured = Security(tls_ca_file="ca.pem", tls_client_cert="a.pem", tls_client_key="a.key", require_encryption=True)
    with pytest.raises(cluster.ClusterUnfit, match=r"no scheduler answers at `tls://127\.0\.0\.1:1`: no certificate"):
        tailback.run(file, out=file.parent / "out", backend="sim@tls://127.0.0.1:1", security=secured)
    assert given == [("tls://127.0.0.1:1", secured)]


def test_the_documented_commands_listen_on_the_loopback_interface_only() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
    commands = [line for line in text.splitlines() if re.match(r"\s*dask (scheduler|worker) ", line)]
    assert len(commands) == 2
    assert all("--host 127.0.0.1" in line for line in commands)

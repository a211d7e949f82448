"""Three hundred flows at one bottleneck share it as on a kernel, where a timeout draws another hash of the socket."""

import statistics
from pathlib import Path

import pytest

from tailback.results import open_results
from tailback.scenario import loads
from tailback.sweep import Request, Silent, run_experiment

FILE = """\
links:
  - {{ends: [client, router], rate: 10gbit, delay: 5ms}}
  - {{ends: [router, server], rate: 10gbit, delay: 5ms}}
hosts: {{client: {{sysctl: {{net.core.txrehash: {txrehash}}}}}}}
qdiscs: {{router -> server: htb rate 100mbit | fq_codel}}
traffic: [{{tcp: client -> server, flows: 300, jitter: 1s}}]
duration: 10s
measure: {{warmup: 2s, interval: 100ms}}
repeat: 5
"""
"""The first two cases of experiments/conformance/many.yaml."""

KERNEL = {1: (0.9868, 0.9868, 0.9858, 0.9865, 0.9856), 0: (0.9384, 0.9365, 0.9260, 0.9014, 0.9297)}
"""Jain's index of these on Linux 6.12.117 in virtual time, by `net.core.txrehash`; five seeds each, no unit."""


@pytest.mark.parametrize("txrehash", KERNEL)
def test_flows_that_meet_in_a_queue_share_it_until_a_timeout_parts_them(tmp_path: Path, txrehash: int) -> None:
    experiment = loads(FILE.format(txrehash=txrehash))
    done = run_experiment(experiment, Request("sim", 1, tmp_path / "results"), Silent())
    indexes = [run.summary["jain"] for run in open_results(done.folder).runs]
    theirs = KERNEL[txrehash]
    error = (statistics.variance(indexes) / len(indexes) + statistics.variance(theirs) / len(theirs)) ** 0.5
    assert abs(statistics.mean(indexes) - statistics.mean(theirs)) < 3 * error
    # Between the two cases are eight standard errors.
    assert (statistics.mean(indexes) > 0.96) == bool(txrehash)

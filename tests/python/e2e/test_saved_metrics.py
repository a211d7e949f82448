"""What connections leave to later ones, end to end: two of Reno, one after the other, over a short queue."""

import json

import pyarrow as pa
import pytest

from tailback import _core
from tailback.resolved import to_json
from tailback.scenario import loads

FILE = """\
hosts: {{client: {{stack: {stack}, sysctl: {{{sysctl}}}}}}}
links:
  - {{ends: [client, router], rate: 1gbit, delay: 5ms}}
  - {{ends: [router, server], rate: 50mbit, delay: 5ms}}
qdiscs: {{router -> server: pfifo limit 100}}
traffic:
  - {{tcp: client -> server, name: one, cc: reno, start: 0s, stop: 4s}}
  - {{tcp: client -> server, name: two, cc: reno, start: 5s, stop: 8s}}
duration: 9s
"""
SAVES = "net.ipv4.tcp_no_metrics_save: 0"
WITH_SSTHRESH = "net.ipv4.tcp_no_ssthresh_metrics_save: 0"


def peaks(stack: str, sysctl: str) -> dict[str, int]:
    """The largest cwnd of each connection, in segments."""
    (one,) = loads(FILE.format(stack=stack, sysctl=sysctl)).runs()
    outcome = _core.run(json.dumps(to_json(one.scenario)))
    rows = pa.ipc.open_stream(outcome["tables"]["tcp_info"]).read_all().to_pandas()
    return dict(rows.groupby("flow", observed=True)["snd_cwnd"].max())


@pytest.mark.parametrize(("stack", "sysctl"), [("linux-5.4", SAVES), ("linux-6.12", f"{SAVES}, {WITH_SSTHRESH}")])
def test_the_second_connection_leaves_slow_start_before_it_overshoots(stack: str, sysctl: str) -> None:
    found = peaks(stack, sysctl)
    assert found["two"] < 0.6 * found["one"]


@pytest.mark.parametrize(("stack", "sysctl"), [("linux-5.4", ""), ("linux-6.12", SAVES)])
def test_without_a_saved_threshold_both_overshoot(stack: str, sysctl: str) -> None:
    found = peaks(stack, sysctl)
    assert found["two"] > 0.8 * found["one"]

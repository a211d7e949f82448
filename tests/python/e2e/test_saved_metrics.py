"""What connections leave to later ones, end to end: two of Reno, one after the other, over a short queue."""

import json
from typing import Any

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


def retransmissions(stack: str, sysctl: str) -> dict[str, int]:
    """The segments that each connection sent again."""
    (one,) = loads(FILE.format(stack=stack, sysctl=sysctl)).runs()
    tables: dict[str, Any] = _core.run(json.dumps(to_json(one.scenario)), _core.Progress())["tables"]
    rows = tables["tcp_info"].to_arrow().to_pandas()
    return {str(flow): int(count) for flow, count in rows.groupby("flow", observed=True)["total_retrans"].max().items()}


@pytest.mark.parametrize(("stack", "sysctl"), [("linux-5.4", SAVES), ("linux-6.12", f"{SAVES}, {WITH_SSTHRESH}")])
def test_the_second_connection_leaves_slow_start_before_it_overshoots(stack: str, sysctl: str) -> None:
    found = retransmissions(stack, sysctl)
    assert (found["one"] > 100, found["two"] < 10) == (True, True)


@pytest.mark.parametrize(("stack", "sysctl"), [("linux-5.4", ""), ("linux-6.12", SAVES)])
def test_without_a_saved_threshold_both_overshoot(stack: str, sysctl: str) -> None:
    found = retransmissions(stack, sysctl)
    assert (found["one"] > 100, found["two"] > 100) == (True, True)

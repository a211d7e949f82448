"""Round trips per minute."""

import numpy as np
import pandas as pd
import pytest

from tailback.analysis.responsiveness import Probes, rpm, trimmed_mean
from tailback.analysis.window import NANOSECONDS, Window

SECOND = NANOSECONDS


def answered(times: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """Probes: when each could ask, in s, and its latency in ms."""
    rows = [(t, flow, 0, 100, latency) for flow, (t, latency) in times.items()]
    return pd.DataFrame(rows, columns=["t", "flow", "seq", "bytes", "latency_ms"])


def test_the_rpm_of_a_path_without_load_is_a_minute_over_its_rtt() -> None:
    probes = Probes({"probe.1": SECOND, "probe.2": 2 * SECOND}, None)
    requests = answered({"probe.1": (1.04, 40.0), "probe.2": (2.04, 40.0)})
    assert rpm(requests, None, probes, Window(0, 9 * SECOND)) == {"idle": pytest.approx(60 / 0.04)}


def test_under_load_probes_and_connections_have_equal_weight() -> None:
    """20 ms before the load; 100 ms for both parts of a probe and 300 ms on the connections under load."""
    probes = Probes({"probe.1": SECOND, "probe.2": 6 * SECOND}, 5 * SECOND)
    requests = answered({"probe.1": (1.02, 20.0), "probe.2": (6.1, 100.0)})
    tcp_info = pd.DataFrame({"t": [6.0, 7.0], "flow": ["upload", "upload"], "rtt": [300_000.0, 300_000.0]})
    found = rpm(requests, tcp_info, probes, Window(5 * SECOND, 9 * SECOND))
    assert found == {
        "idle": pytest.approx(3000), "foreign": pytest.approx(600), "loaded": pytest.approx(200),
        "total": pytest.approx(400),
    }  # fmt: skip


def test_the_trimmed_mean_leaves_out_what_is_above_the_95th_percentile() -> None:
    samples = np.array([*range(1, 20), 1000], dtype=np.float64)
    assert trimmed_mean(samples) == pytest.approx(10)


def test_a_probe_without_an_answer_does_not_count() -> None:
    probes = Probes({"probe.1": SECOND}, None)
    assert rpm(answered({"probe.1": (1.1, float("nan"))}), None, probes, Window(0, SECOND * 9)) == {"idle": None}

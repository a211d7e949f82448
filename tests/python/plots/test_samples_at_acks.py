"""`measure.tcp_info: ack` adds samples to a run, and changes no figure of means or percentiles: they are over time."""

import pandas as pd
import pytest

from command import in_process
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice
from tailback.plots.registry import PLOTS
from tailback.results import Results, open_results

MANY = """\
links: [{{ends: [a, router], rate: 1gbit}}, {{ends: [router, b], rate: 20mbit, delay: 10ms}}]
qdiscs: {{router -> b: pfifo limit 100}}
traffic: [{{tcp: a -> b, flows: 22}}, {{ping: a -> b, interval: 100ms}}]
duration: 4s
repeat: 2
measure: {{warmup: 1s, interval: 100ms, tcp_info: {samples}}}
"""

CHOICES = (AUTOMATIC, *(Choice(metric=metric) for metric in ("rtt", "cwnd", "TCP RTT")))


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Results]:
    """The same runs, with samples at the ends of intervals, and at ACKs too."""
    found = []
    for samples in ("interval", "ack"):
        folder = tmp_path_factory.mktemp(samples)
        (folder / "x.yaml").write_text(MANY.format(samples=samples))
        in_process("run", folder / "x.yaml", "--out", folder / "out")
        found.append(open_results(folder / "out"))
    return found[0], found[1]


def drawn(name: str, results: Results, choice: Choice) -> pd.DataFrame | None:
    """The table of a figure; `None` if there is none."""
    try:
        return PLOTS[name].table(results, choice)
    except NotDrawable:
        return None


@pytest.mark.parametrize("name", PLOTS)
def test_samples_at_acks_change_no_figure_of_many_flows(name: str, sampled: tuple[Results, Results]) -> None:
    for choice in CHOICES:
        periodic, acks = (drawn(name, results, choice) for results in sampled)
        assert (periodic is None) == (acks is None)
        if periodic is not None and acks is not None:
            pd.testing.assert_frame_equal(acks, periodic)


@pytest.mark.parametrize(
    ("name", "choice"), [("timeseries", AUTOMATIC), ("band", Choice(metric="rtt")), ("cwnd", AUTOMATIC)]
)
def test_the_figures_over_time_are_drawn(name: str, choice: Choice, sampled: tuple[Results, Results]) -> None:
    assert all(drawn(name, results, choice) is not None for results in sampled)

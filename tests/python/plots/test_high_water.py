"""Queues that are full only between samples are drawn, and never denied."""

import pandas as pd
import pytest

import tailback
from tailback.plots import PLOTS, NotDrawable

BURSTS = """\
links:
  - {ends: [client, router], rate: 100mbit, delay: 1ms}
  - {ends: [router, server], rate: 1gbit, delay: 1ms}
qdiscs: {router -> client: pfifo limit 20}
traffic:
  - {request: client -> server, answer: 200kb, every: 500ms, start: 250ms}
duration: 4s
measure: {warmup: 0s, interval: 500ms}
"""


@pytest.fixture(scope="module")
def bursts(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    folder = tmp_path_factory.mktemp("bursts")
    (folder / "x.yaml").write_text(BURSTS)
    return tailback.run(folder / "x.yaml", out=folder / "out")


def test_a_queue_that_every_sample_misses_has_its_high_water_in_each_interval(bursts: tailback.Results) -> None:
    table = PLOTS["queue"].table(bursts)
    table = table[table["device"] == "router -> client"]
    assert table["value"].max() <= 1
    assert table["most"].max() == 20, "the limit, and not what was refused"
    figure = PLOTS["queue"].draw(table)
    assert figure.axes[0].get_ylim()[1] >= 20


def test_old_results_without_high_water_say_that_samples_missed_the_queue(
    bursts: tailback.Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = bursts.runs
    old = run.qdisc[[column for column in run.qdisc if not str(column).startswith("max_")]]
    monkeypatch.setattr(type(run), "qdisc", property(lambda _: old), raising=False)
    with pytest.raises(NotDrawable, match=r"no sample of .* although the queues dropped \d+.*full for less than"):
        PLOTS["queue"].data(bursts)


def test_the_high_water_is_at_least_each_sample_and_at_most_the_limit(bursts: tailback.Results) -> None:
    (run,) = bursts.runs
    rows: pd.DataFrame = run.qdisc
    assert (rows["max_backlog_packets"] >= rows["backlog_packets"]).all()
    assert (rows["max_backlog_bytes"] >= rows["backlog_bytes"]).all()
    of_queue = rows[rows["kind"] == "pfifo"]
    assert of_queue["max_backlog_packets"].max() == 20

"""Figures of runs with applications show what a user of these sees."""

import pytest

from command import in_process
from tailback.plots import PLOTS
from tailback.plots.layout import Choice
from tailback.results import Results, open_results

FILE = """\
title: pages and requests
links: [{ends: [a, b], rate: 20mbit, delay: 5ms}]
traffic:
  - {page: a -> b, every: 1s, shape: inner}
  - {request: a -> b, answer: 30kb, every: 200ms}
duration: 4s
vary: {cc: [cubic, reno]}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("outcomes")
    (folder / "x.yaml").write_text(FILE)
    in_process("run", folder / "x.yaml", "--out", folder / "out")
    return open_results(folder / "out")


@pytest.mark.parametrize("name", ["candlestick", "box"])
def test_pages_and_requests_come_before_what_explains_them(results: Results, name: str) -> None:
    table = PLOTS[name].data(results)
    assert list(dict.fromkeys(table["panel"])) == ["Page load", "Request", "Goodput"]
    shown = table[(table["panel"] == "Page load") & (table["cc"] == "cubic")].iloc[0]
    loads = results.select(cc="cubic").runs[0].summary["page_load_s"]
    assert shown["n"] == loads["n"]
    assert shown["p50"] == pytest.approx(loads["p50"], rel=1e-3)


def test_a_distribution_of_page_loads_can_be_asked_for(results: Results) -> None:
    table = PLOTS["cdf"].data(results, Choice(metric="page load"))
    assert set(table["panel"]) == {"Page load"}
    assert set(table["unit"]) == {"s"}

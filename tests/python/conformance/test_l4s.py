"""Prague beside other controls: the published figures as data, and one cell of each kind as the page has it."""

from __future__ import annotations

import re
from math import sqrt
from pathlib import Path

import pandas as pd
import pytest
import yaml

from conformance.l4s import PAGE, Cell, Found, as_module, cells, load, measured
from conformance.l4s_fifo import batched, overflows_of
from conformance.l4s_kernel import FIGURES, Compared, comparable, compared, read
from conformance.l4s_law import CLASSIC, fixed, terms_of, waits_ms


def cell(name: str) -> Cell:
    return next(one for one in cells(load()) if one.id == name)


def test_every_claim_names_a_source_and_one_figure_and_no_id_comes_twice() -> None:
    data = load()
    found = cells(data)
    assert len({one.id for one in found}) == len(found)
    for one in found[: len(data["claims"])]:
        assert one.source in data["sources"]
        assert bool(one.ratios) != (one.p99 is not None)
    assert all(one.source is None for one in found[len(data["claims"]) :])


def test_a_ratio_holds_within_a_factor_and_a_tail_up_to_its_bound() -> None:
    ratio, tail = cell("c2-cubic-20"), cell("dualq-p99-10")
    assert [ratio.holds(Found(prague, 10, 1)) for prague in (6, 7, 14, 16)] == [False, True, True, False]
    assert [tail.holds(Found(10, 10, p99)) for p99 in (1.9, 2.1)] == [True, False]
    assert cell("bbr3-20").holds(Found(10, 10, 1)) is None
    twice = cell("heist-fifo-20")
    assert twice.ratio == pytest.approx(sqrt(twice.ratios[0] * twice.ratios[1]))


def test_the_cells_of_a_source_have_the_conditions_that_it_states() -> None:
    heist = [one for one in cells(load()) if one.source == "heist"]
    for one in heist:
        keys = yaml.safe_load(one.experiment())
        assert not any("rate" in link for link in keys["links"])
        assert keys["qdiscs"]["router -> server"] == f"htb rate {one.rate} | {one.queue}"
        assert keys["duration"] == "180s"
        assert ("hosts" in keys) == ("noecn" not in one.id)


def test_the_page_has_a_row_for_each_cell_and_for_each_that_a_kernel_was_measured_in() -> None:
    stored = set(read()["cell"])
    wanted = [one.id for one in cells(load())] + [one.id for one in comparable() if one.id in stored]
    found = re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(found) == sorted(wanted)


def test_each_flow_with_prague_has_the_module_with_the_options_of_the_control() -> None:
    module = Path("tcp_prague.c")
    with_options = "{module: tcp_prague.c, prague_rtt_target: 0}"
    both = [f"traffic[{place}].cc={with_options}" for place in (0, 1)]
    assert as_module(cell("heist-prague-prague"), module) == both
    assert as_module(cell("c2-cubic-20"), module) == ["traffic[0].cc={module: tcp_prague.c}"]
    assert as_module(cell("dctcp-20"), module) == []


def test_a_kernel_is_compared_where_it_has_both_controls() -> None:
    known = {one.id for one in comparable()}
    assert {"c2-cubic-20", "heist-pie-reno", "dctcp-20"} < known
    assert not known & {"bbr3-20", "pie-fallback"}


def test_figures_of_a_kernel_and_of_the_simulator_are_judged_by_their_spread() -> None:
    def runs(*prague: float) -> pd.DataFrame:
        return pd.DataFrame({"prague": prague, "other": 10.0, "p99": 21.0})

    def outcomes(*simulated: float) -> list[str]:
        return [each.outcome for each in Compared(cell("c2-cubic-20"), kernel, runs(*simulated)).figures()]

    kernel = runs(30.0, 30.2, 29.8)
    assert outcomes(30.1, 29.9, 30.0) == ["within", "within", "within"]
    assert outcomes(20.1, 19.9, 20.0) == ["off", "within", "within"]
    assert outcomes(25.0, 30.0, 35.0) == ["undecided", "within", "within"]


@pytest.mark.filterwarnings("ignore")
def test_the_simulator_has_prague_s_share_in_dualpi2_as_the_kernel_has_it() -> None:
    (found,) = compared(read(), ["c2-cubic-20"])
    for name in list(FIGURES)[:2]:
        assert found.simulator[name].mean() == pytest.approx(found.kernel[name].mean(), rel=0.15)


@pytest.mark.filterwarnings("ignore")
def test_prague_has_a_short_queue_in_dualpi2_and_starves_cubic_in_a_classic_one_unless_it_falls_back() -> None:
    dual, classic, answered = (
        measured(cell(name)) for name in ("dualq-p99-10", "heist-codel1-cubic", "codel1-fallback")
    )
    assert dual.p99 < 2
    assert classic.ratio > 8
    assert answered.ratio < classic.ratio / 3


@pytest.mark.filterwarnings("ignore")
def test_prague_has_more_than_two_marks_in_a_round_trip_and_most_if_it_ends_just_before_25_ms() -> None:
    marks = fixed("vary={delay: [10ms, 12.5ms]}", "duration=60s")
    assert 2.2 < marks[25] < 2.8 < marks[20] < 3.5


@pytest.mark.filterwarnings("ignore")
def test_what_the_calculation_takes_for_granted_is_the_whole_difference() -> None:
    reno = cell("c2-reno-20")
    (found,) = terms_of(reno, 1)
    assert reno.ratio is not None
    off = [found.marks / 2, found.coupling, CLASSIC / found.classic, found.classic_ms / waits_ms(reno)]
    assert all(0.8 < each < 2.1 for each in off)
    product = off[0] * off[1] * off[2] * off[3]
    assert found.ratio == pytest.approx(reno.ratio * product, rel=0.02)


@pytest.mark.filterwarnings("ignore")
def test_fewer_overflows_of_a_fifo_hit_prague_and_its_share_is_larger_if_acks_arrive_together() -> None:
    fifo = cell("heist-fifo-10")
    (alone,) = overflows_of(fifo, batched(None), 1)
    (together,) = overflows_of(fifo, batched("10ms"), 1)
    assert together.hit < 0.7 * alone.hit
    assert together.ratio > 1.5 * alone.ratio

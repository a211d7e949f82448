"""Warnings about runs: one for each kind, with the worst case, the count, and the configurations."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from tailback.analysis import Measure, Window, summarise
from tailback.analysis.cautions import TESTED, of_kernel, over
from tailback.analysis.identical import identical

SECOND = 1_000_000_000


def said(code: str, extent: float) -> dict[str, Any]:
    return {"code": code, "severity": "warning", "text": f"off by {extent}", "hint": "do less", "extent": extent}


def rows(code: str, extents: Mapping[str, list[float | None]]) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """The repetitions of each value of an axis; None has no warning."""
    return [
        ({"cc": value}, {} if extent is None else {"warnings": [said(code, extent)]})
        for value, each in extents.items()
        for extent in each
    ]


@pytest.mark.parametrize("code", ["never-steady", "warm-up-measured", "too-short-to-tell", "flow-without-data"])
def test_two_thousand_warnings_of_a_kind_are_one_with_the_worst_and_the_count(code: str) -> None:
    [found] = over(rows(code, {str(value): [float(value)] * 20 for value in range(100)}))
    assert (found.count, found.runs, found.axes, found.text) == (2000, 2000, {"cc": "99"}, "off by 99.0")
    assert len(found.places) == 100
    assert len(str(found).splitlines()) == 3
    assert "so in 2000 of 2000 runs: the worst is 99; also 0; 1; 2 and 96 more configurations" in str(found)


@pytest.mark.parametrize("code", TESTED)
def test_what_a_test_finds_in_few_repetitions_is_chance_and_is_not_said(code: str) -> None:
    assert over(rows(code, {"cubic": [0.1, None, None], "bbr": [None, None, None]})) == []
    [found] = over(rows(code, {"cubic": [0.1, 0.3, None], "bbr": [0.9, None, None]}))
    assert (found.count, found.runs, found.axes) == (2, 6, {"cc": "cubic"})


def test_a_flow_without_data_is_said_in_each_repetition_in_which_it_has_none() -> None:
    [found] = over(rows("flow-without-data", {"cubic": [1.0, None, None]}))
    assert (found.count, found.runs) == (1, 3)


def test_flows_that_send_in_vain_and_pings_without_an_answer_are_named() -> None:
    measure = Measure(
        Window(0, 10 * SECOND), SECOND // 10, ("near", "far", "small"), (), {}, lasting=("near", "far"),
        sized_flows=("small",), sizes_bytes={"small": 1},
    )  # fmt: skip
    times = [number / 10 + 0.1 for number in range(100)]
    tables = {
        "flows": pd.DataFrame({"t": times, "flow": "near", "bytes": 1000}),
        "ping": pd.DataFrame({"t": times[:2] * 2, "ping": ["a", "a", "b", "b"], "rtt_ms": [None, 1.0, None, None]}),
    }
    found = summarise(tables, {}, measure)
    assert found["flows_without_data"] == ["far"]
    assert [each["code"] for each in found["warnings"]] == ["flow-without-data", "ping-unanswered"]
    assert "`far` arrived" in found["warnings"][0]["text"]
    assert found["warnings"][1]["text"] == "no request of `b` was answered"


def test_the_windows_of_runs_are_steady_unsteady_short_or_varied() -> None:
    def state(count: int, **facts: Any) -> str:
        times = [(number + 1) / 10 for number in range(count)]
        table = pd.DataFrame({"t": times, "flow": "up", "bytes": [1000 + 10 * number for number in range(count)]})
        measure = Measure(Window(0, count * SECOND // 10), SECOND // 10, ("up",), (), {}, **facts)
        found = summarise({"flows": table}, {}, measure)
        assert ("drift_bias" in found) == (found["steadiness"]["goodput_mbps"] == "unsteady")
        return str(found["steadiness"]["goodput_mbps"])

    assert state(100) == "unsteady"
    assert state(30) == "short"
    assert state(100, changes=("flows that start",)) == "varied"


def test_values_with_the_same_results_to_the_last_digit_are_named_and_cost_does_not_count() -> None:
    def run(driver: str, cc: str, goodput: float, wall: float) -> tuple[dict[str, str], dict[str, Any]]:
        return {"driver": driver, "cc": cc}, {"goodput_mbps": {"total": goodput}, "cost": {"wall_s": wall}}

    table = [
        run(driver, cc, goodput + extra, wall)
        for wall, (driver, extra) in enumerate({"ath9k": 1.0, "ath10k": 0.0, "mt76": 0.0}.items())
        for cc, goodput in {"cubic": 30.0, "bbr": 20.0}.items()
    ]
    [found] = identical(table)
    assert (found.axis, found.values, found.runs) == ("driver", ["ath10k", "mt76"], 2)
    assert str(found).startswith("driver ath10k and mt76 gave identical results in all 2 runs of each")
    assert identical([*table, run("mt76", "reno", 1.0, 0)]) == []


def test_what_a_kernel_warned_of_is_a_warning_about_its_run() -> None:
    [found] = of_kernel(["WARNING at tcp_mine.c, line 10, in mine_avoid", "BUG: Bad page state"])
    assert found["code"] == "kernel-warned"
    assert found["text"].endswith("it says: WARNING at tcp_mine.c, line 10, in mine_avoid, and 1 more")
    assert of_kernel([]) == []

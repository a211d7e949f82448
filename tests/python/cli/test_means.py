"""The digits of means in tables, and the one form of the intervals of a column."""

import pytest
from rich.table import Table

from tailback.analysis.bounds import bounds
from tailback.analysis.choosing import Chosen, chosen
from tailback.analysis.metric import Column
from tailback.analysis.repetitions import Configuration, Mean, means
from tailback.analysis.tradeoffs import Number
from tailback.cli import advised, sheets, sweeps, tables, verdicts
from tailback.cli.means import of_configurations
from tailback.sweep.expectations import Verdict

RATE = Column("retransmission rate", "%", lambda _: None)


def column_of(*means: tuple[float, float, float]) -> tuple[list[str], str]:
    """The cells of a column of these means, and what is said below them."""
    rows = [Configuration({"place": str(place)}, 5, {RATE.title: Mean(*each)}) for place, each in enumerate(means)]
    sheet = sheets.written(of_configurations(rows, [Chosen(RATE, 0.0)], "a title"))
    return [row[-1].text for row in sheet.rows], sheet.remarks[0]


@pytest.mark.parametrize(
    ("mean", "low", "high", "text"),
    [
        (0.000550, 0.0, 0.007545, "0.0006 [0.0000, 0.0075]"),
        (0.00126, 0.00125, 0.00127, "0.00126 ±0.00001"),
        (3.41, 2.64, 4.18, "3.41 ±0.77"),
        (95.6, 95.6, 95.6, "95.6 ±0.0"),
        (0.99999, 0.99996, 1.0, "1.000 ±0.000"),
    ],
)
def test_a_small_mean_has_no_more_places_than_its_interval_tells(
    mean: float, low: float, high: float, text: str
) -> None:
    assert column_of((mean, low, high))[0] == [text]


def test_the_intervals_of_a_column_have_one_form() -> None:
    even, at_the_end, alone = (3.0, 2.0, 4.0), (0.95, 0.8, 1.0), (7.0, float("nan"), float("nan"))
    texts, remark = column_of(even, at_the_end, alone)
    assert texts == ["3.00 [2.00, 4.00]", "0.950 [0.800, 1.000]", "7.00"]
    assert remark == "means over repetitions, ± half their 95 % interval, or [both its ends]"
    texts, remark = column_of(even, alone)
    assert texts == ["3.00 ±1.00", "7.00"]
    assert remark == "means over repetitions, ± half their 95 % interval"


@pytest.mark.parametrize("width", range(60, 200, 10))
def test_the_percentiles_of_a_metric_stand_in_one_part_of_a_narrow_table(width: int) -> None:
    """Requests beside a camera: p95 was below, in another part than p50 and p99."""
    samples = {"n": 5000, "p50": 214.4, "p90": 240.0, "p95": 248.5, "p99": 367.5, "mean": 220.0}
    summary = {
        "goodput_mbps": {"total": 18.1, "up": 18.0, "down": 0.08, "flows": {}}, "request_ms": samples,
        "udp_loss": {"camera": 0.0005}, "udp_delay_ms": {"camera": samples}, "ping_ms": samples, "tcp_rtt_ms": samples,
        "jain": 0.9, "drops": {}, "retransmits": 12,
    }  # fmt: skip
    rows = [({"q": q}, summary) for q in ("tail drop", "FQ-CoDel") for _ in range(3)]
    shown = chosen(each for _, each in rows)
    sheet = sheets.written(of_configurations(means(rows, [each.column for each in shown]), shown, "a title"))
    parts = [part for part in tables.laid_out(sheet, width) if isinstance(part, Table)]
    assert len(parts) > 1 or width > 150
    titles = [{" ".join(str(column.header).split()) for column in part.columns} for part in parts]
    for family in ("request", "UDP delay", "ping", "TCP RTT"):
        having = [[title for title in part if title.startswith(family)] for part in titles]
        assert len([each for each in having if each]) <= 1 or width < 70, (family, having)


@pytest.mark.parametrize("width", range(60, 200, 10))
def test_what_is_said_below_a_table_is_about_the_columns_that_it_shows(width: int) -> None:
    samples = {"n": 5000, "p50": 214.4, "p90": 240.0, "p95": 248.5, "p99": 367.5, "mean": 220.0}
    summary = {
        "goodput_mbps": {"total": 18.1, "up": 18.0, "down": 0.08, "flows": {"bulk": 18.0, "probe.1": 0.08}},
        "request_ms": samples, "ping_ms": samples, "tcp_rtt_ms": samples, "cwnd_segments": {"bulk": samples},
        "udp_loss": {"camera": 0.1, "phone": 0.2}, "jain": 0.9, "jain_without": ["file"], "drops": {}, "retransmits": 1,
    }  # fmt: skip
    rows = [({"queue": queue}, summary) for queue in ("pfifo limit 1000", "fq_codel") for _ in range(3)]
    laid = tables.laid_out(sheets.written(sweeps._means_of(rows, "a title", None)), width)
    titles = {" ".join(str(each.header).split()) for part in laid if isinstance(part, Table) for each in part.columns}
    said, _, left = str(laid[-1]).partition("left out for want of room: ")
    for title in ("TCP RTT p50", "cwnd p50", "UDP loss", "Jain"):
        there = any(each.startswith(title) for each in titles)
        assert (title in said) == there, (title, str(laid[-1]))
        assert there or title in left


def test_every_table_leaves_the_form_of_its_intervals_to_their_column() -> None:
    (bound,) = bounds("jain > 0.8")
    made = [
        advised._number_cell(Number(bound.column, 0.9, 0.7, 1.0)),
        verdicts._share_of({"mean": 0.9, "low": 0.7, "high": 1.0}),
        sweeps._mean_of(Verdict({}, bound, 0.9, 0.7, 1.0)),
    ]
    assert all(cell.interval is not None and "[" not in cell.text for cell in made)

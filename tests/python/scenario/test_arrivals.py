"""Connections that arrive during a run: the words, the draws, and the flows that a run then has."""

import itertools
import math
import random
from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback import plots
from tailback.scenario import ScenarioError, arrivals
from tailback.tc.errors import WordError

FILE = """\
links:
  - {ends: [client, server], rate: 100mbit, delay: 10ms}
traffic:
  - %s
duration: 10s
seed: 7
"""

SECOND = 10**9


def traffic(scenario: Any, entry: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scenario(FILE % entry)["traffic"]
    return found


def test_each_arrival_is_a_connection_with_its_own_start_and_size(scenario: Any) -> None:
    found = traffic(scenario, "{tcp: server -> client, name: page, size: 100kb, arrivals: periodic 2/s, stop: 2s}")
    assert [(flow["name"], flow["start_ns"], flow["bytes"], flow["stop_ns"]) for flow in found] == [
        (f"page.{number + 1}", number * SECOND // 2, 102_400, None) for number in range(4)
    ]


def test_the_seed_alone_draws_times_and_sizes(scenario: Any) -> None:
    entry = "{tcp: server -> client, size: lognormal 20kb sigma 1.5, arrivals: poisson 20/s}"
    first, again = traffic(scenario, entry), traffic(scenario, entry)
    assert first == again
    other = scenario((FILE % entry).replace("seed: 7", "seed: 8"))["traffic"]
    assert [flow["start_ns"] for flow in other] != [flow["start_ns"] for flow in first]


def test_another_rate_does_not_change_the_sizes(scenario: Any) -> None:
    entry = "{tcp: server -> client, size: exponential 20kb, arrivals: poisson %s}"
    slow, fast = (traffic(scenario, entry % rate) for rate in ("10/s", "20/s"))
    assert [flow["bytes"] for flow in slow] == [flow["bytes"] for flow in fast][: len(slow)]


@pytest.mark.parametrize(
    ("word", "within"),
    [("100kb", 0.0), ("exponential 100kb", 0.02), ("lognormal 100kb sigma 1", 0.03), ("pareto 100kb shape 2.5", 0.03)],
)
def test_sizes_have_the_mean_that_was_written(word: str, within: float) -> None:
    uniform = random.Random(1).random
    drawn = [arrivals.size(word).draw(uniform) for _ in range(50_000)]
    assert min(drawn) >= 1
    assert sum(drawn) / len(drawn) == pytest.approx(102_400, rel=within + 1e-5)


def test_pareto_sizes_exceed_twice_a_size_as_often_as_the_shape_says() -> None:
    uniform = random.Random(2).random
    drawn = [arrivals.size("pareto 100kb shape 1.5").draw(uniform) for _ in range(50_000)]
    above, twice = (sum(size > limit for size in drawn) for limit in (100_000, 200_000))
    assert twice / above == pytest.approx(2**-1.5, rel=0.05)


def test_poisson_arrivals_have_exponential_gaps() -> None:
    times = list(arrivals.arrivals("poisson 50/s").times(0, 1000 * SECOND, random.Random(3).random))
    gaps = [(later - earlier) / SECOND for earlier, later in itertools.pairwise(times)]
    assert len(times) == pytest.approx(50_000, rel=0.02)
    assert sum(gap > 1 / 50 for gap in gaps) / len(gaps) == pytest.approx(math.exp(-1), rel=0.02)


def test_bursts_have_their_own_rate_and_pauses() -> None:
    word = arrivals.arrivals("onoff 100/s on 1s off 3s")
    times = list(word.times(0, 4000 * SECOND, random.Random(4).random))
    assert word.mean_rate == 25
    assert len(times) == pytest.approx(100_000, rel=0.08)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("0b", "size of zero"), ("exponential 0kb", "size of zero"), ("-5kb", "negative"),
        ("pareto 100kb shape 1", "infinite mean"), ("pareto 100kb shape x", "not a number"),
        ("lognormal 100kb sigma 0", "not a valid sigma"), ("weibull 100kb", "not a distribution"),
    ],
)  # fmt: skip
def test_wrong_sizes_are_named(word: str, message: str) -> None:
    with pytest.raises(WordError, match=message):
        arrivals.size(word)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("poisson 0/s", "not a rate"), ("poisson 20", "not a rate"), ("poisson nan/s", "not a number"),
        ("sometimes", "does not say when"), ("onoff 5/s on 0s off 1s", "time of zero"),
    ],
)  # fmt: skip
def test_wrong_arrivals_are_named(word: str, message: str) -> None:
    with pytest.raises(WordError, match=message):
        arrivals.arrivals(word)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("arrivals: poisson 20/s", "need a size"), ("size: 100kb", "connections that arrive"),
        ("size: 1kb, arrivals: poisson 20/s, bytes: 5kb", "`bytes` cannot be combined"),
        ("size: 1kb, arrivals: poisson 20/s, flows: 2", "`flows` cannot be combined"),
        ("size: 1kb, arrivals: poisson 20/s, jitter: 5ms", "`jitter` cannot be combined"),
        ("size: 1kb, arrivals: poisson 20000/s", "about 200,000 connections"),
    ],
)  # fmt: skip
def test_keys_that_contradict_arrivals_are_named(scenario: Any, keys: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(FILE % f"{{tcp: client -> server, {keys}}}")


RUN = """\
links:
  - {ends: [client, server], rate: 10gbit, delay: 50ms}
traffic:
  - {tcp: server -> client, name: page, size: %s, arrivals: periodic 1/s, stop: %s}
cc: reno
duration: 4s
"""

MSS = 1448
"""Bytes of a full segment with timestamps."""

FIRST_WINDOW = 10
"""Segments [rfc6928 §2]."""


DELAYED_ACK_S = 0.042
"""Linux's delayed ACK of 40 ms, and its timer's granularity."""


@pytest.mark.parametrize(
    ("segments", "delayed_s"), [(10, 0.0), (11, 0.0), (30, 0.0), (31, 0.0), (70, DELAYED_ACK_S), (71, DELAYED_ACK_S)]
)
def test_a_flow_alone_needs_the_round_trips_of_slow_start_to_the_segment(
    tmp_path: Path, segments: int, delayed_s: float
) -> None:
    """Windows of 10, 20, 40 ... segments, after a round trip of the handshake. After the receiver's quick ACKs, the ACK
    of the last segment may be delayed, which is less than another round trip.
    """
    file = tmp_path / "x.yaml"
    file.write_text(RUN % (f"{segments * MSS}b", "500ms"), encoding="utf-8")
    (run,) = tailback.run(file, out=tmp_path / "out").runs
    round_trips = 1 + math.ceil(math.log2(segments / FIRST_WINDOW + 1))
    assert run.summary["flow_completion_s"]["n"] == 1
    longer = run.summary["flow_completion_s"]["p50"] - 0.1 * round_trips
    assert 0 <= longer <= 0.002 + delayed_s


def test_completion_times_are_summarised_by_size_and_drawn(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    text = RUN % ("lognormal 50kb sigma 2", "3s")
    file.write_text(text.replace("periodic 1/s", "poisson 40/s"), encoding="utf-8")
    results = tailback.run(file, out=tmp_path / "out")
    (run,) = results.runs
    everything, classes = run.summary["flow_completion_s"], run.summary["flow_completion_by_size_s"]
    assert sum(each["n"] for each in classes.values()) == everything["n"] > 80
    assert classes["to_10kb"]["p50"] < classes["to_100kb"]["p50"] < classes["to_1mb"]["p50"]
    fct = plots.find_plot("fct")
    table = fct.table(results)
    assert len(table) == everything["n"]
    assert tailback.plot(results, "fct").axes
    figure, csv = plots.draw_to(fct, results, tmp_path / "figure.png")
    again, _ = plots.draw_to(fct, results, tmp_path / "again.png")
    assert figure.read_bytes() == again.read_bytes()
    assert len(csv.read_text().splitlines()) == 1 + len(table)

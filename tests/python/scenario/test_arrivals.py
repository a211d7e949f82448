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


def test_published_sizes_have_their_published_means() -> None:
    # Means of the same points in pFabric's simulations: 1.6 to 1.7 MB and 7.4 to 7.5 MB.
    assert arrivals.NAMED["websearch"].mean == pytest.approx(1.65e6, rel=0.03)
    assert arrivals.NAMED["datamining"].mean == pytest.approx(7.5e6, rel=0.01)
    # The mean of a generalised Pareto distribution is scale / (1 - shape).
    assert arrivals.NAMED["cache"].mean == pytest.approx(214.476 / (1 - 0.348238))


@pytest.mark.parametrize(
    ("name", "size", "share"),
    [
        ("websearch", 53 * 1460, 0.53),
        ("websearch", 6667 * 1460, 0.97),
        ("datamining", 1460, 0.5),
        ("datamining", 2107 * 1460, 0.95),
        # 1 - (1 + k x / scale)^(-1 / k)
        ("cache", 329, 1 - (1 + 0.348238 * 329 / 214.476) ** (-1 / 0.348238)),
    ],
)
def test_drawn_sizes_have_the_published_shares(name: str, size: int, share: float) -> None:
    uniform = random.Random(3).random
    drawn = [arrivals.NAMED[name].draw(uniform) for _ in range(40_000)]
    assert sum(each <= size for each in drawn) / len(drawn) == pytest.approx(share, abs=0.01)


LOADED = """\
links:
  - {ends: [server, router], rate: 1gbit, delay: 1ms}
  - {ends: [router, client], rate: 1gbit, delay: 1ms}
qdiscs: {router -> client: htb rate 80mbit | fq_codel}
traffic:
  - {tcp: server -> client, size: 100kb, arrivals: %s}
duration: 10s
"""


def test_a_load_is_a_rate_of_arrivals_by_the_rate_of_the_device(scenario: Any) -> None:
    # 50 % of 80 Mbit/s are 40 Mbit/s, and 102,400 bytes are 819,200 bits.
    found = scenario(LOADED % "periodic 50% of router -> client")["traffic"]
    assert len(found) == math.ceil(10 * 40e6 / 819_200)
    assert len(scenario(LOADED % "periodic 100% of server -> router")["traffic"]) == math.ceil(10 * 1e9 / 819_200)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("poisson 120% of router -> client", "`120%` is not a load"),
        ("poisson 0% of router -> client", "`0%` is not a load"),
        ("poisson 50% of router -> nobody", "`router -> nobody` has no rate that is known"),
        ("file missing.txt", "`missing.txt` cannot be read"),
    ],
)
def test_a_load_or_file_that_cannot_be_is_refused(scenario: Any, word: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(LOADED % word)


def test_sizes_of_a_file_are_its_points_and_the_lines_between_them(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("# mine\n1000 0.5\n3000 1\n", encoding="utf-8")
    found = arrivals.size("file sizes.txt", tmp_path)
    assert found.mean == pytest.approx(0.5 * 1000 + 0.5 * 2000)
    uniform = random.Random(1).random
    drawn = [found.draw(uniform) for _ in range(10_000)]
    assert (min(drawn), max(drawn) <= 3000) == (1000, True)
    assert sum(drawn) / len(drawn) == pytest.approx(found.mean, rel=0.02)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0.5\n10 1\n", "line 1 of `x.txt` is out of order"),
        ("10 0.5\n5 1\n", "line 2 of `x.txt` is out of order"),
        ("10 0.5\n20 0.4\n", "line 2 of `x.txt` is out of order"),
        ("10 0.5\n20 0.9\n", "do not end at 1"),
        ("10 half\n", "line 1 of `x.txt` is not two numbers"),
        ("", "do not end at 1"),
    ],
)
def test_a_file_of_sizes_with_an_error_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    with pytest.raises(WordError, match=message):
        arrivals.size("file x.txt", tmp_path)


def test_a_trace_of_flows_has_their_times_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "flows.txt").write_text("0.5 1000\n0.5, 2000\n1.25 3000\n99 1\n", encoding="utf-8")
    found = arrivals.arrivals("file flows.txt", tmp_path)
    drawn = list(arrivals.schedule(found, None, (SECOND, 10 * SECOND), "1/x"))
    assert drawn == [(3 * SECOND // 2, 1000), (3 * SECOND // 2, 2000), (9 * SECOND // 4, 3000)]
    (tmp_path / "flows.txt").write_text("0.5 1000\n0.4 2000\n", encoding="utf-8")
    with pytest.raises(WordError, match=r"line 2 of `flows\.txt` is out of order"):
        arrivals.arrivals("file flows.txt", tmp_path)


def test_a_file_of_flows_stands_beside_the_experiment_and_needs_no_size(tmp_path: Path) -> None:
    (tmp_path / "flows.txt").write_text("0.5 50000\n1.5 50000\n", encoding="utf-8")
    file = tmp_path / "x.yaml"
    file.write_text(FILE % "{tcp: server -> client, arrivals: file flows.txt}", encoding="utf-8")
    (run,) = tailback.run(file, out=tmp_path / "out").runs
    assert run.summary["flow_completion_s"]["n"] == 2
    assert run.summary["flows_unfinished"] == 0
    file.write_text(FILE % "{tcp: server -> client, size: 1kb, arrivals: file flows.txt}", encoding="utf-8")
    with pytest.raises(ScenarioError, match="the flows of a file have their sizes"):
        tailback.run(file, out=tmp_path / "out")


def test_the_slowdown_of_a_lone_flow_of_one_window_is_that_of_its_headers(tmp_path: Path) -> None:
    """Ten segments leave at once after the handshake: two round trips of 20 ms, and the bytes at 100 Mbit/s."""
    file = tmp_path / "x.yaml"
    entry = f"{{tcp: server -> client, bytes: {FIRST_WINDOW * MSS}b}}"
    file.write_text(FILE % entry, encoding="utf-8")
    (run,) = tailback.run(file, out=tmp_path / "out").runs
    least = 0.04 + FIRST_WINDOW * MSS * 8 / 100e6
    assert run.summary["slowdown"]["p50"] == pytest.approx(run.summary["flow_completion_s"]["p50"] / least, rel=1e-4)
    assert 1 < run.summary["slowdown"]["p50"] < 1.02


def test_a_flow_that_does_not_end_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(FILE % "{tcp: server -> client, bytes: 10gb}", encoding="utf-8")
    (run,) = tailback.run(file, out=tmp_path / "out").runs
    assert run.summary["flows_unfinished"] == 1
    assert "flow_completion_s" not in run.summary


def test_completion_times_are_drawn_by_entry_of_traffic(tmp_path: Path) -> None:
    entries = ("web, bytes: 100kb", "mail, bytes: 20kb, group: post", "news, bytes: 30kb, group: post")
    lines = "\n  - ".join(f"{{tcp: server -> client, name: {entry}}}" for entry in entries)
    file = tmp_path / "x.yaml"
    file.write_text((FILE % lines).replace("10s", "2s"), encoding="utf-8")
    results = tailback.run(file, out=tmp_path / "out")
    fct = plots.find_plot("fct")
    assert "group" not in fct.table(results)
    by_group = plots.Choice(colour="group")
    table = fct.table(results, by_group)
    assert dict(zip(table["series"], table["group"], strict=True)) == {"web": "web", "mail": "post", "news": "post"}
    labels = [text.get_text() for text in fct.draw(table, by_group).legends[0].get_texts()]
    assert sorted(label for label in labels if label in {"post", "web", "mail", "news"}) == ["post", "web"]
    with pytest.raises(plots.NotDrawable, match="not an axis"):
        plots.find_plot("cdf").table(results, by_group)

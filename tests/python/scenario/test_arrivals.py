"""Flows that arrive during a run."""

from itertools import pairwise
from statistics import fmean

import pytest

from tailback import scenario
from tailback.scenario.errors import ScenarioError
from tailback.scenario.traffic.arrivals import MAX_FLOWS, Schedule, arrivals, sizes

BASE = """\
links: [{ends: [server, client], rate: 20mbit, delay: 5ms}]
traffic: [{tcp: server -> client, name: web, start: 1s, %s}]
duration: 11s
"""
COUNT = 9_000


def schedule(when: str, size: str, seconds: int = COUNT // 10) -> list[tuple[int, int]]:
    return list(Schedule("web", arrivals(when), sizes(size), 10**9, 10**9 * (1 + seconds)).flows(seed=1))


def test_poisson_arrivals_have_independent_exponential_gaps() -> None:
    starts = [at / 1e9 for at, _ in schedule("poisson 10/s", "1kB")]
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert len(starts) == pytest.approx(COUNT, rel=0.03)
    assert fmean(gaps) == pytest.approx(0.1, rel=0.03)
    # Of exponential gaps the mean of the squares is twice the square of the mean; consecutive ones are uncorrelated.
    assert fmean(gap * gap for gap in gaps) == pytest.approx(0.02, rel=0.08)
    assert fmean(one * other for one, other in pairwise(gaps)) == pytest.approx(0.01, rel=0.05)


def test_periodic_arrivals_have_equal_gaps() -> None:
    starts = [at for at, _ in schedule("periodic 4/s", "1kB", 3)]
    assert starts == [10**9 + 250_000_000 * number for number in range(1, 12)]


@pytest.mark.parametrize("words", ["100kB", "exponential 100kB", "lognormal 100kB 1", "pareto 100kB 2.5"])
def test_sizes_have_the_mean_that_was_asked_for(words: str) -> None:
    drawn = [size for _, size in schedule("poisson 10/s", words)]
    assert fmean(drawn) == pytest.approx(102_400, rel=0.05)
    assert min(drawn) >= 1


def test_a_run_has_the_flows_of_its_seed_in_each_configuration() -> None:
    text = BASE % "arrivals: poisson 20/s, size: exponential 10kB" + "vary: {cc: [cubic, reno]}\nrepeat: 2\n"
    found = [
        [(flow.name, flow.start_ns, flow.bytes) for flow in run.scenario.tcp] for run in scenario.loads(text).runs()
    ]
    alike = {tuple(flows) for flows in found}
    assert len(found) == 4
    assert len(alike) == 2
    assert all(150 < len(flows) < 250 for flows in found)
    assert [name for name, _, _ in found[0]][:2] == ["web.1", "web.2"]
    assert all(10**9 < start < 11 * 10**9 for _, start, _ in found[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("arrivals: poisson 0/s, size: 1kB", "has no rate"),
        ("arrivals: poisson 20, size: 1kB", "has no rate"),
        ("arrivals: poison 20/s, size: 1kB", "did you mean `poisson`"),
        ("arrivals: poisson 20/s", "without a size"),
        ("size: 10kB", "the size of a single flow is `bytes`"),
        ("arrivals: poisson 20/s, size: 0kB", "nothing to send"),
        ("arrivals: poisson 20/s, size: pareto 10kB 1", "no finite mean"),
        ("arrivals: poisson 20/s, size: pareto 10kB", "needs a mean and a shape"),
        ("arrivals: poisson 20/s, size: lognormal 10kB 0", "is no sigma"),
        ("arrivals: poisson 20/s, size: gamma 10kB", "is not a distribution of sizes"),
        ("arrivals: poisson 20/s, size: 1kB, bytes: 1kB", "both given"),
        ("arrivals: poisson 20/s, size: 1kB, jitter: 1ms", "says when flows start"),
        ("arrivals: poisson 5000/s, size: 1kB", f"more than {MAX_FLOWS} flows"),
    ],
)
def test_what_cannot_be_is_refused(words: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario.loads(BASE % words)

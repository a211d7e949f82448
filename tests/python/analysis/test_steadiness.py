"""Whether a series is steady in the window: what must be found, what must not, and by how much a mean is off."""

from pathlib import Path

import numpy as np
import pytest

from tailback.analysis import Window, mser5, summarise
from tailback.analysis.cautions import over
from tailback.analysis.steadiness import Course, State, young
from tailback.analysis.warmup import Settling
from tailback.backends.sim import Sim
from tailback.scenario import load
from tailback.sweep.plan import plan_of
from tailback.sweep.work import measure_of

SECOND = 1_000_000_000
BIN = SECOND // 10
COUNT = 300
TIMES = np.arange(COUNT) / COUNT
Values = np.ndarray[tuple[int], np.dtype[np.float64]]


def noise(seed: int = 1, share: float = 0.03) -> Values:
    return np.random.default_rng(seed).normal(0, share, COUNT)


def course(mbps: Values, begin: int = 0, name: str = "goodput_mbps", most: float | None = None) -> Course:
    """A series of which the window leaves out the first `begin` values."""
    values = mbps * (BIN / 8e3 if name == "goodput_mbps" else 1e3)
    settling = Settling(values, 0, BIN, begin, mser5(values))
    return Course(name, settling, Window(begin * BIN, len(values) * BIN), most=most)


def teeth(count: float, start: float = 0.0) -> Values:
    """Saw teeth of Reno: from half of the top to the top."""
    return np.asarray(0.5 + 0.5 * ((TIMES * count + start) % 1.0), dtype=np.float64)


NEVER_STEADY = {
    "a ramp": 0.5 + TIMES,
    "a slow ramp": 1 + 0.12 * TIMES,
    "a ramp that slows down": 1 - 0.6 * np.exp(-1.5 * TIMES),
    "a ramp over three quarters of the window": np.minimum(0.5 + TIMES, 1.25),
    "a fall": 1.5 - TIMES,
    "a tooth longer than the window": teeth(0.6, 0.1),
    "a tooth that breaks off in the middle": teeth(0.9, 0.6),
    "a slow swing": 1 + 0.3 * np.sin(2 * np.pi * TIMES),
    "a slow swing that ends where it began": 1 + 0.3 * np.cos(2 * np.pi * TIMES),
    "a step in the middle": np.where(TIMES < 0.55, 1.0, 1.2),
}

STEADY = {
    "nothing but noise": np.ones(COUNT),
    "a constant that was rounded": np.where(np.arange(COUNT) % 7 == 3, 1.001, 1.0),
    "five saw teeth": teeth(5, 0.3),
    "eight saw teeth": teeth(8.4),
    "three dips of BBR to four packets": np.where(np.arange(COUNT) % 100 < 2, 0.1, 1.0),
    "a swing that repeats": 1 + 0.2 * np.sin(2 * np.pi * 8 * TIMES),
    "a drift that does not matter": 1 + 0.02 * TIMES,
}


@pytest.mark.parametrize("what", NEVER_STEADY)
def test_what_climbs_falls_steps_or_swings_more_slowly_than_the_window_is_never_steady(what: str) -> None:
    assert course(40 * (NEVER_STEADY[what] + noise(share=0.02))).state == "unsteady"


@pytest.mark.parametrize("what", STEADY)
def test_what_repeats_within_the_window_is_steady(what: str) -> None:
    assert course(40 * (STEADY[what] + noise(share=0.02))).state == "steady"


def test_noise_is_taken_for_unsteady_once_in_two_hundred_runs_or_less() -> None:
    # So much noise that thirds often differ by what matters.
    found = [course(40 * (1 + noise(seed, 0.4))).state for seed in range(400)]
    assert found.count("unsteady") <= 4


def test_youngs_c_is_that_of_his_definition() -> None:
    # Σ (yᵢ − yᵢ₊₁)² = 9, Σ (yᵢ − ȳ)² = 82.5, and the variance is 8 / 99.
    assert young(np.arange(10.0)) == pytest.approx((1 - 9 / 165) / (8 / 99) ** 0.5)
    assert young(np.ones(10)) == 0


def test_a_warm_up_that_ends_in_the_window_leaves_it_steady() -> None:
    found = course(40 * (np.minimum(0.2 + 10 * TIMES, 1.0) + noise(share=0.02)))
    assert found.state == "steady"
    assert found.settling.cut is not None


@pytest.mark.parametrize(("count", "state"), [(39, "short"), (40, "steady")])
def test_a_window_of_fewer_than_forty_intervals_is_too_short(count: int, state: State) -> None:
    assert course(np.full(count, 5.0)).state == state


def test_the_mean_of_what_climbs_is_off_by_at_least_the_distance_from_the_last_third() -> None:
    found = course(10 + 30 * TIMES)
    assert found.thirds == pytest.approx((15, 25, 35), abs=0.1)
    assert found.bias == pytest.approx(25 / 35 - 1, abs=0.01)
    assert course(40 * NEVER_STEADY["a slow swing"]).bias is None


def test_an_even_climb_ends_at_the_rate_of_the_path_and_one_that_slows_down_where_it_goes() -> None:
    # From 10 to 40 Mbit/s in 30 s: the 70 that the path has are reached after 60.
    assert course(10 + 30 * TIMES, most=70.0).steady_at_s == pytest.approx(60, abs=0.5)
    assert course(10 + 30 * TIMES).steady_at_s == 30
    slows = course(40 * (1 - 0.6 * np.exp(-1.2 * TIMES)))
    # 3 % of the value at which it ends are left after ln(0.6 / 0.03) / 1.2 windows.
    assert slows.steady_at_s == pytest.approx(30 * np.log(0.6 / 0.03) / 1.2, rel=0.1)


RAMP = """\
title: a flow that ramps through the whole window
cc: reno
links: [{ends: [client, router], rate: 1gbit}, {ends: [router, server], rate: 20mbit, delay: 50ms}]
hosts: {client: {ssthresh: 20}, router: {}, server: {}}
qdiscs: {router -> server: pfifo limit 1000}
traffic: [{tcp: client -> server, name: upload, start: 0s, jitter: 100ms}]
duration: 12s
measure: {warmup: 2s}
"""


def summary(folder: Path, *settings: str) -> dict[str, object]:
    file = folder / "ramp.yaml"
    file.write_text(RAMP)
    sim = Sim()
    run = plan_of(load(file, settings), sim, settings).runs[0]
    return summarise(sim.run(run.scenario, sim.new_progress()).tables, {}, measure_of(run))


@pytest.mark.parametrize("duration", ["7s", "12s", "16s"])
def test_the_bias_of_a_ramp_is_true_and_the_time_that_is_said_makes_it_steady(tmp_path: Path, duration: str) -> None:
    found = summary(tmp_path, f"duration={duration}")
    truth = summary(tmp_path, "duration=60s", "measure.warmup=30s")
    goodput, true = (each["goodput_mbps"]["total"] for each in (found, truth))  # type: ignore[index]
    assert found["steadiness"]["goodput_mbps"] == "unsteady"  # type: ignore[index]
    assert "steady_from_s" not in found or "goodput_mbps" not in found["steady_from_s"]  # type: ignore[operator]
    assert goodput / true - 1 < found["drift_bias"]["goodput_mbps"] < -0.05  # type: ignore[index]
    [said] = over([({}, found)])
    assert said.code == "never-steady"
    assert "the first, middle and last third of the window, its mean at least" in said.text
    at = found["steady_not_before_s"]["goodput_mbps"]  # type: ignore[index]
    longer = summary(tmp_path, f"duration={2 * at:.0f}s", f"measure.warmup={at:.0f}s")
    assert longer["steadiness"]["goodput_mbps"] == "steady"  # type: ignore[index]
    assert longer["goodput_mbps"]["total"] == pytest.approx(true, rel=0.03)  # type: ignore[index]


def test_traffic_that_ends_before_the_window_is_said_to_end_and_has_no_bias() -> None:
    ended = course(np.where(TIMES < 0.6, 18.0, 1e-5))
    assert ended.state == "unsteady"
    assert ended.ended_s == pytest.approx(0.6 * COUNT / 10)
    assert ended.bias is None
    assert [course(values).ended_s for values in (*NEVER_STEADY.values(), *STEADY.values())] == [None] * (
        len(NEVER_STEADY) + len(STEADY)
    )

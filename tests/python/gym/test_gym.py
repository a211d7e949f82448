"""The environments over the simulator, and what an agent does to a flow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils.env_checker import check_env

from tailback import scenario
from tailback.gym import OBSERVED, PathEnv, PathVectorEnv, power
from tailback.gym.path import NoFlow

SHORT = """\
links: [{ends: [client, router], rate: 1gbit, delay: 1ms}, {ends: [router, server], rate: 10mbit, delay: 20ms}]
qdiscs: {router -> server: pfifo limit 100}
traffic: [{tcp: client -> server, name: upload}]
duration: 3s
measure: {warmup: 1s}
"""

BDP = 36
"""Segments of 1514 bytes on a wire of 10 Mbit/s and 42 ms, with 24 bytes around each."""

Found = list[npt.NDArray[np.float32]]


def held(cwnd: float, env: PathEnv, seed: int = 1, **options: Any) -> tuple[Found, list[float]]:
    """Observations and rewards of an episode with one window."""
    env.reset(seed=seed, options=options or None)
    action = np.array([env.actions.cwnd.action(cwnd)], np.float32)
    seen, rewards = [], []
    truncated = False
    while not truncated:
        observed, reward, terminated, truncated, _ = env.step(action)
        assert not terminated
        seen.append(observed)
        rewards.append(float(reward))
    return seen, rewards


def number(observed: npt.NDArray[np.float32], name: str) -> float:
    return float(observed[OBSERVED.index(name)])


@pytest.mark.parametrize("acts", ["cwnd", "pacing", "both"])
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version:UserWarning")
def test_gymnasiums_checker_passes(acts: Any) -> None:
    check_env(PathEnv(SHORT, acts=acts), skip_render_check=True)


def test_an_episode_is_a_run_of_the_experiment() -> None:
    seen, _ = held(20, PathEnv(SHORT))
    assert len(seen) == 300
    assert number(seen[-1], "time_s") == pytest.approx(3)


def test_a_window_of_half_the_path_gives_half_its_rate_and_one_of_twice_a_queue() -> None:
    half, _ = held(BDP / 2, PathEnv(SHORT))
    double, _ = held(BDP * 2, PathEnv(SHORT))
    assert np.mean([number(each, "goodput_mbps") for each in half[100:]]) == pytest.approx(9.41 / 2, rel=0.03)
    assert number(half[-1], "mean_rtt_ms") == pytest.approx(number(half[-1], "min_rtt_ms"), rel=0.03)
    assert np.mean([number(each, "goodput_mbps") for each in double[100:]]) == pytest.approx(9.41, rel=0.01)
    assert number(double[-1], "mean_rtt_ms") == pytest.approx(2 * 42, rel=0.1)


def test_the_reward_is_best_where_the_window_fills_the_path_without_a_queue() -> None:
    means = {cwnd: np.mean(held(cwnd, PathEnv(SHORT))[1][100:]) for cwnd in (BDP / 2, BDP, BDP * 2)}
    assert max(means, key=means.__getitem__) == BDP


def test_a_pacing_rate_is_the_rate_of_the_flow() -> None:
    env = PathEnv(SHORT, acts="pacing")
    env.reset(seed=1)
    action = np.array([env.actions.pacing_mbps.action(4.0)], np.float32)
    seen = [env.step(action)[0] for _ in range(250)]
    # The rate of pacing is one of data. [linux-6.12 tcp_output.c tcp_update_skb_after_send]
    assert np.mean([number(each, "goodput_mbps") for each in seen[100:]]) == pytest.approx(4, rel=0.01)


def test_the_same_seed_gives_the_same_episode() -> None:
    first, again = held(50, PathEnv(SHORT)), held(50, PathEnv(SHORT))
    assert np.array_equal(first[0], again[0])
    assert first[1] == again[1]


def test_a_reset_takes_another_experiment_and_its_settings() -> None:
    seen, _ = held(BDP, PathEnv(), experiment=SHORT, settings=["duration=2s"])
    assert len(seen) == 200


def test_each_reset_draws_one_of_several_configurations() -> None:
    env = PathEnv("let: {mbit: 2mbit}\n" + SHORT.replace("10mbit", '"${mbit}"') + "vary: {mbit: [2mbit, 10mbit]}\n")
    env.reset(seed=3)
    rates = set()
    for _ in range(8):
        seen, _ = held(100, env, seed=None)  # type: ignore[arg-type]
        rates.add(round(np.mean([number(each, "goodput_mbps") for each in seen[100:]])))
    assert rates == {2, 9}


def test_a_vector_has_the_observations_of_its_environments() -> None:
    many = PathVectorEnv(3, SHORT, threads=2)
    many.reset(seed=5)
    windows = [10.0, 20.0, 30.0]
    actions = np.array([[many.actions.cwnd.action(each)] for each in windows], np.float32)
    for _ in range(50):
        observed, rewards, *_ = many.step(actions)
    for place, cwnd in enumerate(windows):
        assert number(observed[place], "cwnd") == cwnd
    assert rewards == pytest.approx(power(observed.astype(np.float64)))


def test_an_environment_of_a_vector_begins_anew_when_it_is_over() -> None:
    many = PathVectorEnv(2, SHORT, interval="100ms")
    many.reset(seed=5)
    action = np.zeros((2, 1), np.float32)
    for _ in range(29):
        assert not many.step(action)[3].any()
    assert many.step(action)[3].all()
    observed, rewards, _, truncated, _ = many.step(action)
    assert (observed == 0).all()
    assert (rewards == 0).all()
    assert not truncated.any()
    assert number(many.step(action)[0][0], "time_s") == pytest.approx(0.1)


def test_gymnasium_makes_it_by_its_name() -> None:
    assert gymnasium.make("tailback/Path-v0", experiment=SHORT).reset(seed=1)[0].shape == (len(OBSERVED),)


def test_an_experiment_without_tcp_is_refused() -> None:
    env = PathEnv(SHORT.replace("{tcp: client -> server, name: upload}", "{ping: client -> server}"))
    with pytest.raises(NoFlow, match="no TCP flow to steer"):
        env.reset(seed=1)


def test_without_gymnasium_its_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "gymnasium.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'gymnasium'\", name='gymnasium')"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import tailback.gym; tailback.gym.PathEnv"],
        env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[3] / 'python'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "environments need gymnasium" in done.stderr
    assert "pip install 'tailback[gym]'" in done.stderr


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"acts": "window"}, "one of cwnd, pacing, both"),
        ({"reward": 5}, "reward=5 is no function"),
        ({"interval": "0ms"}, "a step takes time"),
        ({"most_cwnd": 1}, "most_cwnd above 1"),
        ({"most_mbps": 0.0}, "most_mbps above"),
        ({"most_mbps": float("nan")}, "most_mbps above"),
        ({"most_cwnd": float("inf")}, "most_cwnd above 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused_when_the_environment_is_made(settings: Any, said: str) -> None:
    for made in (lambda: PathEnv(SHORT, **settings), lambda: PathVectorEnv(2, SHORT, **settings)):
        with pytest.raises(ValueError, match=said):
            made()


def test_a_vector_has_environments_threads_and_a_seed_for_each() -> None:
    with pytest.raises(ValueError, match="num_envs=0\n  hint: 1 or more"):
        PathVectorEnv(0, SHORT)
    with pytest.raises(ValueError, match="threads=0\n  hint: 1 or more"):
        PathVectorEnv(2, SHORT, threads=0)
    with pytest.raises(ValueError, match="3 seeds for 2 environments"):
        PathVectorEnv(2, SHORT).reset(seed=[1, 2, 3])


def test_actions_of_another_number_are_refused() -> None:
    env, vector = PathEnv(SHORT), PathVectorEnv(2, SHORT, acts="both")
    env.reset(seed=1)
    vector.reset(seed=1)
    with pytest.raises(ValueError, match="2 numbers as action\n  hint: 1 with acts='cwnd'"):
        env.step(np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="2 numbers as action\n  hint: 2 × 2 with acts='both'"):
        vector.step(np.zeros(2, np.float32))


def test_an_action_that_is_not_a_number_is_refused() -> None:
    env = PathEnv(SHORT)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="NaN"):
        env.step(np.array([np.nan], np.float32))


def test_the_settings_of_a_reset_are_those_of_the_experiment_before() -> None:
    env = PathEnv(SHORT)
    assert len(held(20, env, settings=["duration=2s"])[0]) == 200
    assert len(held(20, env)[0]) == 200


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"foo": 1}, "unknown options: foo"),
        ({"settings": "duration=2s"}, "a list"),
        ({"settings": {"duration": "2s"}}, "a list"),
        ({"settings": ["duration=5"]}, "duration"),
        ({"experiment": scenario.loads(SHORT), "settings": ["duration=2s"]}, "takes no settings"),
    ],
)
def test_options_of_a_reset_that_mean_nothing_are_refused(options: Any, said: str) -> None:
    with pytest.raises(Exception, match=said):
        PathEnv(SHORT).reset(seed=1, options=options)


def test_endpoints_and_programs_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Endpoint: pass\n")
    (tmp_path / "path.yaml").write_text(
        SHORT.replace("name: upload}]", "name: upload}, {endpoint: ./mine.py, from: client, to: server}]")
    )
    with pytest.raises(ValueError, match="cannot run the endpoint or program"):
        PathEnv(tmp_path / "path.yaml")
    program = SHORT.replace("name: upload}]", 'name: upload}, {program: client, name: echo, run: "true"}]')
    with pytest.raises(ValueError, match="`echo`"):
        PathEnv(program)

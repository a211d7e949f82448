"""Learns a congestion control by an evolution strategy, and compares its reward with that of CUBIC.

    python examples/gym/evolve.py --generations 40 --out policy.json

A policy is linear in five numbers of an observation and says by how much the window changes in an interval. Each
generation tries 64 policies near the present one, each for an episode, all with the same seed; the mean of the better
half, weighted by rank, is the next. [hansen2016]

The reward, of the policy and of CUBIC alike, is goodput in Mbit/s times least RTT over smoothed RTT, over the intervals
of a run.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import tailback
from tailback import scenario
from tailback.gym import OBSERVED, PathVectorEnv
from tailback.gym.path import PATH

POPULATION = 64
SPREAD = 0.3
SHRINKS = 0.97
INTERVAL = "20ms"
MOST_STEP = 0.2
"""The window changes by a factor of exp(0.2) in an interval at most."""

PLACE = {name: OBSERVED.index(name) for name in OBSERVED}


def features(observed):
    """What the policy looks at: queueing delay, its change by the newest RTTs, window, loss, and 1."""
    rtt = observed[:, PLACE["rtt_ms"]]
    least = np.maximum(observed[:, PLACE["min_rtt_ms"]], 1e-3)
    mean = np.where(observed[:, PLACE["mean_rtt_ms"]] > 0, observed[:, PLACE["mean_rtt_ms"]], rtt)
    there = rtt > 0
    queue = np.where(there, np.log(np.maximum(mean, 1e-3) / least), 0.0)
    trend = np.where(there, np.log(np.maximum(mean, 1e-3) / np.maximum(rtt, 1e-3)), 0.0)
    window = np.log(np.maximum(observed[:, PLACE["cwnd"]], 1.0)) / 5
    return np.stack([queue, trend, window, observed[:, PLACE["loss"]], np.ones(len(observed))], axis=1)


def rewards(env, policies, seed):
    """The mean reward of each policy over an episode."""
    observed, _ = env.reset(seed=[seed] * env.num_envs)
    windows, total, steps = np.full(env.num_envs, np.log(10.0)), np.zeros(env.num_envs), 0
    span = np.log(env.actions.cwnd.most)
    while True:
        windows += MOST_STEP * np.tanh(np.sum(features(observed) * policies, axis=1))
        windows = np.clip(windows, 0.0, span)
        observed, reward, _, truncated, _ = env.step((2 * windows / span - 1)[:, None].astype(np.float32))
        total, steps = total + reward, steps + 1
        if truncated.all():
            return total / steps


def reward_of(goodput, rtt, least):
    """The reward of intervals."""
    return np.where(rtt > 0, goodput * least / np.maximum(rtt, 1e-9), 0.0)


def of_observation(observed):
    """The reward of observations."""
    return reward_of(*(observed[..., PLACE[name]] for name in ("goodput_mbps", "rtt_ms", "min_rtt_ms")))


def of_control(text, control):
    """The mean reward of a control that Tailback has, over the same intervals."""
    found = tailback.simulate(scenario.loads(text, [f"cc={control}", f"measure.interval={INTERVAL}"])).runs[0]
    table = found.tcp_info[found.tcp_info["rtt"] > 0]
    goodput = table["bytes_acked"].diff().fillna(0) * 8e-6 / (1e-3 * float(INTERVAL.removesuffix("ms")))
    return float(np.mean(reward_of(goodput, table["rtt"], table["min_rtt"])))


def evolve(env, generations, seed):
    """The policy after so many generations, with the mean reward of each of them."""
    draws = np.random.default_rng(seed)
    mean, spread, course = np.zeros(5), SPREAD, []
    weights = np.log(POPULATION / 2 + 0.5) - np.log(np.arange(1, POPULATION // 2 + 1))
    weights /= weights.sum()
    for number in range(generations):
        tried = mean + spread * draws.standard_normal((POPULATION, 5))
        found = rewards(env, tried, seed + number)
        best = np.argsort(-found)[: POPULATION // 2]
        mean, spread = weights @ tried[best], spread * SHRINKS
        course.append(float(found.mean()))
        print(f"generation {number + 1}: mean {found.mean():.3f}, best {found.max():.3f}", flush=True)
    return mean, course


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--experiment", type=Path, default=None)
    words.add_argument("--generations", type=int, default=40)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--out", type=Path, default=Path("policy.json"))
    asked = words.parse_args()
    text = asked.experiment.read_text() if asked.experiment else PATH
    env = PathVectorEnv(POPULATION, text, interval=INTERVAL, reward=of_observation)
    policy, course = evolve(env, asked.generations, asked.seed)
    held_out = rewards(env, np.tile(policy, (POPULATION, 1)), 10_000)
    cubic = of_control(text, "cubic")
    print(f"the policy, on a seed that it has not seen: {held_out.mean():.3f}; CUBIC: {cubic:.3f}")
    found = {"policy": policy.tolist(), "course": course, "reward": float(held_out.mean()), "cubic": cubic}
    asked.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()

"""Learns a congestion control by an evolution strategy, and compares its reward with that of CUBIC.

    python examples/gym/evolve.py --generations 40 --out policy.json

A policy is linear in the logarithms of five numbers of an observation and says by how much the window changes in an
interval. Each generation tries 64 policies near the present one, each for an episode, all with the same seed; the mean of
the better half, weighted by rank, is the next. [hansen2016]
"""

import argparse
import json
from pathlib import Path

import numpy as np

from tailback.gym import OBSERVED, PathVectorEnv

POPULATION = 64
SPREAD = 0.3
SHRINKS = 0.97
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
    words.add_argument("--experiment", default=None)
    words.add_argument("--generations", type=int, default=40)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--out", type=Path, default=Path("policy.json"))
    asked = words.parse_args()
    env = PathVectorEnv(POPULATION, asked.experiment, interval="20ms")
    policy, course = evolve(env, asked.generations, asked.seed)
    held_out = rewards(env, np.tile(policy, (POPULATION, 1)), 10_000)
    print(f"the policy, on a seed that it has not seen: {held_out.mean():.3f}")
    asked.out.write_text(json.dumps({"policy": policy.tolist(), "course": course, "reward": float(held_out.mean())}))


if __name__ == "__main__":
    main()

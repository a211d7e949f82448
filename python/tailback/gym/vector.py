"""Several flows, each with a path of its own, as a vector of environments: one call steps all, on several threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from typing_extensions import Unpack

from tailback import _core
from tailback.gym.env import begun
from tailback.gym.path import (
    MOST,
    OBSERVED,
    Asked,
    Drawn,
    Floats,
    Numbers,
    Setting,
    Settings,
    numbers,
)

Flags = npt.NDArray[np.bool_]


class PathVectorEnv(VectorEnv[Floats, Floats, npt.NDArray[Any]]):
    """`num_envs` environments like `PathEnv`. One that is over begins anew at its next step, whose reward is 0."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 Gymnasium's.

    def __init__(
        self,
        num_envs: int,
        experiment: Asked | None = None,
        threads: int | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}\n  hint: 1 or more")
        if threads is not None and threads < 1:
            raise ValueError(f"threads={threads}\n  hint: 1 or more, or leave it out for all processors")
        self.num_envs = num_envs
        setting = Setting(**settings)
        self.interval_ns, self.actions = setting.interval_ns, setting.actions
        self.single_action_space = spaces.Box(-1.0, 1.0, (self.actions.count,), np.float32)
        self.single_observation_space = spaces.Box(0.0, MOST, (len(OBSERVED),), np.float32)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._threads = threads or os.cpu_count() or 1
        self._reward, self._flow = setting.reward, setting.flow
        self._drawn = Drawn(experiment)
        self._draws: list[np.random.Generator] = []
        self._runs: list[_core.Steps] = []
        self._over: Flags = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begins a run in each; a number as seed is that of the first, and each other has the next one."""
        self._drawn.change(options)
        if seed is not None or not self._draws:
            seeds = [None] * self.num_envs if seed is None else seed
            each = range(seeds, seeds + self.num_envs) if isinstance(seeds, int) else seeds
            if len(each) != self.num_envs:
                raise ValueError(f"{len(each)} seeds for {self.num_envs} environments\n  hint: one each, or a number")
            self._draws = [np.random.default_rng(one) for one in each]
        self._runs = [begun(self._drawn.found, draws, self._flow) for draws in self._draws]
        self._over = np.zeros(self.num_envs, np.bool_)
        return np.zeros((self.num_envs, len(OBSERVED)), np.float32), {}

    def step(self, actions: Floats) -> tuple[Floats, npt.NDArray[Any], Flags, Flags, dict[str, Any]]:
        """Sets what each action says, and lets an interval pass in all."""
        values, anew = self.actions.values(actions, self.num_envs), self._over
        observed = self._all_stepped(values) if not anew.any() else self._others_stepped(values, anew)
        rewards = np.where(anew, 0.0, self._reward(observed))
        self._over = np.array([run.is_over for run in self._runs])
        return observed.astype(np.float32), rewards, np.zeros(self.num_envs, np.bool_), self._over.copy(), {}

    def _all_stepped(self, values: list[tuple[float, float]]) -> Numbers:
        return numbers(_core.step_all(self._runs, values, self.interval_ns, self._threads))

    def _others_stepped(self, values: list[tuple[float, float]], anew: Flags) -> Numbers:
        """Those that are over begin anew, the others take a step."""
        for place in np.flatnonzero(anew):
            self._runs[place] = begun(self._drawn.found, self._draws[place], self._flow)
        observed, going = np.zeros((self.num_envs, len(OBSERVED))), np.flatnonzero(~anew)
        if len(going):
            runs, acts = [self._runs[place] for place in going], [values[place] for place in going]
            observed[going] = numbers(_core.step_all(runs, acts, self.interval_ns, self._threads))
        return observed

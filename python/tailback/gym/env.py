"""One flow as an environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from typing_extensions import Unpack

from tailback import _core
from tailback.gym.path import (
    MOST,
    OBSERVED,
    Asked,
    Drawn,
    Floats,
    Setting,
    Settings,
    numbers,
    steered,
)


class PathEnv(gymnasium.Env[Floats, Floats]):
    """A TCP flow over a path. Each step sets its window, its pacing rate or both, and lets `interval` pass.

    A run of the experiment is an episode; its end truncates it. If the experiment has several configurations, each
    `reset` draws one.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 Gymnasium's.

    def __init__(
        self,
        experiment: Asked | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        setting = Setting(**settings)
        self.interval_ns, self.actions = setting.interval_ns, setting.actions
        self.action_space = spaces.Box(-1.0, 1.0, (self.actions.count,), np.float32)
        self.observation_space = spaces.Box(0.0, MOST, (len(OBSERVED),), np.float32)
        self._reward, self._flow = setting.reward, setting.flow
        self._drawn = Drawn(experiment)
        self._steps: _core.Steps | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begins a run. `options` may have an `experiment` for this and all later episodes, and `settings` of it, as
        `--set` takes them, or of the one before."""
        super().reset(seed=seed)
        self._drawn.change(options)
        self._steps = begun(self._drawn.found, self.np_random, self._flow)
        return np.zeros(len(OBSERVED), np.float32), {}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Sets what the action says, and lets an interval pass."""
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        [(cwnd, pacing_bps)] = self.actions.values(action, 1)
        observed = numbers(self._steps.step(cwnd, pacing_bps, self.interval_ns))[0]
        return observed.astype(np.float32), float(self._reward(observed)), False, self._steps.is_over, {}


def begun(found: list[Any], draws: np.random.Generator, flow: str | None) -> _core.Steps:
    """A run of one of the configurations, with a seed that is drawn."""
    one = found[int(draws.integers(len(found)))] if len(found) > 1 else found[0]
    return _core.Steps(*steered(one, int(draws.integers(2**31)), flow))


gymnasium.register(
    "tailback/Path-v0", "tailback.gym.env:PathEnv", vector_entry_point="tailback.gym.vector:PathVectorEnv"
)

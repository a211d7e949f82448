"""What one environment and several have in common: experiments, observations, actions, rewards."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, get_args

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from tailback import _core, scenario
from tailback.resolved import Control, Scenario, Tcp, to_json
from tailback.tc import units

Numbers: TypeAlias = npt.NDArray[np.float64]
Floats: TypeAlias = npt.NDArray[np.float32]
Acts: TypeAlias = Literal["cwnd", "pacing", "both"]
"""What an agent sets."""

Reward: TypeAlias = Callable[[Numbers], Numbers]
"""The reward of observations: their numbers in the last dimension, in the order of `OBSERVED`."""

Asked: TypeAlias = str | Path | Mapping[str, Any] | scenario.Experiment
"""An experiment: its file, its text (with a line break), its keys, or what `tailback.load` gives."""

OBSERVED: tuple[str, ...] = tuple(_core.Steps.OBSERVED)
"""The numbers of an observation."""

CONTROL = "steered"
"""Name and language of the control of the flow."""

PATH = """\
links: [{ends: [client, router], rate: 1gbit, delay: 1ms}, {ends: [router, server], rate: 10mbit, delay: 20ms}]
qdiscs: {router -> server: pfifo limit 100}
traffic: [{tcp: client -> server, name: upload}]
duration: 20s
measure: {warmup: 2s}
"""
"""The path of an environment without an experiment."""

LEAST_RATE_MBPS = 0.1

MOST = 1e9
"""No number of an observation is larger."""


class NoFlow(ValueError):
    """The experiment has no flow that can be steered."""


class Range(Struct, frozen=True):
    """The values that an action of −1 to 1 stands for, on a logarithmic scale."""

    least: float
    most: float

    def value(self, action: Numbers) -> Numbers:
        """The value of actions."""
        share = (np.minimum(np.maximum(action, -1.0), 1.0) + 1.0) / 2.0
        found: Numbers = self.least * np.exp(math.log(self.most / self.least) * share)
        return found

    def action(self, value: float) -> float:
        """The action of a value."""
        return 2.0 * math.log(value / self.least) / math.log(self.most / self.least) - 1.0


class Settings(TypedDict, total=False):
    """How an agent sees and steers a flow; see `Setting`."""

    flow: str | None
    interval: str
    acts: Acts
    most_cwnd: int
    most_mbps: float
    reward: Reward


class Actions(Struct, frozen=True):
    """How actions become windows (segments) and pacing rates (bit/s)."""

    acts: Acts
    cwnd: Range
    pacing_mbps: Range

    @property
    def count(self) -> int:
        """The numbers of an action."""
        return 2 if self.acts == "both" else 1

    def values(self, actions: npt.NDArray[Any], expected: int) -> list[tuple[float, float]]:
        """The window and the rate of each of so many actions; a rate of 0 is none."""
        given = np.asarray(actions, dtype=np.float64)
        if given.size != expected * self.count:
            wanted = f"{expected} × {self.count}" if expected > 1 else self.count
            raise ValueError(f"{given.size} numbers as action\n  hint: {wanted} with acts={self.acts!r}")
        given = given.reshape(expected, self.count)
        if np.isnan(given).any():
            raise ValueError("an action is not a number (NaN)\n  hint: look at what the policy was trained on")
        most, none = [self.cwnd.most] * len(given), [0.0] * len(given)
        windows = most if self.acts == "pacing" else np.rint(self.cwnd.value(given[:, 0])).tolist()
        rates = none if self.acts == "cwnd" else (1e6 * self.pacing_mbps.value(given[:, -1])).tolist()
        return list(zip(windows, rates, strict=True))


def power(observed: Numbers) -> Numbers:
    """Goodput in Mbit/s times least RTT over mean RTT: the whole rate of the path if no queue stands, half of it if the
    queue doubles the RTT.
    """
    goodput, smooth, mean, least = observed[..., 0], observed[..., 1], observed[..., 2], observed[..., 3]
    rtt = np.where(mean > 0, mean, smooth)
    # Before the first sample all of them are 0.
    found: Numbers = goodput * least / np.maximum(rtt, 1e-9)
    return found


class Setting(Struct, frozen=True):
    """The settings of an environment, with their defaults."""

    flow: str | None = None
    """The flow that is steered; the first one unless given."""
    interval: str = "10ms"
    """The length of a step."""
    acts: Acts = "cwnd"
    most_cwnd: int = 1000
    """The window of an action of 1, in segments."""
    most_mbps: float = 1000.0
    """The pacing rate of an action of 1."""
    reward: Reward = power

    def __post_init__(self) -> None:
        if self.acts not in get_args(Acts):
            raise ValueError(f"acts={self.acts!r}\n  hint: one of {', '.join(get_args(Acts))}")
        if not callable(self.reward):
            raise ValueError(f"reward={self.reward!r} is no function\n  hint: a function of observations, as `power`")
        if not (1 < self.most_cwnd < math.inf and LEAST_RATE_MBPS < self.most_mbps < math.inf):
            hint = f"most_cwnd above 1 segment, most_mbps above {LEAST_RATE_MBPS}"
            raise ValueError(f"most_cwnd={self.most_cwnd}, most_mbps={self.most_mbps}\n  hint: {hint}")
        if self.interval_ns <= 0:
            raise ValueError(f"interval={self.interval!r}: a step takes time\n  hint: 10ms")

    @property
    def interval_ns(self) -> int:
        """The length of a step."""
        return units.time(self.interval)

    @property
    def actions(self) -> Actions:
        """What actions stand for."""
        return Actions(self.acts, Range(1.0, float(self.most_cwnd)), Range(LEAST_RATE_MBPS, self.most_mbps))


class Drawn:
    """The configurations that episodes draw from; the options of a reset may change them."""

    def __init__(self, asked: Asked | None) -> None:
        self._asked: Asked = PATH if asked is None else asked
        self.found = _configurations(self._asked, ())

    def change(self, options: Mapping[str, Any] | None) -> None:
        """Takes the `experiment` and the `settings` of the options of a reset; raises `ValueError` at others."""
        given = dict(options or {})
        if not given:
            return
        asked, settings = given.pop("experiment", self._asked), given.pop("settings", ())
        if given:
            raise ValueError(f"unknown options: {', '.join(map(str, given))}\n  hint: `experiment` and `settings`")
        self.found, self._asked = _configurations(asked, settings), asked


def _configurations(asked: Asked, settings: Sequence[str]) -> list[Scenario]:
    """The configurations of an experiment, each once."""
    if isinstance(settings, str | Mapping):
        raise ValueError(f"settings={settings!r}\n  hint: a list of what --set takes: ['duration=2s']")
    found = [run.scenario for run in _experiment(asked, settings).runs() if run.repetition == 1]
    for each in found:
        outside = [*(one.name for one in each.endpoints), *(one.name for one in each.programs)]
        if outside:
            hint = "leave it out, or put a flow of TCP or UDP in its place"
            raise ValueError(f"an environment cannot run the endpoint or program `{outside[0]}`\n  hint: {hint}")
    return found


def _experiment(asked: Asked, settings: Sequence[str]) -> scenario.Experiment:
    if isinstance(asked, scenario.Experiment):
        if settings:
            raise ValueError("an experiment that is loaded takes no settings\n  hint: give them to `tailback.load`")
        return asked
    if isinstance(asked, Mapping):
        return scenario.loads(json.dumps(asked), list(settings))
    if isinstance(asked, str) and "\n" in asked:
        return scenario.loads(asked, list(settings))
    return scenario.load(Path(asked), list(settings))


def steered(found: Scenario, seed: int, flow: str | None) -> tuple[str, str]:
    """The resolved scenario of a run with this seed, in which a flow is steered, as JSON; and the name of the flow."""
    names = [each.name for each in found.tcp]
    name = flow if flow is not None else next(iter(names), None)
    if name not in names:
        raise NoFlow(
            f"`{found.title}` has no TCP flow `{name}`"
            if name
            else f"`{found.title}` has no TCP flow to steer"
            "\n  hint: name one of `traffic`: {tcp: client -> server, name: upload}"
        )
    traffic = tuple(
        replace(each, cc=Control(name=CONTROL)) if isinstance(each, Tcp) and each.name == name else each
        for each in found.traffic
    )
    document = to_json(replace(found, seed=seed, traffic=traffic, controls=(), kernel=None))
    document["controls"] = [{"name": CONTROL, "language": CONTROL, "sha256": "", "text": ""}]
    return json.dumps(document), name


def numbers(found: bytes) -> Numbers:
    """The numbers of observations."""
    return np.frombuffer(found, dtype=np.float64).reshape(-1, len(OBSERVED))

"""Environments of Gymnasium over the simulator: a TCP flow whose window and pacing rate an agent sets, step by step
(`docs/learn-a-control.md`).

They need the extra `tailback[gym]`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from tailback.extras import need

if TYPE_CHECKING:
    from tailback.gym.env import PathEnv
    from tailback.gym.path import OBSERVED, power
    from tailback.gym.vector import PathVectorEnv

__all__ = ["OBSERVED", "PathEnv", "PathVectorEnv", "power"]

_MODULES = {
    "OBSERVED": "tailback.gym.path",
    "PathEnv": "tailback.gym.env",
    "PathVectorEnv": "tailback.gym.vector",
    "power": "tailback.gym.path",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    need("gymnasium")
    return getattr(importlib.import_module(_MODULES[name]), name)

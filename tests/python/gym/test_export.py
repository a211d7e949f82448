"""A policy as a kernel module, in fixed point, does in the simulator what it did in the environment."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailback import kernel
from tailback.gym import PathVectorEnv
from tailback.gym.path import PATH
from tailback.kernel import KernelMissing

EXAMPLES = Path(__file__).parents[3] / "examples" / "gym"
POLICY = (-3.0, -1.0, -0.5, -1.0, 1.0)
SHORT = PATH.replace("20s", "8s")


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The modules `evolve` and `export`."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return importlib.import_module("evolve"), importlib.import_module("export")


@pytest.fixture
def _headers() -> None:
    if os.environ.get("CI") == "true":
        kernel.prepare(kernel.Recipe(kernel.package("6.12"), kernel.STOCK), print)
        return
    try:
        kernel.find_headers()
    except KernelMissing as missing:
        pytest.skip(f"needs the headers of a kernel: {missing}")


@pytest.mark.usefixtures("_headers")
def test_the_module_gets_the_reward_of_the_policy(examples: tuple[Any, Any], tmp_path: Path) -> None:
    evolve, export = examples
    env = PathVectorEnv(1, SHORT, interval=evolve.INTERVAL, reward=evolve.of_observation)
    learned = float(evolve.rewards(env, np.array([POLICY]), 1)[0])
    (tmp_path / "tcp_policy.c").write_text(export.module(POLICY))
    (tmp_path / "path.yaml").write_text(SHORT)
    found = export.reward(tmp_path / "path.yaml", str(tmp_path / "tcp_policy.c"), "sim", tmp_path / "out")
    assert found == pytest.approx(learned, rel=0.1)
    assert 5 < learned < 9.4, "what the path allows"


def test_a_policy_is_written_with_16_bits_after_the_point(examples: tuple[Any, Any]) -> None:
    _, export = examples
    source = export.module((1.0, -0.5, 0.0, 2.25, 1e-5))
    assert "{ 65536LL, -32768LL, 0LL, 147456LL, 1LL }" in source
    assert "#define INTERVAL_US 20000\n" in source

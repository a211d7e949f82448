"""Experiments drawn at random can run, on the simulator and on a kernel."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from conformance import random_experiments, random_networks
from tailback import scenario
from tailback.backends.linux import suitable


@pytest.mark.parametrize("draw", [random_experiments.experiment, random_networks.experiment])
@pytest.mark.parametrize("seed", range(5))
def test_each_can_run_on_a_kernel(draw: Callable[[int, int], dict[str, Any]], seed: int) -> None:
    file = yaml.safe_dump(draw(seed, 40), sort_keys=False)
    runs = [run for run in scenario.loads(file).runs() if run.repetition == 1]
    assert len(runs) == 40
    for run in runs:
        assert list(suitable.findings(run.scenario)) == []


def test_the_same_seed_draws_the_same_file() -> None:
    assert random_experiments.experiment(3, 5) == random_experiments.experiment(3, 5)
    assert random_networks.experiment(3, 5) == random_networks.experiment(3, 5)

"""Experiments drawn at random can run, on the simulator and on a kernel."""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance import random_cells, random_experiments, random_networks, random_pairs
from tailback import scenario
from tailback.backends.linux import suitable
from tailback.backends.uml import suitable as with_kernel
from tailback.kernel.cache import Kernel, Manifest

CONFIGURATIONS = Path(__file__).parents[3] / "kernel"


@pytest.mark.parametrize("draw", [random_experiments.experiment, random_networks.experiment, random_pairs.experiment])
@pytest.mark.parametrize("seed", range(5))
def test_each_can_run_on_a_kernel(draw: Callable[[int, int], dict[str, Any]], seed: int) -> None:
    file = yaml.safe_dump(draw(seed, 40), sort_keys=False)
    runs = [run for run in scenario.loads(file).runs() if run.repetition == 1]
    assert len(runs) == 40
    for run in runs:
        assert list(suitable.findings(run.scenario)) == []


@pytest.mark.parametrize("seed", range(5))
def test_each_cell_can_run_with_mac80211(seed: int, tmp_path: Path) -> None:
    texts = [(CONFIGURATIONS / name).read_text(encoding="utf-8") for name in ("config", "config.wifi")]
    (tmp_path / "config").write_text("\n".join(texts), encoding="utf-8")
    kernel = Kernel(tmp_path, Manifest("wifi", "d", "6.12.1", "linux-source-6.12", "gcc", "2026", 1.0))
    file = yaml.safe_dump(random_cells.experiment(seed, 40), sort_keys=False)
    runs = [run for run in scenario.loads(file).runs() if run.repetition == 1]
    assert len(runs) == 40
    for run in runs:
        with_kernel.check(run.scenario, kernel)


def test_the_same_seed_draws_the_same_file() -> None:
    assert random_cells.experiment(3, 5) == random_cells.experiment(3, 5)
    assert random_experiments.experiment(3, 5) == random_experiments.experiment(3, 5)
    assert random_networks.experiment(3, 5) == random_networks.experiment(3, 5)
    assert random_pairs.experiment(3, 5) == random_pairs.experiment(3, 5)


@pytest.mark.parametrize("options", [random_pairs.SOCKETS, random_pairs.SYSCTLS])
def test_each_option_and_each_value_of_it_is_drawn_beside_another(options: Mapping[str, Sequence[Any]]) -> None:
    draw = random_experiments.Draw(random.Random(1))
    pairs = [random_pairs.pair(draw, options) for _ in range(3000)]
    assert {len(each) for each in pairs} == {2}
    drawn = {(name, value) for each in pairs for name, value in each.items()}
    assert drawn == {(name, value) for name, values in options.items() for value in values}

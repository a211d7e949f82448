"""Campaigns walk the registries: a new control, discipline or driver is drawn, or it is said why not."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance import random_cells, random_experiments, random_networks
from conformance.controls import IN_LINUX, NOT_IN_LINUX
from tailback.algorithms import CoreRegistry

REGISTRY = CoreRegistry()
NAMES = [row.name for row in REGISTRY.congestion_controls]


def test_a_control_is_of_linux_or_said_to_be_of_somebody_else() -> None:
    assert set(NOT_IN_LINUX) < set(NAMES)
    assert list(IN_LINUX) == [name for name in NAMES if name not in NOT_IN_LINUX]
    assert len(IN_LINUX) >= 17


@pytest.mark.parametrize("module", [random_cells, random_experiments, random_networks], ids=lambda each: each.__name__)
def test_each_control_of_linux_is_drawn(module: Any) -> None:
    cases = module.experiment(1, 400)["vary"]["case"].values()
    drawn = {each.get("cc") for case in cases for each in (case, *case["traffic"])}
    assert drawn - {None} == set(IN_LINUX)


@pytest.mark.parametrize("draw", [random_experiments.experiment, random_networks.experiment])
def test_each_discipline_is_drawn_or_it_is_said_why_not(draw: Callable[[int, int], Any]) -> None:
    trees = [tree for case in draw(1, 400)["vary"]["case"].values() for tree in case["qdiscs"].values()]
    drawn = {tree.split("|")[-1].split()[0] for tree in trees}
    assert drawn | set(random_experiments.NOT_DRAWN) == {row.name for row in REGISTRY.qdiscs}
    assert not {kind for kind, _ in random_experiments.DISCIPLINES} & set(random_experiments.NOT_DRAWN)


def test_each_driver_is_drawn_or_it_is_said_why_not() -> None:
    drawn = {name for names in random_cells.DRIVERS.values() for name in names}
    assert sorted([*drawn, *random_cells.NOT_DRAWN]) == sorted(row.name for row in REGISTRY.drivers)

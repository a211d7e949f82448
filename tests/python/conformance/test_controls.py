"""Campaigns walk the registry of controls: a new one is in all of them."""

import random

from conformance import random_cells, random_experiments
from conformance.controls import IN_LINUX, NOT_IN_LINUX
from tailback.algorithms import CoreRegistry

NAMES = [row.name for row in CoreRegistry().congestion_controls]


def test_a_control_is_of_linux_or_said_to_be_of_somebody_else() -> None:
    assert set(NOT_IN_LINUX) < set(NAMES)
    assert list(IN_LINUX) == [name for name in NAMES if name not in NOT_IN_LINUX]
    assert len(IN_LINUX) >= 17


def test_random_cells_have_controls_that_there_are() -> None:
    assert set(random_cells.CONTROLS) <= set(IN_LINUX)


def test_random_experiments_draw_each_control_of_linux() -> None:
    drawn = random_experiments.Draw(random.Random(1))
    assert {drawn.one(IN_LINUX) for _ in range(1_000)} == set(IN_LINUX)

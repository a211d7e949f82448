"""The number of cases of property tests."""

from hypothesis import settings

USUALLY = 100
"""Cases of a property that says nothing, unless `--times` asks for more."""


def cases(usually: int) -> int:
    """`usually` cases, multiplied by `pytest --times`."""
    return usually * settings().max_examples // USUALLY

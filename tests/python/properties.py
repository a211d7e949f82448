"""How many cases the property tests are tried with."""

from hypothesis import settings

USUALLY = 100
"""Cases of a property that says nothing, unless `--times` asks for more."""


def cases(usually: int) -> int:
    """So many, or as many times more as `pytest --times` asks for."""
    return usually * settings().max_examples // USUALLY

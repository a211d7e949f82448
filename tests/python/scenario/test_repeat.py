"""The values of `repeat:`."""

import pytest

from tailback.scenario.repeat import Repeat, repeat
from tailback.tc.errors import WordError


@pytest.mark.parametrize(
    ("word", "found"),
    [
        (5, Repeat(5, 5)),
        ("until ci95 < 3%", Repeat(5, 30, 0.03, ("goodput", "rtt"))),
        ("until  ci95 of ping < 0.5 %", Repeat(5, 30, 0.005, ("ping",))),
        ("until ci95 of goodput, ping and jain < 10%", Repeat(5, 30, 0.1, ("goodput", "ping", "jain"))),
        ("until ci95 < 3%, at most 4", Repeat(4, 4, 0.03, ("goodput", "rtt"))),
        ("until ci95 < 3%, at least 2, at most 50", Repeat(2, 50, 0.03, ("goodput", "rtt"))),
        ("until ci95 < 3%, at least 40", Repeat(40, 40, 0.03, ("goodput", "rtt"))),
    ],
)
def test_a_number_or_until_intervals_are_narrow(word: object, found: Repeat) -> None:
    assert repeat(word) == found


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (0, "too small"),
        (10_001, "too large"),
        (True, "not a number"),
        (2.5, "not a number"),
        (None, "not a number"),
        ("five", "not a number"),
        ("until ci95 < 0%", "between 0 and 100"),
        ("until ci95 < 300%", "between 0 and 100"),
        ("until ci95 of goodput < 3%, at least 1", "is not a valid range"),
        ("until ci95 < 3%, at least 9, at most 5", "is not a valid range"),
        ("until ci95 of cwnd < 3%", "cannot be used with `until`"),
    ],
)
def test_anything_else_is_refused_with_a_remedy(word: object, said: str) -> None:
    with pytest.raises(WordError, match=said) as refusal:
        repeat(word)
    assert refusal.value.hint

"""Verdicts follow from intervals and bounds."""

import pytest

from tailback.assess.suite import Criterion
from tailback.assess.verdicts import Estimate, enough, estimate, judged, row

FIXED = Criterion(
    id="delay", section="5", question="?", experiment="x", measure="ping_ms.p99", better="low", bound=40, source="s"
)
BESIDE = Criterion(
    id="rate", section="5", question="?", experiment="x", measure="1", against=("reno", "cubic"), allow=0.1, source="s"
)


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ([30.0, 31.0, 32.0], "meets"),
        ([50.0, 51.0, 52.0], "fails"),
        ([38.0, 39.0, 42.0], "undecided"),
        ([30.0], "undecided"),
        ([], "absent"),
    ],
)
def test_a_control_meets_a_bound_with_its_whole_interval_or_not_at_all(values: list[float], outcome: str) -> None:
    found = {"mine": estimate(values)} if values else {}
    assert judged(FIXED, {}, "mine", found).outcome == outcome


def test_without_a_number_the_bound_is_the_worst_end_of_the_intervals_of_others() -> None:
    others = {"reno": Estimate(3, 10, 9, 11), "cubic": Estimate(3, 20, 18, 22)}
    place = judged(BESIDE, {}, "mine", {"mine": estimate([8.2, 8.3, 8.4]), **others})
    assert place.bound == pytest.approx(9 * 0.9)
    assert place.outcome == "undecided"
    assert judged(BESIDE, {}, "mine", {"mine": estimate([9.0, 9.0, 9.0]), **others}).outcome == "meets"
    assert judged(BESIDE, {}, "mine", {"mine": estimate([9.0, 9.0, 9.0])}).outcome == "absent"


def test_a_standard_control_meets_its_own_interval() -> None:
    own = estimate([8.0, 10.0, 12.0])
    assert judged(BESIDE, {}, "reno", {"reno": own}).outcome == "meets"


def test_as_many_repetitions_as_would_decide_have_an_interval_that_ends_before_the_bound() -> None:
    own = estimate([38.0, 39.0, 42.0])
    count = enough(own, 40)
    assert count is not None
    assert 60 < count < 200
    again = [own.mean + own.deviation * side for side in (-1, 1)] * (count // 2 + 1)
    assert judged(FIXED, {}, "mine", {"mine": estimate(again)}).outcome == "meets"
    assert enough(estimate([39.0, 41.0]), 40) is None


def test_a_row_fails_if_one_place_does_and_shows_that_one() -> None:
    places = [judged(FIXED, {"at": at}, "mine", {"mine": estimate(each)}) for at, each in PLACES.items()]
    found = row(FIXED, places)
    assert found.outcome == "fails"
    assert found.worst is not None
    assert found.worst.axes == {"at": "worst"}
    assert row(FIXED, places[:1]).outcome == "meets"
    assert row(FIXED, places, "it crashed").outcome == "ended"


PLACES = {"good": [1.0, 1.1], "bad": [50.0, 50.1], "worst": [90.0, 90.1]}

"""Libraries of endpoints that answer at random: a few of `make campaign-endpoints`."""

from pathlib import Path

from campaigns import endpoints

RUNS, SEED = 12, 12
"""The networks, each with answers of three kinds of oddness."""


def test_no_answer_of_a_library_is_more_than_the_end_of_its_own_run(tmp_path: Path) -> None:
    tally = endpoints.campaign(RUNS, SEED, endpoints.compiled(tmp_path))
    assert tally.finds == []
    assert 0 < tally.completed < RUNS
    assert len(tally.reasons) > 1


def test_what_is_no_reason_of_an_endpoint_is_found() -> None:
    assert endpoints.REASON.fullmatch("endpoints `drawn` at 0.1 s: its ECN bits are 4; write 0 to 3")
    assert not endpoints.REASON.fullmatch("endpoints `drawn` at 0.1 s: ")
    assert not endpoints.REASON.fullmatch("a defect of Tailback: index out of range")
    assert not endpoints.REASON.fullmatch("the endpoint failed: \x1b[2J")
    assert not endpoints.REASON.fullmatch("the endpoint failed: " + 5000 * "x")

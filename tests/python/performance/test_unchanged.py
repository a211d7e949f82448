"""What `python -m performance.unchanged` compares."""

from performance.unchanged import differences, digests, scenarios


def test_the_digests_of_a_run_are_those_of_the_same_run_again() -> None:
    _, resolved = next(iter(scenarios(1)))
    short = {**resolved, "duration_ns": 50_000_000}
    one = digests(short)
    assert one == digests(short)
    assert {"table flows", "qdiscs", "events", "packets", "segments"} <= one.keys()


def test_a_difference_names_its_run_and_its_parts() -> None:
    before = {"a": {"table flows": "1", "events": "5"}, "b": {"qdiscs": "1"}}
    now = {"a": {"table flows": "2", "events": "4"}, "b": {"qdiscs": "1"}}
    assert differences(before, now, []) == ["a: events, table flows"]
    assert differences(before, now, ["events"]) == ["a: table flows"]


def test_a_run_that_only_one_side_has_is_a_difference() -> None:
    assert differences({"a": {"qdiscs": "1"}}, {}, []) == ["a: qdiscs"]


def test_a_run_that_the_old_build_did_not_make_is_no_difference() -> None:
    assert differences({}, {"a": {"qdiscs": "1"}}, []) == []

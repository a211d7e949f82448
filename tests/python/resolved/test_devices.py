"""The rate of a device: the minimum of its link's rate at that instant and of the shapers that all packets pass."""

from msgspec.structs import replace

from tailback.resolved import Class, Device, Link, Qdisc, Trace, mean_rate, rate_of, rates_of, shaped_rate
from tailback.resolved.links import Change

MBIT = 1_000_000
SECOND = 10**9


def link(rate: int | None = 100 * MBIT, schedule: tuple[Change, ...] = ()) -> Link:
    return Link(
        ends=(0, 1), rate_bps=(rate, rate), delay_ns=(0, 0), mtu=1500, ring=(256, 256), bql=(True, True),
        schedule=schedule,
    )  # fmt: skip


def device(root: Qdisc | None = None, wire: Link | None = None) -> Device:
    return Device(name="a -> b", host=0, neighbour=1, link=0, end=0, wire=wire or link(), trace=None, root=root)


def htb(*classes: Class) -> Qdisc:
    return Qdisc(kind="htb", classes=classes)


def leaf(minor: int, parent: int, rate: int, ceil: int | None = None, child: Qdisc | None = None) -> Class:
    options = {"rate": rate * MBIT} | ({} if ceil is None else {"ceil": ceil * MBIT})
    return Class(minor=minor, parent=parent, options=options, child=child)


def test_without_a_shaper_a_device_has_the_rate_of_its_link() -> None:
    assert rate_of(device()) == 100 * MBIT
    assert rate_of(device(Qdisc(kind="fq_codel"))) == 100 * MBIT
    assert rate_of(device(wire=link(None))) is None


def test_the_delay_at_the_start_is_that_of_the_last_change_at_0_s() -> None:
    assert link().delay_at_start(0) == 0
    changes = tuple(Change(at_ns=at, end=0, delay_ns=delay) for at, delay in ((0, 5), (0, 7), (1, 9)))
    assert [link(schedule=changes).delay_at_start(end) for end in (0, 1)] == [7, 0]


def test_each_kind_of_shaper_counts_and_the_slowest_limits() -> None:
    for kind, option in (("cake", "bandwidth"), ("tbf", "rate"), ("htb", "rate"), ("netem", "rate")):
        assert rate_of(device(Qdisc(kind=kind, options={option: 20 * MBIT}))) == 20 * MBIT
        assert rate_of(device(Qdisc(kind=kind, options={option: 200 * MBIT}))) == 100 * MBIT
    inner = Qdisc(kind="tbf", options={"rate": 30 * MBIT})
    assert rate_of(device(Qdisc(kind="htb", options={"rate": 50 * MBIT}, child=inner))) == 30 * MBIT


def test_the_bandwidth_of_red_is_no_shaper() -> None:
    assert rate_of(device(Qdisc(kind="red", options={"bandwidth": 10 * MBIT}))) == 100 * MBIT


def test_stages_in_series_come_one_after_the_other() -> None:
    stages = (Qdisc(kind="netem", options={"delay": 5}), Qdisc(kind="tbf", options={"rate": 7 * MBIT}))
    classes = tuple(Class(minor=place, parent=0, child=stage) for place, stage in enumerate(stages, 1))
    assert rate_of(device(Qdisc(kind="series", classes=classes))) == 7 * MBIT


def test_a_tree_of_htb_has_the_rate_of_its_top() -> None:
    tree = htb(leaf(1, 0, 50), leaf(10, 1, 10, 50), leaf(20, 1, 40, 50))
    assert rate_of(device(tree)) == 50 * MBIT


def test_a_class_of_htb_without_a_parent_cannot_borrow_up_to_its_ceiling() -> None:
    assert shaped_rate(htb(leaf(1, 0, 10, 80))) == 10 * MBIT


def test_classes_beside_each_other_add_up_and_children_bound_their_parent() -> None:
    assert shaped_rate(htb(leaf(1, 0, 10), leaf(2, 0, 20))) == 30 * MBIT
    assert shaped_rate(htb(leaf(1, 0, 90), leaf(10, 1, 10, 20), leaf(20, 1, 5))) == 25 * MBIT
    inner = Qdisc(kind="cake", options={"bandwidth": 4 * MBIT})
    assert shaped_rate(htb(leaf(1, 0, 90), leaf(10, 1, 10, 20, inner))) == 4 * MBIT


def test_bands_of_which_one_is_not_shaped_are_not() -> None:
    shaped = Qdisc(kind="tbf", options={"rate": 3 * MBIT})
    bands = tuple(Class(minor=minor, parent=0, child=child) for minor, child in ((1, shaped), (2, shaped)))
    assert shaped_rate(Qdisc(kind="prio", classes=bands)) == 6 * MBIT
    assert shaped_rate(Qdisc(kind="prio", classes=(*bands, Class(minor=3, parent=0)))) is None


def test_a_schedule_changes_the_rate_at_its_instant_and_at_its_end_alone() -> None:
    changes = (Change(at_ns=2 * SECOND, end=0, rate_bps=20 * MBIT), Change(at_ns=3 * SECOND, end=1, rate_bps=1),
               Change(at_ns=4 * SECOND, end=0, delay_ns=5))  # fmt: skip
    one = device(wire=link(schedule=changes))
    assert [rate_of(one, at) for at in (0, 2 * SECOND - 1, 2 * SECOND, 9 * SECOND)] == [
        100 * MBIT, 100 * MBIT, 20 * MBIT, 20 * MBIT,
    ]  # fmt: skip
    assert rates_of(one) == [(0, 100 * MBIT), (2 * SECOND, 20 * MBIT)]


def test_the_mean_rate_weighs_each_rate_by_how_long_it_held() -> None:
    one = device(wire=link(schedule=(Change(at_ns=2 * SECOND, end=0, rate_bps=20 * MBIT),)))
    assert mean_rate(one, SECOND, 5 * SECOND) == (100 + 3 * 20) * MBIT / 4
    assert mean_rate(one, 0, SECOND) == 100 * MBIT
    assert mean_rate(one, 3 * SECOND, 5 * SECOND) == 20 * MBIT
    assert mean_rate(device(wire=link(None)), 0, SECOND) is None


def test_a_trace_counts_with_its_mean() -> None:
    trace = Trace(sha256="", stamps_ms=(0, 500, 1000))
    assert rate_of(replace(device(wire=link(None)), trace=trace)) == 3 * 12_000

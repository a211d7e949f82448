"""Units: the tables of `tc`, refused values, and the round trip of written values."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback.scenario import ScenarioError, loads
from tailback.tc import units
from tailback.tc.errors import WordError, nearest_hint

AMOUNTS = st.integers(min_value=0, max_value=units.LARGEST)


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("9" * 19, 10**19 - 1),
        ("9" * 5000, None),
        ("1²", None),
        ("١", None),
        ("-1", None),
        (7, None),
    ],
)
def test_a_whole_number_is_one_in_plain_digits_that_a_backend_may_take(word: object, number: int | None) -> None:
    assert units.whole(word) == number


@pytest.mark.parametrize(
    ("word", "bits"),
    [
        ("1bit", 1),
        ("500kbit", 500_000),
        ("100mbit", 100_000_000),
        ("1gbit", 10**9),
        ("2tbit", 2 * 10**12),
        ("1bps", 8),
        ("1kbps", 8_000),
        ("10mbps", 80_000_000),
        ("1gbps", 8 * 10**9),
        ("1kibit", 1_024),
        ("1mibit", 1_048_576),
        ("1kibps", 8_192),
        ("1.5Gbit", 1_500_000_000),
        ("100 Mbit", 100_000_000),
        (".5kbit", 500),
        ("1.9bit", 1),
    ],
)
def test_rates_are_read_as_tc_reads_them(word: str, bits: int) -> None:
    assert units.rate(word) == bits


@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("1600b", 1_600),
        ("1k", 1_024),
        ("64kB", 65_536),
        ("4mb", 4_194_304),
        ("1g", 2**30),
        ("1kbit", 128),
        ("1mbit", 131_072),
        ("1.5kb", 1_536),
        ("0b", 0),
    ],
)
def test_sizes_count_in_1024(word: str, count: int) -> None:
    assert units.size(word) == count


@pytest.mark.parametrize(
    ("word", "nanoseconds"),
    [
        ("100ns", 100),
        ("50us", 50_000),
        ("5ms", 5_000_000),
        ("30s", 30 * 10**9),
        ("1sec", 10**9),
        ("2msecs", 2_000_000),
        ("0.2ms", 200_000),
        ("0s", 0),
    ],
)
def test_times_are_read_into_nanoseconds(word: str, nanoseconds: int) -> None:
    assert units.time(word) == nanoseconds


def test_packets_are_counted_with_a_p() -> None:
    assert units.packets("180p") == 180


@pytest.mark.parametrize(
    ("read", "word", "message", "hint"),
    [
        (units.rate, "100mbps/s", "`100mbps/s` is not a rate", units.RATE_HINT),
        (units.rate, "fast", "`fast` is not a rate", units.RATE_HINT),
        (units.rate, "5ms", "`5ms` is not a rate", units.RATE_HINT),
        (units.rate, 100, "`100` has no unit", f"did you mean `100mbit`? {units.RATE_HINT}"),
        (units.rate, "-1gbit", "`-1gbit` is negative", f"a rate is never below zero; {units.RATE_HINT}"),
        (units.rate, "0mbit", "`0mbit` is a rate of zero", "give a rate above zero, such as 100mbit"),
        (units.rate, None, "`null` is not a rate", units.RATE_HINT),
        (units.rate, True, "`true` is not a rate", units.RATE_HINT),
        (units.rate, "50%", "`50%` is not a rate", units.RATE_HINT),
        (units.size, "64kbyte", "`64kbyte` is not a size", units.SIZE_HINT),
        (units.size, "1500", "`1500` has no unit", f"did you mean `1500b`? {units.SIZE_HINT}"),
        (units.time, "5 minutes", "`5 minutes` is not a time", f"did you mean `300s`? {units.TIME_HINT}"),
        (units.time, 5, "`5` has no unit", f"did you mean `5ms` or `5s`? {units.TIME_HINT}"),
        (units.time, "-5ms", "`-5ms` is negative", f"a time is never below zero; {units.TIME_HINT}"),
        (units.time, "9" * 25 + "s", f"`{'9' * 25}s` is too large", "a time must be below 2^63 base units; "),
        (units.packets, "180", "`180` has no unit", f"did you mean `180p`? {units.PACKETS_HINT}"),
        (units.packets, "1kp", "`1kp` is not a number of packets", units.PACKETS_HINT),
    ],
)
def test_a_word_that_is_not_a_quantity_is_refused_with_the_remedy(
    read: Callable[[object], int], word: object, message: str, hint: str
) -> None:
    with pytest.raises(WordError) as caught:
        read(word)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


@given(AMOUNTS)
def test_a_written_time_is_read_back(nanoseconds: int) -> None:
    assert units.time(units.time_word(nanoseconds)) == nanoseconds


@given(AMOUNTS.filter(bool))
def test_a_written_rate_is_read_back(bits: int) -> None:
    assert units.rate(units.rate_word(bits)) == bits


@given(AMOUNTS)
def test_a_written_size_is_read_back(count: int) -> None:
    assert units.size(units.size_word(count)) == count


@pytest.mark.parametrize("read", [units.rate, units.size, units.time, units.packets])
@given(
    word=st.one_of(st.text(), st.from_regex(r"-?[0-9.]{1,40} ?[a-zA-Z]{0,5}"), st.integers(), st.floats(), st.none())
)
def test_any_word_is_read_or_refused(read: Callable[[object], int], word: object) -> None:
    try:
        assert 0 <= read(word) <= units.LARGEST
    except WordError as error:
        assert error.message
        assert error.hint


@pytest.mark.parametrize(("word", "known"), [("30MHz", ["20MHz", "80MHz"]), ("linux-7.0", ["linux-5.0", "linux-6.12"])])
def test_another_number_is_not_taken_for_a_slip(word: str, known: list[str]) -> None:
    assert nearest_hint(word, known) == f"use one of: {', '.join(known)}"
    assert nearest_hint("linus-5.0", ["linux-5.0"]) == "did you mean `linux-5.0`?"


@pytest.mark.parametrize(
    ("read", "word", "hint"),
    [
        (units.rate, "10M", "did you mean `10mbit`?"),
        (units.rate, "1.5 Gb/s", "did you mean `1.5gbit`?"),
        (units.rate, "10Mbit/s", "did you mean `10mbit`?"),
        (units.rate, "10MB/s", "write it as tc does"),
        (units.time, "1h", "did you mean `3600s`?"),
        (units.time, "1.5min", "did you mean `90s`?"),
        (units.time, "1m", "write a number and"),
        (units.packets, "2bdp", "there is no unit for bandwidth-delay products"),
        (units.size, "2BDP", "there is no unit for bandwidth-delay products"),
    ],
)
def test_a_unit_of_other_tools_leads_to_that_of_tc(read: Callable[[object], int], word: str, hint: str) -> None:
    with pytest.raises(WordError) as refused:
        read(word)
    assert refused.value.hint.startswith(hint)


def test_a_name_in_other_letters_leads_to_the_name() -> None:
    assert nearest_hint("FQ_CoDel", ["codel", "fq_codel"]) == "did you mean `fq_codel`?"
    assert nearest_hint("BBR", ["reno", "bbr", "bbr2"]) == "did you mean `bbr`?"


@pytest.mark.parametrize(
    ("read", "written", "likely"),
    [
        (units.rate, "1e6", "`1mbit`"),
        (units.rate, 1e6, "`1mbit`"),
        (units.rate, "1000000", "`1mbit`"),
        (units.rate, "2.5E+7", "`25mbit`"),
        (units.rate, "100", "`100mbit`"),
        (units.rate, "0.5", "`0.5mbit`"),
        (units.size, "1e6", "`1000000b`"),
        (units.time, "20", "`20ms` or `20s`"),
        (units.time, "1e6", "`1s` or `1ms`"),
        (units.packets, "1e3", "`1000p`"),
    ],
)
def test_a_number_without_a_unit_gets_a_hint_that_can_be_read(
    read: Callable[[object], int], written: object, likely: str
) -> None:
    with pytest.raises(WordError) as refused:
        read(written)
    assert f"did you mean {likely}?" in refused.value.hint
    for word in likely.replace("`", "").split(" or "):
        assert read(word) > 0


FILE = """\
links:
  - {ends: [a, r], rate: 1gbit, delay: 5ms}
  - {wifi: {ap: r, stations: [s]}, standard: 802.11n, width: 40MHz, mcs: 15}
traffic: [{tcp: a -> s}, {game: a -> s}]
duration: 20s
"""


@pytest.mark.parametrize(
    ("key", "word", "meant"),
    [
        ("links[0].rate", "10", "`10mbit`"),
        ("links[0].delay", "10", "`10ms` or `10s`"),
        ("links[0].jitter", "2", "`2ms` or `2s`"),
        ("links[0].loss", "1", "`1%`"),
        ("links[0].loss", "0.1", "`0.1%` or `10%`"),
        ("links[0].duplicate", "5", "`5%`"),
        ("links[0].corrupt", "5", "`5%`"),
        ("links[0].reorder", "5", "`5%`"),
        ("links[0].overhead", "60", "`60b`"),
        ("links[1].snr", "10", "`10dB`"),
        ("links[1].snr", "{s: 10.5}", "`10.5dB`"),
        ("links[1].snr", "10 db", "`10dB`"),
        ("links[1].distance", "5", "`5m`"),
        ("links[1].distance", "5 meters", "`5m`"),
        ("links[1].distance", "0.2km", "`200m`"),
        ("links[1].loss", "2", "`2%`"),
        ("links[1].width", "20", "`20MHz`"),
        ("links[1].guard", "800", "`800ns`"),
        ("links[1].band", "5", "`5GHz`"),
        ("links[1].beacons", "6", "`6mbit`"),
        ("links[1].schedule", "[{at: 1s, snr: 3}]", "`3dB`"),
        ("traffic[1].tick", "64", "`64/s`"),
        ("tsq", "1", "`1ms`"),
        ("duration", "20", "`20ms` or `20s`"),
    ],
)
def test_a_number_without_its_unit_is_answered_with_what_it_may_mean(key: str, word: str, meant: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        loads(FILE, [f"{key}={word}"])
    assert f"hint: did you mean {meant}?" in str(refused.value)


@pytest.mark.parametrize("setting", ["links[1].distance=0", "links[1].snr=10dBm", "tsq=0", "links[1].guard=40"])
def test_nothing_is_meant_by_what_no_unit_makes_right(setting: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        loads(FILE, [setting])
    assert "did you mean" not in str(refused.value)

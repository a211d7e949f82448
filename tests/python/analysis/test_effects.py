"""The findings under a table: which value of which axis changes what."""

from collections.abc import Mapping, Sequence
from typing import Any

from tailback.analysis.effects import findings
from tailback.analysis.sentences import Statement, statements

CC, TSQ = ["cubic", "bbr"], ["1ms", "off"]

Rows = list[tuple[dict[str, str], dict[str, Any]]]


def rows(repetitions: int = 4, noise: float = 0.01) -> Rows:
    """TSQ off adds 100 ms to the ping of CUBIC and nothing to that of BBR; the goodput is the same everywhere."""
    found: Rows = []
    for cc in CC:
        for tsq in TSQ:
            for repetition in range(repetitions):
                ping = 10 + (100 if (cc, tsq) == ("cubic", "off") else 0) + noise * repetition
                summary = {"goodput_mbps": {"total": 95 + 0.01 * repetition}, "ping_ms": {"p50": ping, "n": 100}}
                found.append(({"cc": cc, "tsq": tsq}, summary))
    return found


def said(found: Rows, axes: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """Each statement as one text."""
    return ["; ".join((each.head, *each.parts)) for each in stated(found, axes)]


def stated(found: Rows, axes: Mapping[str, Sequence[str]] | None = None) -> list[Statement]:
    return statements(findings(axes or {"cc": CC, "tsq": TSQ}, found))


def test_a_sentence_names_the_effect_its_interval_and_where_it_is_absent() -> None:
    (of_cc, of_tsq) = said(rows())
    assert of_tsq == (
        "with tsq off instead of 1ms, ping p50 rises by 100 ms [100, 100] with cubic, and stays within 10 % or 0.5 ms "
        "in 1 of 2; goodput stays within 3 %"
    )
    assert of_cc.startswith("with cc bbr instead of cubic, ping p50 falls by 100 ms [100, 100] with tsq off, and stays")


def test_the_round_trip_time_of_tcp_is_said_beside_the_ping() -> None:
    """With `fq_codel` a flow's queue delays the flow and not the ping."""
    found: Rows = [
        ({"tsq": tsq}, {"ping_ms": {"p50": 1.06}, "tcp_rtt_ms": {"p50": rtt + 0.01 * repetition}})
        for tsq, rtt in (("1ms", 3.7), ("off", 7.75)) for repetition in range(3)
    ]  # fmt: skip
    assert said(found, {"tsq": TSQ}) == [
        "with tsq off instead of 1ms, TCP RTT p50 rises by 4.05 ms [4.03, 4.07]; ping p50 stays within 10 % or 0.5 ms"
    ]


def test_fairness_and_retransmits_are_said_only_where_they_change() -> None:
    found: Rows = [
        (
            {"cc": cc, "tsq": tsq},
            {"jain": jain + 0.001 * repetition, "retransmits": retransmits + repetition, "goodput_mbps": {"total": 95}},
        )
        for cc, tsq, jain, retransmits in (("cubic", "1ms", 0.5, 3), ("cubic", "off", 0.98, 40), ("bbr", "1ms", 0.5, 3),
                                           ("bbr", "off", 0.5, 203))
        for repetition in range(3)
    ]  # fmt: skip
    of_tsq = next(each for each in said(found) if each.startswith("with tsq off"))
    assert of_tsq == (
        "with tsq off instead of 1ms; Jain's index rises by 0.48 [0.478, 0.482] with cubic; "
        "the number of retransmits rises by 200 [198, 202] with bbr; goodput stays within 3 %"
    )
    same = [(axes, {**summary, "jain": 0.98, "retransmits": 3}) for axes, summary in found]
    assert said(same) == [
        "with cc bbr instead of cubic, goodput stays within 3 %",
        "with tsq off instead of 1ms, goodput stays within 3 %",
    ]


def test_what_fits_on_one_line_stays_on_one_and_the_rest_is_a_list() -> None:
    short = stated([(axes, {"goodput_mbps": {"total": 95.0}}) for axes, _ in rows()])[0]
    with_rtt = {"tcp_rtt_ms": {"p50": 40.0}}
    long = stated([(axes, {**summary, **with_rtt, "page_load_s": {"p50": 1.0}}) for axes, summary in rows()])[1]
    assert short.lines == ["• with cc bbr instead of cubic, goodput stays within 3 %"]
    assert [line[:4] for line in long.lines] == ["• wi", "  – ", "  – "]
    assert long.lines[0].endswith(":")


def test_one_repetition_gives_no_findings() -> None:
    assert said(rows(repetitions=1)) == []


def test_noise_as_large_as_the_effect_is_undecided_and_not_an_effect() -> None:
    *found, last = said(rows(repetitions=3, noise=100))
    sentence = next(each for each in found if each.startswith("with tsq"))
    assert "ping p50 is undecided in 2 of 2: 0 ms [−227, 227] with bbr, +100 ms [−127, 327] with cubic" in sentence
    assert last == (
        "undecided: the 95 % interval crosses the tolerance (ping p50 10 % or 0.5 ms); more repetitions would tell"
    )


def test_of_many_undecided_cases_the_widest_interval_is_shown() -> None:
    flows = [str(number) for number in range(1, 5)]
    found: Rows = [
        ({"flows": number, "tsq": tsq}, {"ping_ms": {"p50": 10.0 + 10 * int(number) * repetition}})
        for number in flows for tsq in TSQ for repetition in range(3)
    ]  # fmt: skip
    sentence = next(each for each in said(found, {"flows": flows, "tsq": TSQ}) if each.startswith("with tsq"))
    assert sentence.startswith(
        "with tsq off instead of 1ms, ping p50 is undecided in 4 of 4, at the widest 0 ms [−90.7, 90.7] with flows 4"
    )


def test_an_undecided_difference_is_shown_with_its_interval() -> None:
    """It may be clear that there is one: here the ping halves, and the interval only touches the bound of 0.5 ms."""
    found: Rows = [
        ({"port": port}, {"ping_ms": {"p50": mean + offset}})
        for port, mean in (("fifo", 1.1), ("codel", 0.55))
        for offset in (-0.08, 0.0, 0.08)
    ]
    assert said(found, {"port": ["fifo", "codel"]})[0] == (
        "with port codel instead of fifo, ping p50 is undecided, −0.55 ms [−0.731, −0.369]"
    )


def test_many_cases_are_given_by_the_largest_and_the_smallest() -> None:
    found: Rows = []
    flows = [str(number) for number in range(1, 6)]
    for number in flows:
        for tsq in TSQ:
            for repetition in range(3):
                ping = 10 + (10 * int(number) if tsq == "off" else 0) + 0.01 * repetition
                found.append(
                    ({"flows": number, "tsq": tsq}, {"goodput_mbps": {"total": 95.0}, "ping_ms": {"p50": ping}})
                )
    sentence = next(each for each in said(found, {"flows": flows, "tsq": TSQ}) if "tsq off" in each)
    assert "ping p50 rises in all 5 cases, by 10 ms (flows 1) to 50 ms (flows 5)" in sentence


def test_effects_of_both_signs_are_given_by_the_lowest_and_the_highest() -> None:
    pings = {"1": 30.0, "2": -5.0, "3": 0.0, "4": 20.0}
    found: Rows = [
        ({"flows": number, "tsq": tsq}, {"ping_ms": {"p50": 40 + (added if tsq == "off" else 0) + 0.01 * repetition}})
        for number, added in pings.items() for tsq in TSQ for repetition in range(3)
    ]  # fmt: skip
    sentence = next(each for each in said(found, {"flows": list(pings), "tsq": TSQ}) if "tsq off" in each)
    assert "ping p50 changes in 3 of 4 cases, by −5 ms (flows 2) to +30 ms (flows 1)" in sentence
    assert sentence.endswith(", and stays within 10 % or 0.5 ms in 1 of 4")


def test_a_metric_that_no_run_has_is_not_mentioned() -> None:
    without = [(axes, {"goodput_mbps": summary["goodput_mbps"]}) for axes, summary in rows()]
    assert all("ping" not in sentence for sentence in said(without))


def test_with_both_directions_their_sum_is_not_mentioned() -> None:
    both = [(axes, {**summary, "goodput_mbps": {"total": 105.0, "up": 10.0, "down": 95.0}}) for axes, summary in rows()]
    (sentence, *_) = said(both)
    assert "goodput up and goodput down stay within 3 %" in sentence


def test_what_users_of_an_application_notice_comes_first() -> None:
    pages = [
        (axes, {**summary, "page_load_s": {"p50": 1.0 + (axes["tsq"] == "off") + 0.001 * summary["ping_ms"]["p50"]}})
        for axes, summary in rows()
    ]
    (sentence,) = [each for each in said(pages) if each.startswith("with tsq off")]
    assert sentence.startswith("with tsq off instead of 1ms; page load time p50 rises by 1.1 s")
    assert "; ping p50 rises by 100 ms" in sentence

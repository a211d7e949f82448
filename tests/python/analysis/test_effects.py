"""The findings under a table: which value of which axis changes what."""

from typing import Any

from tailback.analysis.effects import findings, sentences

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


def said(found: Rows) -> list[str]:
    return sentences(findings({"cc": CC, "tsq": TSQ}, found))


def test_a_sentence_names_the_effect_its_interval_and_where_it_is_absent() -> None:
    (of_cc, of_tsq) = said(rows())
    assert of_tsq.startswith(
        "with tsq off instead of 1ms, ping p50 +100 ms [100, 100] with cubic, within 10 % or 0.5 ms in 1 of 2"
    )
    assert of_tsq.endswith("goodput within 3 %")
    assert of_cc.startswith("with cc bbr instead of cubic, ping p50 −100 ms")
    assert "with tsq off" in of_cc


def test_one_repetition_gives_no_findings() -> None:
    assert said(rows(repetitions=1)) == []


def test_noise_as_large_as_the_effect_is_undecided_and_not_an_effect() -> None:
    sentence = next(each for each in said(rows(repetitions=3, noise=100)) if each.startswith("with tsq"))
    assert "ping p50 undecided in 2 of 2: more repetitions would tell" in sentence


def test_an_undecided_difference_is_shown_with_its_interval() -> None:
    """It may be clear that there is one: here the ping halves, and the interval only touches the bound of 0.5 ms."""
    found: Rows = [
        ({"port": port}, {"ping_ms": {"p50": mean + offset}})
        for port, mean in (("fifo", 1.1), ("codel", 0.55))
        for offset in (-0.08, 0.0, 0.08)
    ]
    [sentence] = sentences(findings({"port": ["fifo", "codel"]}, found))
    assert sentence == (
        "with port codel instead of fifo, ping p50 undecided, −0.55 ms [−0.731, −0.369]: more repetitions would tell"
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
    sentence = next(each for each in sentences(findings({"flows": flows, "tsq": TSQ}, found)) if "tsq off" in each)
    assert "ping p50 rises in all 5 cases, by 10 ms (flows 1) to 50 ms (flows 5)" in sentence


def test_effects_of_both_signs_are_given_by_the_lowest_and_the_highest() -> None:
    pings = {"1": 30.0, "2": -5.0, "3": 0.0, "4": 20.0}
    found: Rows = [
        ({"flows": number, "tsq": tsq}, {"ping_ms": {"p50": 40 + (added if tsq == "off" else 0) + 0.01 * repetition}})
        for number, added in pings.items() for tsq in TSQ for repetition in range(3)
    ]  # fmt: skip
    sentence = next(one for one in sentences(findings({"flows": list(pings), "tsq": TSQ}, found)) if "tsq off" in one)
    assert "ping p50 changes in 3 of 4 cases, by −5 ms (flows 2) to +30 ms (flows 1)" in sentence
    assert sentence.endswith(", within 10 % or 0.5 ms in 1 of 4")


def test_a_metric_that_no_run_has_is_not_mentioned() -> None:
    without = [(axes, {"goodput_mbps": summary["goodput_mbps"]}) for axes, summary in rows()]
    assert all("ping" not in sentence for sentence in said(without))


def test_with_both_directions_their_sum_is_not_mentioned() -> None:
    both = [(axes, {**summary, "goodput_mbps": {"total": 105.0, "up": 10.0, "down": 95.0}}) for axes, summary in rows()]
    (sentence, *_) = said(both)
    assert "goodput up within 3 %; goodput down within 3 %" in sentence


def test_what_users_of_an_application_notice_comes_first() -> None:
    pages = [
        (axes, {**summary, "page_load_s": {"p50": 1.0 + (axes["tsq"] == "off") + 0.001 * summary["ping_ms"]["p50"]}})
        for axes, summary in rows()
    ]
    (sentence,) = [each for each in said(pages) if each.startswith("with tsq off")]
    assert sentence.startswith("with tsq off instead of 1ms, page load time p50 +1.1 s")
    assert "; ping p50 +100 ms" in sentence

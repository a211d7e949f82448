"""Searches find what there is, shrink it, and find the same with the same seed."""

import re
import shlex
from pathlib import Path

import pytest

from command import in_process
from tailback.search import Found, Wanted, WrongSearch, condition, search, seconds
from tailback.search.condition import UNKNOWN
from tailback.search.shrink import shrunk
from tailback.search.space import Space, space

LINK = """\
title: a link
let: {control: cubic, rate: 10mbit, limit: 20}
hosts: {left: , router: , server: }
links:
  - {ends: [left, router]}
  - {ends: [router, server], rate: "${rate}", delay: 10ms}
qdiscs:
  router -> server: pfifo limit ${limit}p
traffic:
  - {tcp: left -> server, name: test, cc: "${control}", jitter: 10ms}
  - {ping: left -> server, interval: 50ms}
duration: 3s
measure: {warmup: 1s}
"""

OVER = "rate=1mbit..20mbit, limit=5..500"


def sought(file: Path, find: str, evaluations: int = 60) -> Found:
    wanted = Wanted(file, condition(find), OVER, budget_s=300, evaluations=evaluations)
    return search(wanted, lambda *_: None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "link.yaml"
    written.write_text(LINK)
    return written


def test_a_long_queue_is_found_and_shrunk_and_the_same_seed_finds_the_same(file: Path) -> None:
    first, again = (sought(file, "ping_ms.p50 > 400") for _ in range(2))
    assert first.text == again.text
    assert first.score > 0
    # The variables, the title and the jitter do not matter, and the ping and the window do.
    assert first.lines < 15
    assert "let" not in first.text
    assert "ping" in first.text
    assert "warmup: 1s" in first.text


def test_what_cannot_be_is_not_found_and_the_nearest_is_told(file: Path) -> None:
    found = sought(file, "goodput_mbps.total > 1000", evaluations=8)
    assert not found.text
    assert found.evaluations == 8
    assert -1 < found.score < 0


def test_a_number_that_no_run_has_ends_the_search(file: Path) -> None:
    with pytest.raises(WrongSearch, match="has every number of"):
        sought(file, "mos.up > 1")


def test_a_condition_over_time_holds_for_as_long_as_is_asked(file: Path) -> None:
    above = "snd_cwnd > 4"
    held = [
        search(Wanted(file, condition(above, for_s), OVER, evaluations=1), lambda *_: None).score
        for for_s in (1.0, 30.0)
    ]
    assert held[0] > 0
    assert held[1] == UNKNOWN


@pytest.mark.parametrize("text", ["jain", "jain == 1", "jain > 1 or jain < 0", "open('x') > 1", "1 < jain < 2"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(WrongSearch, match="hint"):
        condition(text)


@pytest.mark.parametrize("text", ["", "rate=fast", "rate=1mbit", "speed", "cc=[reno]", "rate=1mbit..2furlong"])
def test_what_is_no_space_is_refused(text: str) -> None:
    with pytest.raises(WrongSearch, match="hint"):
        space(text, {"rate": "10mbit"}, 10)


def at(text: str, *place: float) -> list[str]:
    found: Space = space(text, {"rate": "10mbit"}, 10)
    return found.settings(place)


def test_a_point_chooses_a_value_of_each_key() -> None:
    assert at("rate", 0.5) == ["rate=10mbit"]
    assert at("rate=1mbit..1gbit, cc=[reno, bbr]", 1, 0.4) == ["rate=1000mbit", "cc=reno"]
    assert at("limit=10p..19p", 0.5) == ["limit=14p"]
    steps = "links[0].schedule=2 rate 1mbit..100mbit"
    assert at(steps, 0.9, 0.1, 0, 1) == [
        "links[0].schedule=[{at: 1.1s, rate: 1mbit}, {at: 8.9s, rate: 100mbit}]"
    ]  # fmt: skip


def test_what_does_not_matter_is_left_out_and_numbers_are_rounded() -> None:
    document = {
        "title": "x",
        "let": {"rate": "17.3mbit"},
        "links": [{"rate": "${rate}", "delay": "13ms"}],
        "duration": 5,
    }
    small = shrunk(document, lambda each: "rate" in str(each.get("links")))
    assert small == {"links": [{"rate": "20mbit"}], "duration": 5}


def test_times_are_in_the_units_of_users() -> None:
    assert [seconds(text) for text in ("60s", "2min", "90", "500ms")] == [60, 120, 90, 0.5]


PAGE = Path(__file__).parents[3] / "docs" / "search.md"
CONSOLE = re.compile(r"^\$ tailback (search .+)\n(found after .+ lines)\n((?:.+\n)*?)```", re.M)
PRINTED = {shlex.split(line)[1]: (line, effort, text) for line, effort, text in CONSOLE.findall(PAGE.read_text())}
"""The searches of the documentation, with what they print."""
SLOW = ("search/starvation", "search/oscillation")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.campaign] * (n in SLOW)) for n in PRINTED])
def test_the_documented_searches_print_what_the_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five CPU seconds each; the two slowest are of the campaign."""
    monkeypatch.chdir(tmp_path)
    command, effort, text = PRINTED[name]
    ran = in_process(*shlex.split(command))
    assert effort in ran.stderr
    assert len(ran.stdout.splitlines()) < 15
    assert ran.stdout == text


def test_the_page_has_the_four_searches_that_come_with_tailback() -> None:
    assert {*PRINTED} == {"search/trap", "search/starvation", "search/oscillation", "search/policed"}


def test_what_is_to_be_kept_is_left_as_it_is(file: Path) -> None:
    wanted = Wanted(file, condition("goodput_mbps.total > 0.1"), OVER, evaluations=5, kept=["links[1].delay"])
    assert "delay: 10ms" in search(wanted, lambda *_: None).text


@pytest.mark.parametrize(
    ("key", "said"), [("traffic[7].cc", "has no `traffic"), ("links[x", "is not the path of a key")]
)
def test_a_key_to_keep_that_there_is_not_is_refused(file: Path, key: str, said: str) -> None:
    with pytest.raises(WrongSearch, match=said):
        search(Wanted(file, condition("jain < 0.5"), OVER, kept=[key]), lambda *_: None)


def test_a_number_that_is_zero_is_better_than_none(file: Path) -> None:
    nothing = search(Wanted(file, condition("times(rtt > 9000) > 5"), OVER, evaluations=1), lambda *_: None)
    assert nothing.score > UNKNOWN


@pytest.mark.parametrize("text", ["bbr_bw > 3 * jain", "rtt > open('x')", "highest(rtt) > nobody(rtt)"])
def test_what_is_not_known_over_time_is_refused_before_the_search(text: str) -> None:
    with pytest.raises(WrongSearch, match="hint"):
        condition(text)

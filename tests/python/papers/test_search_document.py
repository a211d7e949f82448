"""The searches in Markdown: what matters first, then every combination."""

from __future__ import annotations

from dataclasses import replace

import pytest

from papers.hand_made import tried
from tailback.papers import load_paper
from tailback.papers.search import Search, candidates
from tailback.papers.search_document import in_full, in_short, page

TON22 = load_paper("ton22")
CHOSEN = [claim.id for claim in TON22.claims if claim.chooses]
N, OTHERS = len(CHOSEN), len(TON22.claims) - len(CHOSEN)
ALL = len(list(candidates(TON22)))


@pytest.fixture
def found() -> Search:
    """A search of all combinations: two are best, by one claim, and have the same verdicts."""
    best = set(CHOSEN[:3])
    held = [set[str]() for _ in range(ALL)]
    held[1], held[2], held[5], held[7] = best, best, set(CHOSEN[3:5]), {CHOSEN[0]}
    return tried(TON22, held)


def test_the_short_form_says_how_the_counts_are_distributed(found: Search) -> None:
    text = "\n".join(in_short(found))
    assert f"compared {ALL} combinations" in text
    words = f"3 of the {N} choosing claims hold under 2 of the combinations, 2 under 1, 1 under 1, 0 under {ALL - 4}."
    assert words in text


def test_the_short_form_has_the_choice_first_then_what_is_close_then_the_plain_combination(found: Search) -> None:
    rows = [line for line in in_short(found) if f" of {N} | " in line]
    assert [row.count("<br>") for row in rows] == [1, 0, 0], "the same verdicts share a row"
    assert rows[0].startswith(f"| **{found.best.name}** (1)<br>")
    assert [row.split(" | ")[1] for row in rows] == [f"{held} of {N}" for held in (3, 2, 0)]
    assert found.tried[0].candidate.name in rows[-1]
    assert "**f4-htc**" not in rows[0]
    assert "**f4-htc**" in rows[-1]
    assert ", f4-udp," in rows[-1]


def test_the_short_form_has_the_condition_that_matters_most_first(found: Search) -> None:
    rows = [line for line in in_full(found) if line.startswith("| `")]
    assert len(rows) == len(found.best.values)
    assert rows[0].startswith("| `skbs` | **one segment per skb: 0 to 3**<br>several segments per skb: 0 |")
    assert "| `threshold` | no threshold: 0 to 3<br>**threshold of 160: 0 to 3** |" in rows


def test_the_full_form_has_a_row_for_each_combination_and_a_column_for_each_claim() -> None:
    some = tried(TON22, [set(), {TON22.claims[0].id}])
    *_, header, _, first, second, rest = in_full(some)
    assert header.count("|") == len(TON22.claims) + 4
    assert first.count("·") == len(TON22.claims)
    assert "✓" in second
    assert second.startswith(f"| **{some.best.name}** | 1 of {N} | 0 of {OTHERS} |")
    assert f"2 of {ALL} combinations" in rest


def test_the_page_in_full_has_a_section_for_each_paper(found: Search) -> None:
    text = page({"ton22": found})
    assert text.count("\n## ") == 1
    assert "\n## ton22\n" in text
    short = "\n".join(in_short(found))
    assert short in text
    assert text.count(f" of {N} | ") == ALL + short.count(f" of {N} | ")


def test_the_full_form_has_the_full_set_where_it_decides(found: Search) -> None:
    decided = replace(found, in_full=[found.tried[1], found.tried[2]])
    assert "with the full set of runs" in "\n".join(in_full(decided))
    assert "with the full set of runs" not in "\n".join(in_full(found))

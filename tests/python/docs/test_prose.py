"""Pages and messages keep the rules of `prose.py`, and each rule finds what it is about."""

import importlib.util

import pytest

import prose


def test_no_sentence_of_a_page_breaks_a_rule() -> None:
    found = list(prose.found_in_pages())
    assert not found, "\n".join([*found, "hint: write it anew: subject, verb, object; one thought a sentence"])


def test_no_message_breaks_a_rule() -> None:
    found = list(prose.found_in_messages())
    assert not found, "\n".join([*found, "hint: write it anew: subject, verb, object; one thought a sentence"])


@pytest.mark.parametrize("rule", prose.RULES, ids=lambda rule: str(rule.name))
def test_a_rule_finds_its_example(rule: prose.Rule) -> None:
    assert rule.name in list(prose.broken(rule.example))


def test_sentences_are_those_of_the_text_without_code_and_tables() -> None:
    text = "# A title\n\nOne *thing*. See [the\npage](x.md), and `a. B`.\n\n| a | b |\n\n```sh\nrun\n```\n\n- Two.\n"
    assert list(prose.sentences(text)) == ["One thing.", "See the page, and X.", "Two."]


def test_proselint_finds_nothing() -> None:
    if importlib.util.find_spec("proselint") is None:
        pytest.skip("needs proselint: pip install -e .[dev]")
    texts = {str(page.relative_to(prose.ROOT)): page.read_text(encoding="utf-8") for page in prose.pages()}
    assert list(prose.proselint(texts)) == []
    assert list(prose.proselint({"x": "At this point in time it is good."})) != []

"""The labs of the course: as they come they miss what they ask for, and an answer meets it. Each has its page."""

import re
import shlex
from pathlib import Path

import pytest

import tailback
from tailback import scenario, sweep
from tailback.lab.setting import Place, Wanted, read

PAGES = Path(__file__).parents[3] / "docs" / "course"
TEACHER = (PAGES / "index.md").read_text(encoding="utf-8")


def _answers() -> dict[str, list[str]]:
    """The answers of the teacher's page: by lab the settings of its command."""
    found = {}
    for command in re.findall(r"`(tailback run labs/[^`]*)`", TEACHER):
        words = shlex.split(command)
        assert words[3::2] == ["--set"] * len(words[3::2])
        found[words[2]] = words[4::2]
    return found


ANSWERS = _answers()
"""A setting that meets all conditions of a lab."""


def holds(name: str, settings: list[str]) -> list[bool]:
    experiment = tailback.load(name, settings)
    outcomes, _ = sweep.simulate(experiment, 1, sweep.Silent())
    return [verdict.holds for verdict in sweep.verdicts(sweep.expected(experiment), outcomes)]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_lab_asks_for_what_only_an_answer_meets(name: str) -> None:
    assert False in holds(name, [])
    assert holds(name, ANSWERS[name]) == [True] * 3


def test_each_lab_has_three_questions_a_command_that_checks_them_and_a_knob_for_the_answer() -> None:
    there = {name for name in scenario.ready() if name.startswith("labs/")}
    assert there == set(ANSWERS)
    for name in there:
        file = scenario.ready()[name]
        text = file.read_text(encoding="utf-8")
        assert f"`tailback lab {name}`" in text
        assert f"tailback run {name} --set" in text
        assert [line[2:4] for line in text.splitlines() if line[2:4] in ("1.", "2.", "3.")] == ["1.", "2.", "3."]
        found = read(Wanted(1, text), Place(file.parent, file.name, trust=False)).knobs
        knobs = {knob.id.removeprefix("let.") for knob in found}
        assert {setting.partition("=")[0] for setting in ANSWERS[name]} <= knobs, name


def test_each_lab_has_a_page_that_says_what_its_file_says() -> None:
    assert {f"labs/{page.stem}" for page in PAGES.glob("*.md")} == {*ANSWERS, "labs/index"}
    for number, name in enumerate(ANSWERS, 1):
        page = (PAGES / f"{name.removeprefix('labs/')}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# Lab {number}: ")
        assert f"]({name.removeprefix('labs/')}.md)" in TEACHER
        assert f"\ntailback lab {name}\n" in page
        assert re.search(rf"\ntailback run {name}( --set \w+=\S+)+\n", page)
        questions = re.findall(r"^\d\. .+", page, re.MULTILINE)
        assert len(questions) == 3
        # The head of the file asks the same.
        head = " ".join(line[2:] for line in scenario.ready()[name].read_text("utf-8").splitlines() if line[:2] == "# ")
        for question in questions:
            plain = re.sub(r"[`’']", "'", question).rstrip(". ")
            assert plain in re.sub(r"[`’']", "'", head), question

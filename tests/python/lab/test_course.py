"""The labs of the course: as they come they miss what they ask for, and an answer meets it."""

import pytest

import tailback
from tailback import scenario, sweep
from tailback.lab.setting import Place, Wanted, read

ANSWERS = {
    "labs/buffer": ["buffer=33"],
    "labs/sharing": ["qdisc=fq_codel"],
    "labs/small-queues": ["tsq=1ms"],
    "labs/pacing": ["pace=46mbit"],
    "labs/aqm": ["qdisc=fq_codel"],
    "labs/wifi": ["tsq=2ms"],
    "labs/bbr-cubic": ["buffer=150"],
    "labs/ecn": ["cc=dctcp", "qdisc=fq_codel ce_threshold 1ms"],
}
"""A setting that meets all conditions of a lab."""

QUICK = {"labs/buffer", "labs/sharing"}
"""The labs of `make test`; the others simulate for longer."""


def holds(name: str, settings: list[str]) -> list[bool]:
    experiment = tailback.load(name, settings)
    outcomes, _ = sweep.simulate(experiment, 1, sweep.Silent())
    return [verdict.holds for verdict in sweep.verdicts(sweep.expected(experiment), outcomes)]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.campaign) for name in ANSWERS]
)
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

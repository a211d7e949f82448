"""The three kinds of conditions: each has its kind, stated ones their section, and none contradicts a stated one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tailback import scenario
from tailback.papers import UnknownPaper, Wanted, document, load_paper, papers
from tailback.papers.explained import explained
from tailback.papers.figures import drawings_of
from tailback.papers.reproduction import departures_of, experiment_file, variables_of, with_conditions
from tailback.papers.standing import standing
from tailback.papers.testbed import SECTION, PaperTestbed

EXPERIMENTS = [
    tuple(name.split("/")[1:]) for name in scenario.ready() if name.startswith("papers/") and name.count("/") == 2
]
KERNELS = {"access21": {"linux-5.10"}, "wlan18": {"linux-4.14"}, "ton22": {"linux-5.4"},
           "teacup14": {"linux-3.10", "freebsd-9"}}  # fmt: skip
SWITCHES = ("near", "far")
STATED: dict[str, Any] = {"name": "kernel", "section": "§V", "what": "…", "let": {"stack": "linux-5.4"}}
CHOSEN: dict[str, Any] = {"name": "wire", "silent": "…", "what": "…", "because": "…", "let": {"wire": 1}}
AGAINST: dict[str, Any] = {"name": "old", "contradicts": "kernel", "what": "…", "because": "…", "let": {"stack": "x"}}


def kinds(**others: Any) -> dict[str, Any]:
    return {"stated": [STATED], "chosen": [CHOSEN], **others}


@pytest.mark.parametrize("name", papers())
def test_each_stated_condition_has_a_section_and_each_choice_what_the_paper_does_not_state(name: str) -> None:
    testbed = load_paper(name).testbed
    assert testbed.stated
    assert all(SECTION.match(fact.section) for fact in testbed.stated)
    assert all(choice.silent and choice.because for choice in testbed.chosen)
    names = [
        *(one.name for one in testbed.stated),
        *(one.name for one in testbed.chosen),
        *(one.name for one in testbed.against),
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (kinds(chosen=[{**CHOSEN, "let": {"stack": "linux-4.14"}}]), "`stack` is stated"),
        (kinds(against=[{**AGAINST, "let": {"wire": 2}}], what_if={"what": "…"}), "changes nothing of `kernel`"),
        (kinds(against=[AGAINST]), "a what-if has departures"),
        (kinds(stated=[{**STATED, "section": "we think"}]), "begins with no section"),
        (kinds(chosen=[{**CHOSEN, "grid": {"one": {"wire": 3}}}]), "none of its `grid`"),
    ],
)
def test_a_condition_of_the_wrong_kind_is_refused(kind: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(says)):
        PaperTestbed.model_validate(kind)


@pytest.mark.parametrize(("name", "experiment"), EXPERIMENTS)
def test_every_experiment_has_the_conditions_of_its_paper(name: str, experiment: str) -> None:
    variables, conditions = variables_of(experiment_file(name, experiment)), load_paper(name).testbed.let
    assert {key: variables[key] for key in variables.keys() & conditions.keys()} == {
        key: conditions[key] for key in variables.keys() & conditions.keys()
    }


@pytest.mark.parametrize("name", papers())
def test_every_variable_of_a_condition_is_in_an_experiment(name: str) -> None:
    there = {key for paper, one in EXPERIMENTS if paper == name for key in variables_of(experiment_file(name, one))}
    testbed = load_paper(name).testbed
    assert {*testbed.let, *testbed.departures} <= there


@pytest.mark.parametrize(("name", "experiment"), EXPERIMENTS)
def test_every_host_runs_the_kernel_that_the_paper_states(name: str, experiment: str) -> None:
    file = experiment_file(name, experiment)
    resolved = scenario.load(file).runs()[0].scenario
    assert {host.stack for host in resolved.hosts if host.name not in SWITCHES} <= KERNELS[name]


def test_the_papers_keep_what_they_state_of_radios_and_queues() -> None:
    ton22, access21, wlan18 = (load_paper(name).testbed.let for name in ("ton22", "access21", "wlan18"))
    assert (ton22["client_stack"], ton22["ap_driver"], ton22["htc"]) == ("linux-5.4", "ath9k", "ath9k_htc")
    for let in (ton22, access21):
        radios = [let[f"{side}rx_{edge}"] for side in ("", "ap_") for edge in ("quiet", "longest")]
        assert radios == ["500us", "2ms"] * 2, "AR9580 and AR9382 are of the AR9300 family"
    assert wlan18["stack"] == "linux-4.14"
    fifo, prio = (experiment_file("wlan18", one).read_text() for one in ("uploads", "static-tsq"))
    assert "client -> router: pfifo limit" in fifo, "FIFO is the plain queue"
    assert "client -> router: pfifo_fast" in prio, "PFIFO has three bands"


@pytest.mark.parametrize("name", papers())
def test_nothing_is_called_unsaid_where_a_section_states_it(name: str) -> None:
    folder = Path(document.__file__).parent
    for file in (folder / f"{name}.yaml", folder / "testbeds" / f"{name}.yaml"):
        text = file.read_text()
        assert not re.search(r"does not (say|name its)|names neither|we do not know what figure", text)


def test_only_what_contradicts_a_paper_makes_a_what_if() -> None:
    assert with_conditions("what-if") == ["ton22"]
    assert departures_of(Wanted("ton22"), load_paper("ton22")) == {}
    changed = departures_of(Wanted("ton22", conditions="what-if"), load_paper("ton22"))
    assert changed["client_stack"] == "linux-4.14"
    with pytest.raises(UnknownPaper, match="`wlan18` has no what-if"):
        departures_of(Wanted("wlan18", conditions="what-if"), load_paper("wlan18"))


@pytest.mark.parametrize("name", papers())
def test_explain_has_the_three_kinds_and_the_score(name: str) -> None:
    text, score = explained(name), standing(name)
    for fact in load_paper(name).testbed.stated:
        assert f"[{fact.section}]: {fact.what}" in text
    assert all(choice.silent in text for choice in load_paper(name).testbed.chosen)
    assert score is not None
    assert f"Score: {len(score.holds)} of {score.claims} claims hold" in text
    assert {*score.holds, *score.misses} == {claim.id for claim in load_paper(name).claims}


@pytest.mark.parametrize("name", papers())
def test_every_figure_and_table_of_a_paper_is_drawn(name: str) -> None:
    paper = load_paper(name)
    drawn = {drawing.figure: drawing for drawing in drawings_of(paper)}
    listed = [*(form.figure for form in paper.testbed.figures), *(one.figure for one in paper.testbed.diagrams),
              *(one.figure for one in paper.testbed.tables)]  # fmt: skip
    assert sorted(drawn) == sorted(listed)
    numbers = {int(re.sub(r"\D", "", figure)) for figure in listed if not figure.startswith("T")}
    last = {"access21": 8, "wlan18": 14, "ton22": 16, "teacup14": 14}[name]
    assert numbers == set(range(1, last + 1)), "no figure of the paper is left out"
    for figure in listed[len(paper.testbed.figures) :]:
        assert drawn[figure].draw().axes


@pytest.mark.parametrize("name", papers())
def test_the_drawn_figures_have_the_axes_and_the_series_that_the_paper_states(name: str) -> None:
    for form in load_paper(name).testbed.figures:
        picture = (document.PICTURES / f"{name}-fig{form.figure}.svg").read_text(encoding="utf-8")
        words = re.findall(r"<!-- (.*?) -->", picture) or re.findall(r">([^<]+)</text>", picture)
        for label in form.axes:
            assert any(word.startswith(label) for word in words), f"{form.figure}: no axis `{label}`"
        for series in form.series:
            assert any(series in word for word in words), f"{form.figure}: no series `{series}`"

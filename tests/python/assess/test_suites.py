"""The suites that come with Tailback, and those of users."""

from pathlib import Path

import pytest

from tailback.assess import WrongSuite, load_suite, suites
from tailback.assess.session import Wanted, load

SECTIONS = {
    *("5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2"),
    *("6.1", "6.2", "6.3", "6.4"),
    *(f"7.{number}" for number in range(1, 12)),
}
"""All 25 criteria, scenarios and special cases of RFC 9743."""


def test_every_criterion_of_rfc_9743_has_a_row() -> None:
    assert {each.section for each in load_suite("rfc9743").criteria} == SECTIONS


@pytest.mark.parametrize("name", suites())
def test_every_experiment_of_a_suite_takes_the_control_and_every_row_finds_its_places(name: str) -> None:
    suite = load_suite(name)
    tested = "sfq" if suite.of == "qdisc" else "vegas"
    loaded = {each: load(Wanted(tested, suite), each) for each in {row.experiment for row in suite.asked}}
    for row in suite.asked:
        labels = [each.labels for each in loaded[row.experiment].configurations]
        assert {each[suite.of] for each in labels} == {tested, *suite.baselines}
        for axis, values in row.where.items():
            assert set(values) <= {each[axis] for each in labels}, row.id
        assert set(row.against) <= set(suite.baselines)
    assert {file.stem for file in suite.folder.glob("*.yaml")} <= set(loaded)


def test_every_case_of_the_bbr_draft_has_a_row() -> None:
    assert {each.section for each in load_suite("bbr-draft").criteria} == {str(case) for case in range(1, 23)}


def write(folder: Path, criteria: str) -> str:
    (folder / "criteria.yml").write_text(f"title: mine\nsource: me\ncriteria:\n  - {criteria}\n")
    return str(folder)


ROW = 'id: a, section: "1", question: q'


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        (f"{{{ROW}}}", "criteria.a: write `experiment`, `measure` and `source`"),
        (f"{{{ROW}, experiment: x, measure: 1, source: s}}", "criteria.a.measure: Input should be a valid string"),
        (f"{{{ROW}, experiment: x, measure: ping, source: s}}", "write `bound` or `against`, and not both"),
        (f"{{{ROW}, absent: why, sauce: s}}", "criteria.a.sauce"),
        (f"{{{ROW}, absent: why}}\n  - {{{ROW}, absent: why}}", "two criteria have the id `a`"),
    ],
)
def test_a_wrong_table_is_refused_with_its_row(tmp_path: Path, criteria: str, said: str) -> None:
    with pytest.raises(WrongSuite, match=said):
        load_suite(write(tmp_path, criteria))


def test_a_suite_or_a_row_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(WrongSuite, match="did you mean `rfc9743`"):
        load_suite("rfc9734")
    suite = load_suite("rfc9743")
    with pytest.raises(WrongSuite, match="there are `collapse-loss`"):
        suite.only(["thoroughness"])
    assert [row.id for row in suite.only(["fairness"]).criteria] == ["fairness-equals", "fairness-rtt"]
    assert {row.section for row in suite.only(["5.2.1"]).criteria} == {"5.2.1"}

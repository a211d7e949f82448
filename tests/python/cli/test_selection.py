"""`--where`: the runs that a command uses."""

import csv
from pathlib import Path

import pytest

import tailback
from cli.conftest import EXPERIMENT
from command import in_process
from tailback.results import reading


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of three controls."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "small.yaml").write_text(EXPERIMENT)
    in_process("run", folder / "small.yaml", "--out", folder / "out", "--set", "vary.cc=[cubic, reno, bbr]")
    return folder / "out"


def controls(swept: Path, *words: str) -> set[str]:
    out = swept.parent / "csv"
    in_process("export", swept, "--csv", "--out", out, *words)
    with (out / "summary.csv").open() as lines:
        return {row["cc"] for row in csv.DictReader(lines)}


@pytest.mark.parametrize("words", [("--where", "cc=cubic", "--where", "cc=bbr"), ("--where", "cc=[cubic, bbr]")])
def test_of_several_values_of_one_axis_any_will_do(swept: Path, words: tuple[str, ...]) -> None:
    assert controls(swept, *words, "--where", "tsq=off") == {"cubic", "bbr"}


def test_a_value_that_no_run_has_and_a_list_that_is_none_are_refused(swept: Path) -> None:
    assert (
        "`cc` is never `vegas`" in in_process("export", swept, "--csv", "--where", "cc=[cubic, vegas]", status=2).stderr
    )
    assert "--where 'cc=[cubic, bbr]'" in in_process("export", swept, "--csv", "--where", "cc=[cubic", status=2).stderr


@pytest.mark.parametrize(("word", "meant"), [("1 ms", "1ms"), ("OFF", "off"), ("offf", "off")])
def test_a_value_that_is_nearly_one_is_asked_for(swept: Path, word: str, meant: str) -> None:
    said = in_process("export", swept, "--csv", "--where", f"tsq={word}", status=2).stderr
    assert f"  hint: did you mean `{meant}`? it has `1ms`, `off`" in said


def test_another_number_is_no_slip(swept: Path) -> None:
    assert "did you mean" not in in_process("export", swept, "--csv", "--where", "tsq=10ms", status=2).stderr


def test_a_report_is_a_page(swept: Path) -> None:
    said = in_process("report", swept, "--out", "report.pdf", status=2).stderr
    assert "`report.pdf` is not the name of a page\n  hint: end it in .html" in said


READERS = [
    ("export", "{}", "--csv"),
    ("plot", "{}"),
    ("report", "{}"),
    ("recommend", "{}"),
    ("compare", "{}", "cc=cubic", "cc=reno"),
]


@pytest.mark.parametrize("words", READERS)
def test_summaries_of_another_analysis_are_read_with_a_remark(
    swept: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [word.format(swept) for word in words]
    assert "analysis" not in in_process(*command).stderr
    monkeypatch.setattr(reading, "analysis_digest", lambda: "of an upgrade")
    said = in_process(*command).stderr
    assert said.count("the summaries of 12 runs are of another version of the analysis") == 1
    assert "`tailback run` makes summaries anew" in said


def test_python_warns_of_summaries_of_another_analysis(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "analysis_digest", lambda: "of an upgrade")
    with pytest.warns(UserWarning, match="another version of the analysis"):
        tailback.open(swept)

"""`compare` and `validate` as a script sees them: exit status, stdout, the document of `--json`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import EXPERIMENT
from command import in_process
from tailback import backends
from tailback.analysis.tolerances import FIDELITY
from tailback.cli import main
from tailback.validation import report
from twin_backend import STAND_INS

Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_BACKENDS", STAND_INS)


@pytest.fixture(autouse=True)
def one_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a report; its figures are the matter of tests/python/validation."""
    monkeypatch.setattr(report, "MAX_FIGURES", 1)


def tailback(monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> int:
    """Runs the command line in this process; returns its exit status."""
    monkeypatch.setattr(sys, "argv", ["tailback", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    # None: it ended normally without a status.
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("two")
    (folder / "small.yaml").write_text(EXPERIMENT)
    for name, delay in (("short", "500us"), ("long", "5ms")):
        in_process("run", folder / "small.yaml", "--out", folder / name, "--set", f"links[0].delay={delay}")
    return folder / "short", folder / "long"


@pytest.fixture
def two(swept: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Results of the same experiment over a short and a longer link."""
    monkeypatch.chdir(tmp_path)
    return swept


METRIC = {"unit", "reference", "candidate", "difference", "interval", "relative", "outcome", "verdict"}


def test_compare_prints_one_document(two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    assert tailback(monkeypatch, "compare", *two, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    keys = ["tailback", "title", "reference", "candidate", "overall", "findings", "configurations", "warnings"]
    assert list(found) == keys
    assert found["candidate"] == {"dir": str(two[1].resolve()), "backend": "sim"}
    assert [each["axes"] for each in found["configurations"]] == [
        {"cc": cc, "tsq": tsq} for cc in ("cubic", "reno") for tsq in ("1ms", "off")
    ]
    first = found["configurations"][0]
    assert list(first) == ["axes", "repetitions", "metrics", "distances", "divergences", "first_divergence"]
    assert first["repetitions"] == [1, 2]
    ping = first["metrics"]["ping_ms.p50"]
    assert METRIC <= set(ping) <= METRIC | {"interval_of_means", "effect", "test", "p", "paired_p", "q"}
    assert 8 < ping["interval"][0] <= ping["difference"] <= ping["interval"][1] < 12
    assert ping["outcome"] == "shown"
    assert set(first["distances"]) == {"tcp_rtt_ms", "cwnd_segments"}


def test_compare_says_in_words_what_differs(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert tailback(monkeypatch, "compare", *two) == 0
    printed = capsys.readouterr()
    table = printed.out
    assert "needs 4 repetitions" in table
    assert "2 repetitions: p is at least 0.33" in printed.err
    assert "higher: +" in table
    assert "the same in every repetition" in table
    assert table.count(" ping p50 ") >= 4
    overall, finding = (
        line for line in table.splitlines() if line.startswith(("of ", "• ")) and "more change" not in line
    )
    assert overall.startswith("of ")
    assert finding.startswith(f"• {two[1]} instead of {two[0]}: ")


def test_one_repetition_has_no_interval_and_a_note_says_so(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    runs = [next((folder / "runs").glob("cubic-off-r1-*")) for folder in two]
    assert tailback(monkeypatch, "compare", *runs) == 0
    printed = capsys.readouterr()
    assert "one repetition: no interval" in printed.out
    assert "--repeat 5" in printed.err
    assert tailback(monkeypatch, "compare", *runs, "--json") == 0
    metrics = json.loads(capsys.readouterr().out)["configurations"][0]["metrics"]
    assert not any(
        {"interval", "alike", "ceiling", "effect", "test", "p", "paired_p", "q"} & set(metric)
        for metric in metrics.values()
    )


def test_two_values_of_an_axis_of_one_folder_are_compared(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert tailback(monkeypatch, "compare", two[0], "cc=cubic", "cc=reno", "--where", "tsq=off", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["apart"] == {
        "cc": ["cubic", "reno"],
    }
    assert [(each["axes"], each["repetitions"]) for each in found["configurations"]] == [({"tsq": "off"}, [1, 2])]
    assert tailback(monkeypatch, "compare", two[0], "cc=cubic", "cc=reno") == 0
    printed = capsys.readouterr()
    assert printed.out.split()[:5] == ["tsq", "metric", "unit", "cubic", "reno"]
    assert "cc: cubic in the reference, reno in the candidate" in printed.err


@pytest.mark.parametrize("words", [["cc=cubic"], [], ["cc=cubic", "cc=reno", "tsq=off"]])
def test_other_sides_are_refused_with_both_forms(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed, words: list[str]
) -> None:
    assert tailback(monkeypatch, "compare", two[0], *words) == 2
    assert "tailback compare results/first cc=cubic cc=bbr" in capsys.readouterr().err


def test_values_of_two_axes_are_no_two_sides(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert tailback(monkeypatch, "compare", two[0], "tsq=1ms", "cc=reno") == 2
    said = capsys.readouterr().err
    assert "`tsq` and `cc` are two axes" in said
    assert f"tailback compare {two[0]} tsq=1ms tsq=OTHER --where cc=reno" in said


def test_the_same_results_need_no_repetitions(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert tailback(monkeypatch, "compare", two[0], two[0]) == 0
    assert "repetitions" not in capsys.readouterr().err


def test_configurations_left_out_for_one_reason_are_one_remark(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    words: list[str | Path] = ["validate", file, "--against", "twin", "--set", "vary.cc=[reno, bbr]", "--most", "1"]
    assert tailback(monkeypatch, *words) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("left out")]
    assert told == ["left out, twin cannot run it: bbr, 1ms; bbr, off: the twin has no bbr"]


def test_of_one_run_repeated_no_interval_is_printed_and_jitter_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    file.write_text(EXPERIMENT.replace(", jitter: 10ms", ""))
    words: list[str | Path] = ["validate", file, "--against", "slower", "--set", "cc=reno", "--set", "tsq=1ms"]
    assert tailback(monkeypatch, *words) == 0
    printed = capsys.readouterr()
    assert "; p " not in printed.out
    assert "the repetitions are alike and count as one: no interval, no p [repetitions-alike]" in printed.err
    assert "hint: spread the starts: `jitter" in printed.err


def test_a_tolerance_that_is_named_is_judged_and_the_report_written(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    words: list[str | Path] = ["compare", *two, "--json", "--tolerance", "rtt=1% or 0.5ms", "--report", "page"]
    assert tailback(monkeypatch, *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tolerances"] == {"rtt": "1% or 0.5ms"}
    assert found["within"]["rtt"]["within"] < found["within"]["rtt"]["judged"] == 8
    assert (Path("page") / "report.html").is_file()


@pytest.mark.parametrize(("rate", "named"), [("rate: 100mbit, ", False), ("", True)])
def test_validate_names_links_without_a_rate_if_a_metric_is_off(
    rate: str, named: bool, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    file.write_text(EXPERIMENT.replace("rate: 100mbit, ", rate))
    words: list[str | Path] = ["validate", file, "--against", "slower", "--set", "cc=reno", "--set", "tsq=1ms"]
    assert tailback(monkeypatch, *words) == 0
    printed = capsys.readouterr()
    assert "off ×" in printed.out
    assert ("over a link without a rate a burst arrives at one instant" in printed.err) == named


def test_validate_says_how_far_the_simulator_is(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    words: list[str | Path] = ["validate", file, "--against", "slower", "--set", "cc=reno"]
    assert tailback(monkeypatch, *words) == 0
    printed = capsys.readouterr()
    assert "off ×" in printed.out
    assert "within tolerance: goodput" in printed.out
    assert "first divergence of reno, 1ms: " in printed.out
    assert "results/small-validation/report.html" in printed.err
    assert tailback(monkeypatch, *words, "--json", "--strict") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["tolerances"] == {name: by.words for name, by in FIDELITY.items() if by.words != "off"}
    assert found["reference"]["backend"] == "slower"


def test_an_identical_backend_passes_strictly_over_all_controls_that_it_has(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    every = ["--every", "cc", "--set", "tsq=1ms", "--repeat", "1"]
    assert tailback(monkeypatch, "validate", file, "--against", "twin", *every, "--strict", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["within"]["all"]["within"] == found["within"]["all"]["judged"] > 0
    assert {out["axes"]["cc"] for out in found["left_out"]} == {"bbr"}
    assert {"reno", "cubic"} <= {each["axes"]["cc"] for each in found["configurations"]}


def test_a_run_that_failed_gives_status_1_and_the_rest_is_compared(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert tailback(monkeypatch, "validate", file, "--against", "twin", "--seed", "12", "--set", "cc=reno") == 1
    printed = capsys.readouterr()
    assert "unlucky" in printed.err
    assert "goodput" in printed.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["validate", "small.yaml", "--against", "plan9"], "`twin`"),
        (["validate", "small.yaml"], "`uml`"),
        (["validate", "small.yaml", "--against", "sim"], "tailback compare"),
        (["validate", "small.yaml", "--against", "twin", "--every", "rtt"], "`qdisc`"),
        (["validate", "small.yaml", "--against", "twin", "--tolerance", "goodput=three"], "3%"),
        (["validate", "small.yaml", "--against", "twin", "--tolerance", "3%"], "--tolerance"),
        (["validate", "small.yaml", "--against", "twin", "--divergence", "0.5ms"], "--divergence 10%"),
        (["validate", "small.yaml", "--against", "twin", "--divergence", "25% over 50"], "--divergence 10%"),
        (["compare", "nowhere", "neither"], "nowhere"),
    ],
)
def test_wrong_input_is_named_with_status_2(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed, words: list[str], said: str
) -> None:
    assert file.exists()
    assert tailback(monkeypatch, *words) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
    assert not Path("results").exists()


def test_the_threshold_moves_the_first_divergence(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    def parted(share: str) -> dict[str, float]:
        """The time of the first difference of each column of each flow."""
        assert tailback(monkeypatch, "compare", *two, "--json", "--divergence", share) == 0
        rows = json.loads(capsys.readouterr().out)["configurations"][0]["divergences"]
        return {f"{row['repetition']} {row['flow']} {row['column']}": row["t"] for row in rows}

    strict, lenient = parted("0%"), parted("300%")
    assert set(lenient) <= set(strict)
    assert all(strict[column] <= t for column, t in lenient.items())
    assert strict != lenient

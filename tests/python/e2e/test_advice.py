"""`tailback sensitivity`, `pareto` and `recommend` over a sweep."""

import json
from pathlib import Path

import pytest

from command import in_process
from e2e.conftest import EXPERIMENT, Run

LINES = {
    "ping p99 < 1000ms": "most goodput with ping p99 < 1000 ms",
    "ping p99 < 1us": "meets ping p99 < 0.001 ms",
}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment and its results, shared by the tests."""
    folder = tmp_path_factory.mktemp("advice")
    (folder / "two.yaml").write_text(EXPERIMENT)
    words = ("--repeat", "2", "--set", "vary.tsq=[1ms, off]", "--out", folder / "out")
    in_process("run", folder / "two.yaml", *words)
    return folder


@pytest.fixture
def swept(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results of the sweep, as the working directory."""
    monkeypatch.chdir(sweep)
    return sweep


@pytest.mark.parametrize("words", [("sensitivity",), ("pareto",), ("recommend", "--for", "ping p99 < 1s")])
def test_the_installed_command_answers_questions(tailback: Run, swept: Path, words: tuple[str, ...]) -> None:
    assert tailback(words[0], swept / "out", *words[1:]).stdout


def test_a_sweep_answers_questions(swept: Path) -> None:
    told = in_process("sensitivity", "out", "--metric", "ping p99").stdout
    assert "sensitivity of ping p99 (ms)" in told
    document = json.loads(in_process("sensitivity", "out", "--json").stdout)
    assert {row["axis"] for row in document["axes"]} == {"cc", "tsq"}
    assert all(0 <= row["first"]["index"] <= row["total"]["high"] for row in document["axes"])

    told = in_process("pareto", "out").stdout
    assert "Pareto front" in told
    assert told.endswith("out/plots/pareto.png\nout/plots/pareto.csv\n")
    assert (swept / "out" / "plots" / "pareto.png").stat().st_size > 10_000
    [front] = json.loads(in_process("pareto", "out", "--metric", "rtt p50", "--json").stdout)["fronts"]
    assert len(front["configurations"]) == 4
    assert any(each["pareto"] for each in front["configurations"])

    for bound, line in LINES.items():
        assert line in in_process("recommend", "out", "--for", bound).stdout
    [one] = json.loads(in_process("recommend", "out", "--for", "ping p99 < 1s", "--json").stdout)["recommendations"]
    assert one["met"] == "surely"
    assert one["best"]["goodput"]["low"] <= one["best"]["goodput"]["mean"] <= one["best"]["goodput"]["high"]
    latency = in_process("recommend", "out", "--for", "goodput > 1mbit and latency < 1s").stdout
    assert "with goodput > 1 Mbit/s and ping p99 < 1000 ms" in latency
    assert "least ping p99" in in_process("recommend", "out", "--minimise", "latency").stdout
    by_cc = json.loads(in_process("recommend", "out", "--for", "ping < 1s", "--given", "cc", "--json").stdout)
    assert [each["given"] for each in by_cc["recommendations"]] == [{"cc": "cubic"}, {"cc": "reno"}]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("recommend", "out", "--for", "pong < 1ms"), "`pong` is not a quantity"),
        (("recommend", "out", "--best", "cwnd"), "say which: `--maximise"),
        (("recommend", "out", "--minimise", "rtt", "--maximise", "jain"), "there are two wishes"),
        (("plot", "out", "-p", "timeseries", "--metric", "nonsense"), "--metric is one of rtt, cwnd, goodput"),
        (("plot", "out", "-p", "cwnd", "--metric", "rtt"), "`cwnd` takes no --metric"),
        (("plot", "out", "-p", "timeseries", "--facet", "nonsense"), "`nonsense` is not an axis"),
        (("plot", "out", "-p", "bar", "--metric", "nonsense"), "there is"),
        (("recommend", "out", "--for", "ping < 1ms", "--given", "colour"), "`colour` is not an axis of `out`"),
        (("sensitivity", "out", "--metric", "ping_ms.p98"), "no run of `out` has ping_ms.p98"),
        (
            ("sensitivity", "out", "--where", "cc=reno", "--where", "tsq=off"),
            "no axis of `out` has more than one value",
        ),
        (("pareto", "two.yaml"), "`two.yaml` is a file, and no results"),
        (("recommend", "out", "--best", "goodputt"), "did you mean `goodput`? use one of"),
        (("plot", "out", "-p", "cdff"), "did you mean `cdf`? there are"),
        (("plot", "out", "-p", "cdf", "--metric", "pingg"), "did you mean `ping`? --metric is one of"),
        (("plot", "out", "-p", "heatmap", "--metric", "goodputt"), "did you mean `goodput`? there is"),
        (("plot", "out", "-p", "heatmap", "--where", "cc=reno"), "needs two axes that vary, and there is `tsq`"),
        (("plot", "out", "-p", "bar", "--x", "tsqs"), "did you mean `tsq`? there is"),
        (("compare", "out", "out", "--tolerance", "goodput"), "write --tolerance goodput=3%"),
        (("export", "out"), "--flent or --csv is missing"),
        (("export", "out", "--csv", "--flent"), "--flent and --csv exclude each other"),
    ],
)
def test_a_question_without_an_answer_is_reported(swept: Path, words: tuple[str, ...], told: str) -> None:
    assert swept.is_dir()
    done = in_process(*words, status=2)
    assert told in done.stderr
    assert "\n  hint: " in done.stderr


def test_a_file_is_run_before_questions_about_it_are_answered(tailback: Run, tmp_path: Path) -> None:
    done = tailback("recommend", "two.yaml", "--for", "ping p99 < 1s", "--repeat", "1")
    assert "from a single repetition" in done.stdout
    assert (tmp_path / "results" / "two" / "experiment.json").is_file()

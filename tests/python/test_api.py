"""`import tailback`: the same functions as on the command line."""

import contextlib
import inspect
from pathlib import Path

import pandas as pd
import pytest

import tailback
from tailback import advice, api, backends, plots
from tailback.sweep import cluster
from twin_backend import STAND_INS

EXPERIMENT = """\
links:
  - {ends: [client, server], rate: 100mbit, delay: 500us}
traffic:
  - {tcp: client -> server, name: upload}
  - {ping: client -> server}
duration: 1s
vary: {cc: [cubic, reno]}
"""

FAILS = """\
class Mine:
    def on_ack(self, flow, sample): raise ValueError("no window")
    def on_loss(self, flow): pass
"""


def test_an_experiment_is_loaded_run_and_opened(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    experiment = tailback.load(file, ["duration=2s"])
    results = tailback.run(experiment, out=tmp_path / "out")
    assert isinstance(results.summary, pd.DataFrame)
    assert results.summary["cc"].tolist() == ["cubic", "reno"]
    assert 80 < results.summary["goodput_mbps.total"].min() < 96
    again = tailback.open(tmp_path / "out").select(cc="reno")
    assert set(again.tcp_info["cc"]) == {"reno"}
    assert again.runs[0].scenario.duration_ns == 2_000_000_000


def test_a_part_of_a_grid_that_is_complete_gives_the_runs_that_were_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    assert len(tailback.run(file, settings=["repeat=2"], out=tmp_path / "out").runs) == 4
    results = tailback.run(file, settings=["vary.cc=[reno]"], out=tmp_path / "out")
    assert [run.labels for run in results.runs] == [{"cc": "reno", "repetition": "1"}]
    assert results.axes == {"cc": ["reno"]}


def test_results_give_tables_figures_frames_of_polars_and_a_report(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    results = tailback.run(file, settings=["repeat=2"], out=tmp_path / "out")
    table = tailback.tabulate(tmp_path / "out")
    assert table["runs"].tolist() == [2, 2]
    assert table["goodput"].tolist() == results.summary.groupby("cc")["goodput_mbps.total"].mean().tolist()
    frame = results.polars("flows")
    assert frame.columns == ["cc", "repetition", "t", "flow", "bytes"]
    assert frame["bytes"].sum() == results.flows["bytes"].sum()
    assert results.polars("summary").height == 4
    assert results.runs[0].polars("ping").height == len(results.runs[0].ping)
    assert tailback.plot(results, "bar").axes[0].get_ylabel() == "Goodput (Mbit/s)"
    assert len(tailback.plot(results).axes) >= 1
    assert "<html" in tailback.write_report(results, tmp_path / "report.html").read_text()


def test_runs_are_selected_by_one_or_several_values_of_an_axis_numbers_too(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(
        EXPERIMENT.replace(
            "duration: 1s",
            "duration: 1s\nlet: {buffer: 20}\nqdiscs: {client -> server: 'htb rate 10mbit | pfifo limit ${buffer}'}",
        ).replace("{cc: [cubic, reno]}", "{buffer: [20, 100, 400]}")
    )
    results = tailback.run(file, out=tmp_path / "out")
    assert [run.axes["buffer"] for run in results.select(buffer=100).runs] == ["100"]
    assert dict(results.select(buffer=[400, "20"]).axes) == {"buffer": ["20", "400"]}
    with pytest.raises(tailback.results.NotResults, match="`buffer` is never `7`"):
        results.select(buffer=[20, 7])
    assert repr(results) == f"<Results `small` in {tmp_path / 'out'}: 3 runs; buffer: 20, 100, 400>"
    assert len(repr(results.runs[0])) < 300


def test_results_are_compared_with_each_other(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    results = tailback.run(file, out=tmp_path / "out")
    same = tailback.compare(results, tmp_path / "out", goodput="0.1mbit").differences
    assert set(same["cc"]) == {"cubic", "reno"}
    assert (same["difference"] == 0).all()
    assert set(same[same["metric"] == "goodput_mbps.total"]["outcome"]) == {"within"}


def test_an_experiment_is_validated_against_another_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_BACKENDS", STAND_INS)
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT.replace("name: upload", "name: upload, jitter: 10ms"))
    done = tailback.validate(file, against="slower", out=tmp_path / "out", ping="1ms")
    assert done.comparison is not None
    assert done.comparison.criteria.tolerances["ping"].absolute == 1
    assert done.comparison.off > 0
    with pytest.raises(tailback.RunsFailed, match="unlucky"):
        tailback.validate(tailback.load(file, ["seed=13"]), against="twin", out=tmp_path / "unlucky")


def test_a_wrong_file_raises_the_message_the_command_line_prints(tmp_path: Path) -> None:
    with pytest.raises(tailback.ScenarioError, match=r"nowhere\.yaml"):
        tailback.load(tmp_path / "nowhere.yaml")


def test_the_package_exports_its_version_and_its_documented_functions_only() -> None:
    assert tailback.__version__.count(".") == 2
    with pytest.raises(AttributeError):
        _ = tailback.drive


def test_python_answers_the_questions_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    results = tailback.run(file, settings=["repeat=2"], out=tmp_path / "out")
    indices = tailback.sensitivity(results, "tcp rtt p50")
    assert indices["axis"].tolist() == ["cc"]
    [front] = tailback.pareto(tmp_path / "out", "rtt p50")
    assert set(front.table["cc"]) == {"cubic", "reno"}
    [one] = tailback.recommend(results, "tcp rtt p50 < 1s")
    assert one.answer.best is not None
    assert one.answer.best.met == "surely"


def test_every_figure_takes_its_options_as_keywords(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    results = tailback.run(file, settings=["repeat=2"], out=tmp_path / "out")
    tables = [getattr(plots, name).data for name in plots.__all__ if hasattr(getattr(plots, name), "data")]
    for data in (*(plot.data for plot in plots.PLOTS.values()), *tables):
        for words in ({"metric": "goodput"}, {"facet": "cc"}, {"x": "cc", "bin_ns": 10**8}):
            with contextlib.suppress(plots.NotDrawable, advice.WrongQuestion):
                data(results, **words)
        with pytest.raises(TypeError, match="`metrc` is not an option of a figure: did you mean `metric`"):
            data(results, metrc="ping")
    assert set(plots.cdf.data(results, metric="ping")["panel"]) == {"Ping"}
    assert set(plots.candlestick.data(results, metric="ping")["panel"]) == {"Ping"}
    assert tailback.plot(results, "bar", metric="ping p99").axes[0].get_ylabel() == "Ping p99 (ms)"


@pytest.mark.parametrize("name", [name for name in tailback.__all__ if inspect.isfunction(getattr(tailback, name))])
def test_every_parameter_of_a_function_is_in_its_description(name: str) -> None:
    """Those of a name that says it (`experiment`, `path`) are in the text of the function, too."""
    function = getattr(tailback, name)
    text = inspect.getdoc(function) or ""
    obvious = {"found", "experiment", "path", "reference", "candidate", "words", "parts", "target", "against", "metric"}
    for parameter in inspect.signature(function).parameters:
        assert parameter in obvious or f"`{parameter}" in text, f"{name}({parameter})"


def test_every_function_of_results_takes_what_its_description_says(tmp_path: Path) -> None:
    """Each documented parameter once, with its documented example."""
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    results = tailback.run(file, settings=["repeat=2"], out=tmp_path / "out", jobs=1, backend="sim")
    assert results.findings == ["cc reno instead of cubic: " + results.findings[0].partition(": ")[2]]
    assert len(tailback.sensitivity(results, metric="ping p99", log=True)) == 1
    (front,) = tailback.pareto(results, latency="rtt p50", given=(), choose=("cc",))
    assert (dict(front.given), dict(front.because)) == ({}, {})
    fronts = tailback.pareto(results, given=["cc"])
    assert [dict(each.because) for each in fronts] == [{"cc": "as asked"}] * 2
    (found,) = tailback.recommend(results, bounds="ping p99 < 1s", best="ping p99", given=(), choose=["cc"])
    assert found.answer.best is not None
    wish = advice.wish(minimise="cwnd")
    assert len(tailback.recommend(results, best=wish, given=["cc"])) == 2
    assert tailback.plot(results, name="cdf", choice=plots.Choice(metric="ping")).axes[0].get_xlabel() == "Ping (ms)"
    assert tailback.plot(results, name="cdf", metric="ping").axes[0].get_xlabel() == "Ping (ms)"
    assert tailback.compare(results, tmp_path / "out", rtt="10% or 0.5ms").overall.endswith(" the same")
    assert len(tailback.combined([results, results], axis="side").axes["side"]) == 2
    assert tailback.load(path=file, settings=["duration=2s"]).title == "small"


def test_the_backend_with_an_address_is_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    monkeypatch.setattr(cluster, "ANSWER_S", 1)
    with pytest.raises(cluster.ClusterUnfit, match=r"no scheduler answers at `tcp://127\.0\.0\.1:9`"):
        tailback.run(file, backend="sim@tcp://127.0.0.1:9", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_simulation_in_memory_has_the_tables_and_summaries_of_a_run_and_touches_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    found = tailback.simulate(tailback.load(file, ["repeat=2"]), jobs=2)
    assert list((tmp_path / "empty").iterdir()) == []
    ran = tailback.run(file, settings=["repeat=2"], out=tmp_path / "out")
    assert [run.labels for run in found.runs] == [run.labels for run in ran.runs]
    for name in ("flows", "tcp_info", "ping", "qdisc", "events", "sojourns"):
        pd.testing.assert_frame_equal(found.table(name), ran.table(name))
        assert found.runs[0].units(name) == ran.runs[0].units(name)
    assert found.runs[0].qdiscs == ran.runs[0].qdiscs
    kinds = [isinstance(run, tailback.RunFolder) for run in (*found.runs, *ran.runs)]
    assert kinds == [False, False, False, False, True, True, True, True], "a run in memory has no folder"
    assert all(isinstance(run, tailback.RunResult) and not run.captures for run in (*found.runs, *ran.runs))
    summaries = [{**run.summary, "cost": None} for run in (*found.runs, *ran.runs)]
    assert summaries[:4] == summaries[4:]
    assert set(tailback.compare(found, ran).differences["verdict"]) <= {
        "the same in every repetition",
        "the same in the one repetition",
    }
    drawn = [plots.find_plot("timeseries").table(each, plots.AUTOMATIC) for each in (found, ran)]
    assert repr(drawn[0]) == repr(drawn[1])
    assert set(tailback.combined([found, ran]).axes["results"]) == {found.path.name, "out"}


def test_a_simulation_whose_runs_fail_says_which_and_gives_the_others(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAILS)
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT.replace("[cubic, reno]", "[mine.py, reno]"))
    with pytest.raises(api.SimulationFailed, match=r"run mine.*failed: .*no window") as failed:
        tailback.simulate(file)
    assert [run.axes["cc"] for run in failed.value.results.runs] == ["reno"]

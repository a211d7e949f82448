"""One experiment on two backends: equal results are found equal, and a known fault is found in its place."""

import json
from pathlib import Path

import pandas as pd
import pytest

from fake_backend import Nobody
from tailback import scenario, validation
from tailback.analysis.rows import records
from tailback.analysis.tolerances import FIDELITY
from tailback.backends import UnknownBackend, Unsuitable
from tailback.results import open_results
from tailback.validation import Comparison, Criteria, Request, Validated
from validation.conftest import EXPERIMENT


def validated(file: Path, against: str, *settings: str, out: Path | None = None, most: int = 1) -> Validated:
    request = Request("sim", against, Criteria(FIDELITY), 2, out, settings, most)
    return validation.validate(scenario.load(file, list(settings)), request, Nobody())


def compared(done: Validated) -> Comparison:
    assert done.comparison is not None
    return done.comparison


def test_an_identical_run_is_within_tolerance_and_does_not_diverge(file: Path) -> None:
    done = validated(file, "twin")
    found = compared(done)
    assert (done.failed, done.off, done.left_out) == (0, 0, [])
    assert (found.judged["difference"] == 0).all()
    assert found.divergences.empty
    assert (found.distances[["wasserstein", "ks"]] == 0).all(axis=None)
    assert validation.divergence(found, 0) is None
    assert found.names() == {"reference": "twin", "candidate": "sim"}


def test_a_longer_path_is_found_in_the_pings_and_from_the_first_sample_on(file: Path) -> None:
    done = validated(file, "slower", "tsq=1ms")
    found = compared(done)
    ping = next(row for row in records(found.judged) if row["metric"] == "ping_ms.p50")
    # The reference has the longer RTT, by 10 ms.
    assert -11 < ping["low"] <= ping["difference"] <= ping["high"] < -9
    assert "lower" in ping["verdict"]
    first = validation.divergence(found, 0)
    assert first is not None
    assert first.t < 0.3
    assert 3 < next(row for row in records(found.distances) if row["quantity"] == "tcp_rtt_ms")["wasserstein"] < 15
    assert done.off > 0


def test_a_fault_that_shows_at_the_first_loss_is_found_at_that_loss(file: Path) -> None:
    found = compared(validated(file, "late-cut", "tsq=off", "repeat=1", "measure.tcp_info=ack"))
    first = validation.divergence(found, 0)
    assert first is not None
    run = found.pairing.pairs[0].reference
    cuts = run.tcp_info[run.tcp_info["snd_ssthresh"].notna()]
    assert first.t == pytest.approx(float(cuts["t"].min()), abs=0.05)
    assert first.column in ("snd_cwnd", "snd_ssthresh")
    assert {"reference", "candidate"} == set(first.events)
    here = first.rows[first.rows["place"] == first.place].iloc[0]
    assert here[f"{first.column} reference"] != here[f"{first.column} candidate"]
    before = first.rows[first.rows["place"] < first.place]
    assert (before["snd_cwnd reference"] == before["snd_cwnd candidate"]).all()


def test_undecided_configurations_are_repeated_and_the_others_keep_their_number(file: Path) -> None:
    # Under a small queue nothing is lost, so both controls are equal and one repetition decides.
    few = validated(file, "late-cut", "repeat=1")
    more = validated(file, "late-cut", "repeat=1", most=6)
    assert [axes["tsq"] for axes in compared(few).pairing.configurations] == ["1ms", "off"]
    assert compared(few).undecided == {1}
    assert few.folder == more.folder
    counts = [len(compared(more).pairing.of(place)) for place in range(2)]
    assert counts[0] == 1
    assert counts[1] == (6 if compared(more).undecided else 5)


def test_a_file_with_a_rule_for_its_repetitions_keeps_it(file: Path) -> None:
    rule = "repeat=until ci95 of goodput < 50%, at least 2, at most 3"
    assert len(compared(validated(file, "late-cut", rule, "tsq=off", most=9)).pairing.pairs) == 2


def test_drops_of_a_backend_without_events_are_those_its_disciplines_counted(file: Path) -> None:
    counted, noted = (compared(validated(file, name, "tsq=off")).judged for name in ("eventless", "twin"))
    for metric in ("drops", "marks"):
        rows = [next(row for row in records(table) if row["metric"] == metric) for table in (counted, noted)]
        assert rows[0]["reference"] == rows[0]["candidate"] == rows[1]["reference"]
    assert next(row for row in records(counted) if row["metric"] == "drops")["reference"] > 0


def test_a_configuration_that_a_backend_cannot_run_is_left_out_with_its_reason(file: Path) -> None:
    done = validated(file, "twin", "vary.cc=[reno, bbr]")
    assert [out.axes["cc"] for out in done.left_out] == ["bbr", "bbr"]
    assert {(out.backend, out.reason) for out in done.left_out} == {("twin", "the twin has no bbr")}
    assert [axes["cc"] for axes in compared(done).pairing.configurations] == ["reno", "reno"]


def test_an_experiment_of_which_nothing_can_run_is_refused(file: Path) -> None:
    with pytest.raises(Unsuitable, match=r"`twin`: the twin has no bbr"):
        validated(file, "twin", "cc=bbr")


def test_an_unknown_backend_is_refused_with_a_list_of_the_backends(file: Path) -> None:
    with pytest.raises(UnknownBackend, match="`twin`"):
        validated(file, "plan9")


def test_a_backend_is_not_compared_with_itself(file: Path) -> None:
    with pytest.raises(validation.WrongValidation, match="tailback compare"):
        validated(file, "sim")


def test_a_failed_run_leaves_its_pair_out(file: Path) -> None:
    done = validated(file, "twin", "seed=12", "tsq=1ms")
    assert done.failed == 1
    assert [pair.repetition for pair in compared(done).pairing.pairs] == [1]
    document = validation.validation_document(done)
    assert document["failed"] == [
        {"axes": {"tsq": "1ms"}, "repetition": 2, "backend": "twin", "error": "the twin is unlucky today"}
    ]


def test_where_no_pair_is_complete_there_is_no_comparison(file: Path) -> None:
    done = validated(file, "twin", "seed=13", "repeat=1")
    assert done.comparison is None
    assert validation.write_validation(done) is None
    assert len(validation.validation_document(done)["failed"]) == 2


def test_complete_runs_are_not_run_again_and_other_experiments_get_another_folder(file: Path) -> None:
    first, again = validated(file, "twin"), validated(file, "twin")
    assert first.folder == again.folder == Path("results/small-validation")
    assert [side.reused for side in again.carried] == [4, 4]
    assert validated(file, "twin", "duration=6s").folder == Path("results/small-validation-2")


def test_a_part_of_a_grid_that_is_there_is_compared_alone(file: Path, tmp_path: Path) -> None:
    whole = validated(file, "twin", out=tmp_path / "out")
    part = validated(file, "twin", "tsq=off", "repeat=1", out=tmp_path / "out")
    assert len(compared(whole).pairing.pairs) == 4
    assert len(compared(part).pairing.pairs) == 1


def test_the_files_of_a_comparison_agree_with_its_document(file: Path, tmp_path: Path) -> None:
    done = validated(file, "slower", out=tmp_path / "out")
    report = validation.write_validation(done)
    assert report == tmp_path / "out" / "report.html"
    found = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert found == validation.validation_document(done)
    table = pd.read_csv(tmp_path / "out" / "differences.csv")
    assert len(table) == len(compared(done).judged)
    assert set(table["tsq"]) == {"1ms", "off"}
    matrix = pd.read_csv(tmp_path / "out" / "plots" / "conformance.csv")
    assert (matrix["deviation"].abs() > 1).any()
    assert (tmp_path / "out" / "plots" / "conformance.svg").read_text().startswith("<?xml")


def test_the_report_can_be_made_again_from_the_two_folders_alone(file: Path, tmp_path: Path) -> None:
    from tailback.results import pair

    done = validated(file, "slower", out=tmp_path / "out")
    sides = [open_results(tmp_path / "out" / name) for name in ("slower", "sim")]
    again = validation.compare(pair(*sides), Criteria(FIDELITY))
    assert validation.document(again) == validation.document(compared(done))


def test_every_control_and_discipline_of_the_registries_enters_the_matrix() -> None:
    settings = validation.every(["cc", "qdisc"])
    ci = Path(__file__).parents[3] / "experiments" / "conformance" / "ci.yaml"
    axes = scenario.load(ci, settings).axes
    registry = scenario.CoreRegistry()
    assert axes["cc"] == [row.name for row in registry.congestion_controls]
    assert {value.split()[0] for value in axes["qdisc"]} <= {row.name for row in registry.qdiscs}
    assert {"pfifo_fast", "fq_codel"} <= set(axes["qdisc"])
    assert "htb" not in axes["qdisc"]
    with pytest.raises(validation.NoRegistry, match="`cc`"):
        validation.every(["rtt"])


@pytest.mark.parametrize("name", ["ci", "full"])
def test_the_matrices_can_be_run(name: str) -> None:
    path = Path(__file__).parents[3] / "experiments" / "conformance" / f"{name}.yaml"
    assert {"bottleneck", "qdisc", "rtt", "cc", "tsq"} == set(scenario.load(path).axes)


def test_one_run_repeated_counts_as_one_repetition_and_is_not_repeated_further(file: Path) -> None:
    file.write_text(EXPERIMENT.replace(", jitter: 10ms", ""))
    found = compared(validated(file, "slower", "tsq=1ms", "repeat=1", most=20))
    # Of five equal runs on each side, a permutation test would make p = 0.008.
    assert len(found.pairing.pairs) == 5
    assert found.alike == {0}
    assert not found.undecided
    ping = next(row for row in records(found.judged) if row["metric"] == "ping_ms.p50")
    assert ping["pairs"] == 1
    assert pd.isna([ping[name] for name in ("low", "high", "p", "paired_p", "effect")]).all()


def test_repetitions_that_differ_all_count(file: Path) -> None:
    found = compared(validated(file, "slower", "tsq=1ms"))
    assert found.alike == frozenset()
    assert next(row for row in records(found.judged) if row["metric"] == "ping_ms.p50")["pairs"] == 2

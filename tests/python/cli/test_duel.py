"""`tailback duel`: each control against each other."""

import json
from pathlib import Path

import pandas as pd
import pytest

from command import in_process
from tailback import duels
from tailback.scenario import ScenarioError

BRIEF = ["--rate", "10mbit", "--duration", "6s", "--warmup", "2s"]
SHORT = [*BRIEF, "--repeat", "3"]
PATH = duels.Bottleneck("10mbit", "20ms", 1)
LENGTH = duels.Length("6s", "2s", 3)


def test_the_matrix_has_both_sides_of_each_pair_and_they_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # Of two repetitions, the interval would contain one half.
    said = in_process("duel", "cubic", "bbr", *BRIEF, "--repeat", "4").stdout
    assert "against cubic" in said
    assert "bbr gets" in said
    rows = pd.read_csv("results/duel/plots/duel.csv").to_dict("records")
    shares = {(row["control"], row["against"]): float(row["mean"]) for row in rows}
    assert len(shares) == 4
    assert shares["cubic", "bbr"] + shares["bbr", "cubic"] == pytest.approx(1)
    assert shares["bbr", "cubic"] > 0.6
    assert 0.2 < shares["cubic", "cubic"] < 0.8
    assert Path("results/duel/plots/duel.png").stat().st_size > 5000


def test_a_control_of_the_user_duels_under_the_name_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    in_process("new", "cc", "--python", "mine")
    said = in_process("duel", "mine.py", "reno", *SHORT).stdout
    assert "against mine" in said


def test_controls_duel_with_their_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fixed.py").write_text(
        "class Fixed:\n    def __init__(self, cwnd): self.cwnd = cwnd\n"
        "    def on_ack(self, flow, sample): flow.cwnd = self.cwnd\n    def on_loss(self, flow): pass\n"
    )
    in_process("duel", "./fixed.py cwnd 4", "fixed.py cwnd 12", "cubic hystart 0", *SHORT)
    rows = pd.read_csv("results/duel/plots/duel.csv").to_dict("records")
    shares = {(row["control"], row["against"]): float(row["mean"]) for row in rows}
    assert len(shares) == 9
    assert shares["fixed cwnd 12", "fixed cwnd 4"] == pytest.approx(0.75, abs=0.05)
    assert ("cubic hystart 0", "fixed cwnd 4") in shares


def test_a_duel_of_other_controls_takes_the_next_folder_and_reuses_the_runs_that_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    in_process("duel", "cubic", "bbr", *SHORT)
    said = in_process("duel", "cubic", "reno", *SHORT).stdout
    assert "results/duel-2/plots/duel.png" in said
    taken = [
        run.name
        for run in Path("results/duel-2/runs").iterdir()
        if "taken_from" in json.loads((run / "manifest.json").read_text())
    ]
    assert len(taken) == 3
    assert all(name.startswith("cubic_against_cubic") for name in taken)
    assert "results/duel/plots/duel.png" in in_process("duel", "cubic", "bbr", *SHORT).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cubic"], "a duel needs two controls"),
        (["cubic", "cubic"], "two controls have the same name"),
        (["cubic", "vegaz"], "vegaz"),
        (["cubic", "reno", "--rate", "fast"], "fast"),
        (["cubic", "nowhere.py"], "nowhere.py"),
        (["cubic", "nowhere.py beta"], "the parameter `beta` of `nowhere.py` has no value"),
        (["cubic", "bbr hystart 0"], "`hystart` is not an option of `bbr`"),
    ],
)
def test_what_cannot_duel_is_named(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = in_process("duel", *words, status=2).stderr
    assert message in said
    assert said.count("hint:") == 1
    assert "duel.yaml" not in said
    assert not Path("results").exists()


def test_the_queue_is_as_many_products_as_asked() -> None:
    assert PATH.discipline == "pfifo limit 17p"
    assert duels.Bottleneck("10mbit", "20ms", 2).discipline == "pfifo limit 34p"
    assert duels.Bottleneck("10mbit", "20ms", 1, "fq_codel").discipline == "fq_codel"


def test_each_pair_is_run_once() -> None:
    found = duels.experiment(["reno", "cubic", "bbr"], PATH, LENGTH)
    assert len(found.configurations) == 6
    with pytest.raises(ScenarioError):
        duels.experiment(["reno", "cubic"], duels.Bottleneck("1mb", "20ms", 1, "nothing"), LENGTH)


def test_the_document_has_the_share_of_each_ordered_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = json.loads(in_process("duel", "cubic", "reno", *SHORT, "--json").stdout)
    assert list(found) == ["tailback", "title", "dir", "duels"]
    shares = {(each["control"], each["against"]): each for each in found["duels"]}
    assert len(shares) == 4
    assert shares["cubic", "reno"]["share"] + shares["reno", "cubic"]["share"] == pytest.approx(1)
    assert Path("results/duel/plots/duel.png").is_file()
    # The folder has three repetitions.
    once = json.loads(in_process("duel", "cubic", "reno", *BRIEF, "--repeat", "1", "--json").stdout)
    assert once["dir"] == found["dir"]
    assert all("interval" not in each and each["n"] == 1 for each in once["duels"])

"""Sweeps on the command line: the dry run, and reuse of runs from other results."""

import json
from pathlib import Path

from e2e.conftest import Run


def test_a_dry_run_lists_the_plan_and_writes_nothing(tailback: Run, tmp_path: Path) -> None:
    done = tailback("run", "two.yaml", "--dry-run")
    assert "8 runs of 2 configurations in results/two: 0 complete, 0 complete elsewhere, 8 to be run" in done.stdout
    assert "at a time, from trials of some configurations" in done.stdout
    assert done.stdout.count("to be run") == 9
    assert [path.name for path in tmp_path.iterdir()] == ["two.yaml"]


def test_a_dry_run_as_a_document_tells_what_is_complete(tailback: Run) -> None:
    tailback("run", "two.yaml", "--repeat", "1")
    plan = json.loads(tailback("run", "two.yaml", "--repeat", "2", "--dry-run", "--json").stdout)
    assert plan["counts"] == {"complete": 2, "elsewhere": 0, "missing": 2}
    assert plan["estimate"]["basis"] == "measured"
    assert [(run["axes"]["cc"], run["repetition"], run["state"]) for run in plan["runs"]] == [
        ("cubic", 1, "complete"), ("cubic", 2, "missing"), ("reno", 1, "complete"), ("reno", 2, "missing"),
    ]  # fmt: skip


def test_a_changed_grid_reuses_runs_of_another_results_folder(tailback: Run) -> None:
    tailback("run", "two.yaml", "--repeat", "2")
    wider = ("run", "two.yaml", "--repeat", "2", "--set", "vary.tsq=[1ms, off]")
    done = tailback(*wider)
    assert "8 complete runs, 4 of them reused: results/two-2" in done.stderr
    alone = tailback(*wider, "--out", "alone")
    assert "8 complete runs: alone" in alone.stderr
    reused = tailback(*wider, "--out", "again", "--reuse", "alone")
    assert "8 complete runs, 8 of them reused: again" in reused.stderr

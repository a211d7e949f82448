"""The live display of a sweep on a terminal."""

import io
from pathlib import Path

from rich.console import Console

from fake_backend import FakeBackend, experiment, grid, planned, scenario
from tailback.cli.live import Board
from tailback.cli.show import duration
from tailback.results import ExperimentPlan, claim
from tailback.sweep import Sweep, run_all


def shown(board: Board, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(board)
    return console.export_text()


def carried_out(folder: Path, plan: ExperimentPlan, board: Board) -> None:
    with claim(folder, plan) as store:
        run_all(Sweep(store, FakeBackend(), 1), board)


def test_it_shows_the_configurations_with_their_means_and_how_many_runs_are_done(tmp_path: Path) -> None:
    board = Board(height=40)
    carried_out(tmp_path / "x", grid(), board)
    text = shown(board)
    assert "runs 8/8" in text
    assert text.count("2/2") == 4
    assert "goodput" in text
    assert "more configuration" not in text


def test_only_numbers_that_the_runs_have_are_columns(tmp_path: Path) -> None:
    board = Board(height=40)
    carried_out(tmp_path / "x", grid(), board)
    assert "–" not in shown(board, 200)


def test_on_a_low_terminal_the_last_ones_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    board = Board(height=11)
    carried_out(tmp_path / "x", grid(repetitions=1), board)
    text = shown(board)
    assert "and 3 more configurations" in text
    assert "bbr" in text
    assert "cubic" not in text


def test_on_a_narrow_terminal_as_much_is_shown_as_fits(tmp_path: Path) -> None:
    board = Board(height=40)
    carried_out(tmp_path / "x", grid(), board)
    for width in (100, 70, 60, 20, 9, 1):
        assert all(len(line) <= width for line in shown(board, width).splitlines())
    assert "goodput" in shown(board, 60)
    assert "…" not in shown(board, 60).partition("runs 8/8")[0]
    assert shown(board, 20).strip() == "runs 8/8, 100%"


def test_runs_that_were_complete_before_are_counted(tmp_path: Path) -> None:
    with claim(tmp_path / "x", grid(repetitions=1)) as store:
        run_all(Sweep(store, FakeBackend(), 1), Board(height=40))
    seen: list[tuple[int, int, float]] = []

    class Seeing(Board):
        def update(self, done: int, total: int, fraction: float) -> None:
            super().update(done, total, fraction)
            seen.append((done, total, fraction))

    board = Seeing(height=40)
    carried_out(tmp_path / "x", grid(repetitions=2), board)
    assert seen[0] == (4, 8, 0.5)
    assert seen[-1] == (8, 8, 1.0)
    assert "runs 8/8" in shown(board)
    again = Board(height=40)
    carried_out(tmp_path / "x", grid(repetitions=2), again)
    assert "runs 8/8" in shown(again)


def test_runs_that_failed_are_counted(tmp_path: Path) -> None:
    board = Board(height=40)
    carried_out(tmp_path / "x", experiment([planned({"n": "1"}, scenario("fails"))]), board)
    assert "runs 1/1, 1 failed" in shown(board)


def test_before_anything_is_done_there_is_only_the_bar() -> None:
    board = Board(height=40)
    board.begun(grid().runs)
    board.update(0, 8, 0.0)
    assert "runs 0/8" in shown(board)
    assert "goodput" not in shown(board)


def test_durations_are_printed_in_common_units() -> None:
    assert [duration(seconds) for seconds in (0.34, 42, 200, 7500)] == ["0.3 s", "42 s", "3 min 20 s", "2 h 5 min"]

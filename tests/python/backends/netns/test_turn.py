"""Only one run in real time takes place on a machine at a time."""

import threading
from pathlib import Path

import pytest

from tailback.backends import RunCancelled
from tailback.backends.linux.process import Progress
from tailback.backends.netns.turn import Turn
from waiting import happened, joined


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"\0{tmp_path}"


class Asked(Progress):
    """Records that `cancelled` was called, which a waiting run does while another holds the turn."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    @property
    def cancelled(self) -> bool:
        self.asked.set()
        return super().cancelled


def cancelled() -> Progress:
    progress = Progress()
    progress.cancel()
    return progress


def test_a_run_that_waits_for_its_turn_can_be_cancelled(address: str) -> None:
    with Turn(address).one(Progress()), pytest.raises(RunCancelled), Turn(address).one(cancelled()):
        pass


def test_runs_of_one_holder_share_its_turn(address: str) -> None:
    turn = Turn(address)
    with turn.one(Progress()), turn.one(cancelled()):
        pass


def test_the_turn_passes_on_when_its_last_run_has_ended(address: str) -> None:
    first, second, entered, progress = Turn(address), Turn(address), threading.Event(), Asked()

    def wait() -> None:
        with second.one(progress):
            entered.set()

    with first.one(Progress()):
        waiting = threading.Thread(target=wait)
        waiting.start()
        happened(progress.asked)
        assert not entered.is_set()
    joined(waiting)
    assert entered.is_set()

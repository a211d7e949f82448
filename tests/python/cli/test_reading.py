"""What a command says while it reads a large experiment."""

import sys
import threading

import pytest

from tailback.cli import progress
from waiting import happened


class Terminal:
    """A terminal on which one line is awaited."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.told = threading.Event()

    def print(self, line: str) -> None:
        self.lines.append(line)
        self.told.set()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "stderr", lambda: found)
    return found


def test_a_file_that_takes_long_to_read_is_named_on_a_terminal(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0)
    with progress.reading("many.yaml"):
        happened(terminal.told)
    assert terminal.lines == ["reading and checking many.yaml, which is large ..."]


def test_of_a_file_that_is_read_at_once_nothing_is_said(terminal: Terminal) -> None:
    with progress.reading("small.yaml"):
        pass
    assert not terminal.lines


def test_nothing_is_said_where_there_is_no_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.setattr(progress, "PATIENCE_S", 0)
    with progress.reading("many.yaml"):
        pass
    assert not terminal.lines

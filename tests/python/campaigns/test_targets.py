"""Every reader, on its seeds and on some mutations of them, returns a value or raises its own error. `make campaign` is
the long run, with inputs found by coverage.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaigns import guard
from campaigns.mutation import inputs
from campaigns.targets import TARGETS, Target

SEED = 14


@pytest.fixture
def folder() -> Iterator[Path]:
    with guard.scratch() as place:
        yield Path(place)


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_any_input_gives_a_value_or_the_error_of_its_reader(target: Target) -> None:
    for content in inputs(target.seeds(), target.dictionary(), target.short, SEED):
        with guard.scratch() as place:
            try:
                guard.hold(target, content, Path(place))
            except guard.Broken as broken:
                pytest.fail(f"{broken}\ninput: {content!r}")


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_every_seed_input_is_valid(target: Target) -> None:
    for content in target.begin():
        with guard.scratch() as place:
            target.read(content, Path(place))


def target_that(read: Any) -> Target:
    """A reader with this behaviour, whose own error is `ValueError`."""
    return Target("made up", read, (ValueError,), list, 0)


def refuse(message: str) -> object:
    raise ValueError(message)


def test_a_value_and_a_refusal_are_both_accepted(folder: Path) -> None:
    guard.hold(target_that(lambda content, _: content), b"x", folder)
    guard.hold(target_that(lambda _content, _: refuse("it is no number")), b"x", folder)
    guard.hold(target_that(lambda content, folder: (folder / "x").write_bytes(content)), b"x", folder)


@pytest.mark.parametrize(
    ("read", "way"),
    [
        (lambda content, _: content[7], "IndexError"),
        (lambda _content, _: refuse(" "), "ValueError without a message"),
        (lambda _content, folder: (folder.parent / "escaped").mkdir(), "os.mkdir"),
        (lambda _content, _: __import__("os").system("true"), "os.system"),
        (lambda _content, _: __import__("subprocess").run(["true"], check=True), "subprocess.Popen"),
    ],
    ids=["another error", "a refusal without words", "a folder elsewhere", "a shell", "a program"],
)
def test_an_unexpected_exception_is_found(read: object, way: str, folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    with pytest.raises(guard.Broken) as broken:
        guard.hold(target_that(read), b"x", inner)
    assert broken.value.way.startswith(way)


def test_an_input_that_takes_too_long_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "SECONDS", 0.05)

    def endless(_content: bytes, _folder: Path) -> None:
        while True:
            pass

    with pytest.raises(guard.Broken, match="takes too long"):
        guard.hold(target_that(endless), b"x", folder)


def test_timers_kept_over_inputs_find_only_slow_inputs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "SECONDS", 0.5)

    def busy(seconds: float) -> Any:
        def read(_content: bytes, _folder: Path) -> None:
            ends = time.process_time() + seconds
            while time.process_time() < ends:
                pass

        return read

    with guard.continuing_clocks():
        for _ in range(20):
            guard.hold(target_that(busy(0.05)), b"x", folder)
        with pytest.raises(guard.Broken, match="takes too long"):
            guard.hold(target_that(busy(900)), b"x", folder)


def test_the_time_a_busy_machine_takes_is_not_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "SECONDS", 0.05)
    # It uses no CPU time, like a process that is not scheduled.
    guard.hold(target_that(lambda _content, _: time.sleep(0.2)), b"x", folder)


def test_an_input_that_waits_forever_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "WAITING_SECONDS", 0.05)
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(guard.Broken, match="takes too long"):
        guard.hold(target_that(lambda _content, _: fifo.read_bytes()), b"x", folder)

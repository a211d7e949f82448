"""What the user sees of a failure: one message and an exit status, never a traceback for what is not a bug."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from tailback.cli import interrupts

GOES_ON = "complete runs are kept; the same command continues from there"


class WrongInput(Exception):
    """A word on the command line that means nothing."""


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turns the errors of the rooms into a message on stderr and an exit status."""
    try:
        try:
            yield
        finally:
            # What is still buffered fails here and not in the interpreter's last breath.
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); nothing is left to say, not even at exit.
        _close_stdout()
        sys.exit(1)
    except Exception as error:
        if _is_of_stdout(error):
            _close_stdout()
            _told(f"cannot write the output: {error}\n  hint: free some space where it goes to")
            sys.exit(1)
        status = _status(error)
        if status is None:
            raise
        _told(error)
        sys.exit(status)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """What runs experiments: who interrupts it is told that nothing is lost."""
    with interrupts.hinted(GOES_ON):
        yield


def one_of(switches: Mapping[str, bool]) -> None:
    """Refuses none and several."""
    if sum(switches.values()) != 1:
        raise WrongInput(f"choose one\n  hint: {' or '.join(switches)}")


def pairs(words: Sequence[str], option: str) -> dict[str, str]:
    """`["cc=bbr"]` as `{"cc": "bbr"}`."""
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise WrongInput(f"{option}: `{word}` is not a pair\n  hint: write {option} cc=bbr")
        found[key.strip()] = value.strip()
    return found


def _told(error: object) -> None:
    # The console is heavy; a command that goes well may not need it.
    from tailback import plain
    from tailback.cli import console

    console.error(plain.brief(str(error)))


def _is_of_stdout(error: Exception) -> bool:
    """Whether writing to a stream failed as a disk is full; errors of files carry the file's name."""
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return isinstance(error, OSError) and error.filename is None and error.errno in full


def _close_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _status(error: Exception) -> int | None:
    """The exit status for `error`; `None` if it is a bug."""
    from tailback.advice import WrongQuestion
    from tailback.analysis.bounds import WrongBound
    from tailback.analysis.tolerances import WrongTolerance
    from tailback.backends import UnknownBackend, Unsuitable
    from tailback.drill import WrongDrill
    from tailback.formats import NotExportable, NotReadable
    from tailback.kernel import BuildFailed, CacheUnwritable, KernelMissing
    from tailback.papers import UnknownPaper
    from tailback.plots.errors import NotDrawable
    from tailback.results import FolderTaken, NotComparable, NotResults, ResultsUnwritable
    from tailback.scenario import ScenarioError
    from tailback.sweep import SweepEnded
    from tailback.validation import NoRegistry, WrongValidation

    if isinstance(error, ResultsUnwritable | BuildFailed | CacheUnwritable | SweepEnded):
        return 1
    wrong = (
        WrongInput, KernelMissing, ScenarioError, UnknownBackend, Unsuitable, FolderTaken, NotResults, NotDrawable,
        NotComparable, NoRegistry, WrongTolerance, WrongValidation, UnknownPaper, WrongDrill, NotExportable,
        NotReadable, WrongBound, WrongQuestion,
    )  # fmt: skip
    return 2 if isinstance(error, wrong) else None

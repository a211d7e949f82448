"""Reports failures to the user: one message and an exit status, and a traceback only for defects of Tailback."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from tailback.cli import interrupts

GOES_ON = "complete runs are kept; the same command continues from there"


# By name: the message of a wrong file should not wait for every package to load, only because it might have raised.
STATUS = {
    "tailback.results.errors.ResultsUnwritable": 1,
    "tailback.kernel.errors.BuildFailed": 1,
    "tailback.kernel.errors.CacheUnwritable": 1,
    "tailback.sweep.work.SweepEnded": 1,
    "tailback.cli.failures.WrongInput": 2,
    "tailback.extras.ExtraMissing": 2,
    "tailback.kernel.errors.KernelMissing": 2,
    "tailback.starters.NotStarted": 2,
    "tailback.scenario.errors.ScenarioError": 2,
    "tailback.backends.UnknownBackend": 2,
    "tailback.backends.backend.RunFailed": 1,
    "tailback.backends.backend.Unsuitable": 2,
    "tailback.results.errors.FolderTaken": 2,
    "tailback.results.errors.NotResults": 2,
    "tailback.results.errors.NotComparable": 2,
    "tailback.plots.errors.NotDrawable": 2,
    "tailback.validation.whole_axes.NoRegistry": 2,
    "tailback.validation.session.WrongValidation": 2,
    "tailback.analysis.tolerances.WrongTolerance": 2,
    "tailback.analysis.quantities.WrongBound": 2,
    "tailback.papers.errors.UnknownPaper": 2,
    "tailback.drill.session.WrongDrill": 2,
    "tailback.formats.errors.NotExportable": 2,
    "tailback.formats.errors.NotReadable": 2,
    "tailback.advice.questions.WrongQuestion": 2,
    "tailback.duels.WrongDuel": 2,
    "tailback.lab.serving.PortTaken": 2,
    "tailback.lab.saving.NotSaved": 2,
    "tailback.assess.errors.WrongSuite": 2,
    "tailback.search.errors.WrongSearch": 2,
}
"""The exit status of each error that is not a bug, and of those derived from it."""


class WrongInput(Exception):
    """An argument on the command line is invalid."""


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turns errors into a message on stderr and an exit status."""
    try:
        try:
            yield
        finally:
            # Errors of buffered output occur here, and not at the exit of the interpreter.
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has ended (`| head`). Closing stdout avoids a second error at exit.
        _close_stdout()
        sys.exit(1)
    except Exception as error:
        if _is_of_stdout(error):
            _close_stdout()
            _report(f"cannot write the output: {error}\n  hint: free some space on its disk")
            sys.exit(1)
        status = _status(error)
        if status is None:
            raise
        _report(error)
        sys.exit(status)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """For commands that run experiments: adds a hint to the message after Ctrl-C that complete runs are kept."""
    with interrupts.hinted(GOES_ON):
        yield


def one_of(switches: Mapping[str, bool]) -> None:
    """Raises `WrongInput` unless exactly one of the switches is set."""
    if sum(switches.values()) != 1:
        given = [switch for switch, is_set in switches.items() if is_set]
        wrong = f"{' and '.join(given)} exclude each other" if given else f"{' or '.join(switches)} is missing"
        raise WrongInput(f"{wrong}\n  hint: give one of {', '.join(switches)}")


def not_both(switches: Mapping[str, bool]) -> None:
    """Raises `WrongInput` if more than one of the switches is set."""
    given = [switch for switch, is_set in switches.items() if is_set]
    if len(given) > 1:
        raise WrongInput(f"{' and '.join(given)} exclude each other\n  hint: leave out one of them")


def pairs(words: Sequence[str], option: str, example: str = "cc=bbr") -> dict[str, str]:
    """Parses `["cc=bbr"]` to `{"cc": "bbr"}`; raises `WrongInput` with an example."""
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise WrongInput(f"{option}: `{word}` is not a pair\n  hint: write {option} {example}")
        if key.strip() in found:
            raise WrongInput(f"{option}: `{key.strip()}` is given twice\n  hint: leave one of the values out")
        found[key.strip()] = value.strip()
    return found


def _report(error: object) -> None:
    # Imported here, because the console is slow to load.
    from tailback import plain
    from tailback.cli import console

    console.aside(plain.brief(str(error)))


def _is_of_stdout(error: Exception) -> bool:
    """Whether writing to stdout failed, for example because the disk is full; errors of files have a file name."""
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return isinstance(error, OSError) and error.filename is None and error.errno in full


def _close_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _status(error: Exception) -> int | None:
    """The exit status for `error`; `None` if it is a bug."""
    found = (STATUS.get(f"{kind.__module__}.{kind.__qualname__}") for kind in type(error).__mro__)
    return next((status for status in found if status is not None), None)

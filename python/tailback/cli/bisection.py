"""`run --bisect`: the exit status for `git bisect run`, which takes 0 for a good commit, 125 for one that cannot be
tested, and every other status below 128 for a bad one.

A wrong file, a backend that is not there, a folder that cannot be written, a failed run and a defect of this program
say nothing about a commit. So once `--bisect` is on the command line, every end of the program is 125, unless the
conditions of the file were judged. Ctrl-C and signals keep their status of 128 and more, which ends the bisection.
"""

import contextlib
import sys
import traceback
from collections.abc import Iterator, Sequence

OPTION = "--bisect"
CANNOT_TELL = 125
ENDS_BISECTION = 128
"""From this status on, git ends the bisection."""


class _State:
    decided: int | None = None


def decide(status: int) -> None:
    """Sets the status of the program, whatever happens until its end."""
    _State.decided = status


@contextlib.contextmanager
def answered(words: Sequence[str]) -> Iterator[None]:
    """Turns the end of the program into an answer for git, if the command line asks for it."""
    if OPTION not in words:
        yield
        return
    _State.decided = None
    try:
        yield
    except SystemExit as ended:
        sys.exit(_status(ended.code))
    except Exception:
        traceback.print_exc()
    sys.exit(_status(None))


def _status(code: object) -> int:
    if _State.decided is not None:
        return _State.decided
    return code if isinstance(code, int) and code >= ENDS_BISECTION else CANNOT_TELL

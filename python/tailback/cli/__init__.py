"""The command line: reads arguments, calls the packages below, prints their results. It has no logic of its own.

Exit status: 0 success; 1 a run failed, or results cannot be written; 2 the input is wrong; 130 interrupted. `run
--bisect` has those of `git bisect run` (`bisection`).
"""

import sys

from tailback.cli import arithmetic, bisection, garbage, interrupts, plugins, streams

__all__ = ["main"]


def main() -> None:
    """Runs the command line and exits with its status."""
    # First, because what is opened before might get the number of a closed stream.
    streams.ready()
    interrupts.arm()
    garbage.search_rarely()
    arithmetic.use_one_thread()
    plugins.look_for_none()
    # Also here, because a commit may lack what the command line imports.
    with bisection.answered(sys.argv), interrupts.handled():
        # Imported here, so that Ctrl-C is handled from the beginning.
        from tailback.cli import app

        app.main()

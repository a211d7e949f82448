"""The command line: reads arguments, calls the packages below, prints their results. It has no logic of its own.

Exit status: 0 done; 1 a run failed, or the results cannot be written; 2 the input is wrong; 130 interrupted.
"""

from tailback.cli import interrupts

__all__ = ["main"]


def main() -> None:
    """Runs the command line and exits with its status."""
    interrupts.arm()
    with interrupts.told():
        # Here, for it takes a moment, and Ctrl-C is heard from the first one on.
        from tailback.cli import app

        app.main()

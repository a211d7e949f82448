"""The command line: reads words, calls the rooms, prints what they give back. It decides nothing itself.

Exit status: 0 done; 1 a run failed, or the results cannot be written; 2 the input is wrong; 130 interrupted.
"""

from tailback.cli.app import main

__all__ = ["main"]

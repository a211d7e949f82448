"""The Python side of each queue discipline: its options for `tc`, what `tc` shows of it, what kernels support.

A discipline is one file of this folder and one row in `registry.py`; its algorithm is one file in `crates/qdisc`. All
that needs to know a discipline by its kind asks the registry: reading of experiment files, the commands for a kernel,
the disciplines in a result. A kind that is not there is an error.
"""

from tailback.qdiscs.discipline import Discipline, InKernel, Settings, Shown
from tailback.qdiscs.registry import KINDS, NotListed, of, shown, words_of

__all__ = ["KINDS", "Discipline", "InKernel", "NotListed", "Settings", "Shown", "of", "shown", "words_of"]

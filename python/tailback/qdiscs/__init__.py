"""The Python side of each queue discipline: its syntax in `tc`, its output in `tc -s -j`, its support in kernels.

A discipline has one file in this folder and its name in `registry.py`; its algorithm is one file in `crates/qdisc`. All
code that depends on the kind of a discipline uses the registry: reading of experiment files, commands for a kernel,
display of results. A kind that is not there is an error.
"""

from tailback.qdiscs.discipline import Discipline, InKernel, Settings, Shown
from tailback.qdiscs.registry import KINDS, NotListed, of, shown, words_of
from tailback.qdiscs.syntax import syntax

__all__ = ["KINDS", "Discipline", "InKernel", "NotListed", "Settings", "Shown", "of", "shown", "syntax", "words_of"]

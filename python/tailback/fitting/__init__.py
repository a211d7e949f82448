"""Checks whether an experiment can run here: on its backend, and in the memory of this machine.

This package does not import pandas, so that `tailback check` starts quickly.
"""

from tailback.fitting.jobs import cores, runs_at_once, side_by_side, too_many_flows
from tailback.fitting.memory import available, room, within
from tailback.fitting.suitable import check, check_all, code_in, programs_in

__all__ = [
    "available",
    "check",
    "check_all",
    "code_in",
    "cores",
    "programs_in",
    "room",
    "runs_at_once",
    "side_by_side",
    "too_many_flows",
    "within",
]

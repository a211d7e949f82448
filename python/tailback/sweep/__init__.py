"""From an experiment to its results: which runs there are, and running them side by side."""

from tailback.sweep.local import Outcome, Sweep, Watch, run_all
from tailback.sweep.plan import plan_of
from tailback.sweep.session import Carried, Request, carry_out, check, report

__all__ = ["Carried", "Outcome", "Request", "Sweep", "Watch", "carry_out", "check", "plan_of", "report", "run_all"]

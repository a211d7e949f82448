"""Runs an experiment: lists its runs and executes them in parallel, here or on a cluster."""

from tailback.sweep.document import report_of
from tailback.sweep.expectations import Judgement, Verdict, expected, judgement, samples, verdicts
from tailback.sweep.local import Audience, Listener, Outcome, Silent, Sweep, Watch, run_all
from tailback.sweep.plan import plan_of
from tailback.sweep.preview import Planned, Preview
from tailback.sweep.session import Request, SweepResult, folders_for, look_ahead, run_experiment, simulate
from tailback.sweep.work import LocalExecutor, SweepEnded, Worker

__all__ = [
    "Audience",
    "Judgement",
    "Listener",
    "LocalExecutor",
    "Outcome",
    "Planned",
    "Preview",
    "Request",
    "Silent",
    "Sweep",
    "SweepEnded",
    "SweepResult",
    "Verdict",
    "Watch",
    "Worker",
    "expected",
    "folders_for",
    "judgement",
    "look_ahead",
    "plan_of",
    "report_of",
    "run_all",
    "run_experiment",
    "samples",
    "simulate",
    "verdicts",
]

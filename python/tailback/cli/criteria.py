"""Reads tolerances and thresholds from the command line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tailback.analysis import choosing, divergence
from tailback.analysis.differences import of_columns
from tailback.analysis.tolerances import FIDELITY, NONE, Tolerance, tolerances
from tailback.cli import failures
from tailback.validation import Criteria


def of_comparison(words: Sequence[str], threshold: str | None, columns: str | None) -> Criteria:
    """The criteria of `compare`: only metrics with a tolerance in `words` are judged. `columns` names the numbers."""
    metrics = None if columns is None else of_columns(choosing.named(columns))
    return replace(_criteria(words, threshold, NONE), metrics=metrics)


def of_validation(words: Sequence[str], threshold: str | None) -> Criteria:
    """The criteria of `validate`: the default tolerances, changed by `words`."""
    return _criteria(words, threshold, FIDELITY)


def _criteria(words: Sequence[str], threshold: str | None, defaults: Mapping[str, Tolerance]) -> Criteria:
    given = failures.pairs(words, "--tolerance", "goodput=3%")
    return Criteria(tolerances(given, defaults), None if threshold is None else _threshold(threshold))


def _threshold(words: str) -> divergence.Threshold:
    """A fraction of the reference, with the slack of samples at intervals; `0%` means any difference."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%", words)
    if match is None:
        raise failures.WrongInput(f"--divergence: `{words}` is not a percentage\n  hint: write --divergence 10%")
    share = float(match[1]) / 100
    return divergence.AT_EACH_ACK if share == 0 else divergence.Threshold(share, divergence.SLACK)

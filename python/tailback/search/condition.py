"""The condition of a search: comparisons of measures (`assess.measures`), `jain < 0.3 and ping_ms.p99 > 200`.

A condition may also name what has samples (`analysis.overtime`): columns of `tcp_info` (`bbr_bw`, `snd_cwnd`), phases
of BBR, and `rate`, the smallest rate of a link at that time. Then it is about each sample, and holds if it does for
long enough (`--for`).

The score of a comparison says how far it is from holding: (left - right) / (|left| + |right|) of `left > right`. Of a
condition over time it is that of the sample without which it would not hold for long enough. It holds above zero.
"""

import ast
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis import overtime
from tailback.assess import measures
from tailback.assess.errors import WrongSuite
from tailback.search.errors import WrongSearch

if TYPE_CHECKING:
    from tailback.results import RunResult

Values = npt.NDArray[np.float64]

UNKNOWN = -2.0
"""The score of a run that lacks a number of the condition: worse than that of any run that has it."""

HINT = 'write `--find "bbr_bw > 3 * rate"` or `--find "goodput(\\"two\\") / goodput_mbps.total < 0.05"`'


class Comparison(Struct, frozen=True):
    """`left > right`, as expressions."""

    left: str
    right: str

    @property
    def over_time(self) -> bool:
        """Whether it is about samples."""
        named = bool({*_names(self.left), *_names(self.right)} & {*overtime.NAMES})
        return named and not any(overtime.is_over_time(side) for side in (self.left, self.right))


class Condition(Struct, frozen=True):
    """Comparisons that all hold, for how long in seconds."""

    text: str
    parts: Sequence[Comparison]
    for_s: float = 0.0

    def score(self, run: "RunResult") -> float:
        """How far a run is from meeting it: above zero if it does."""
        return min(self._of(part, run) for part in self.parts)

    def _of(self, part: Comparison, run: "RunResult") -> float:
        if not part.over_time:
            left, right = (
                measures.number(each, run.summary, lambda: _samples(run)) for each in (part.left, part.right)
            )
            return UNKNOWN if left is None or right is None else float(_gap(np.array([left]), np.array([right]))[0])
        found = _samples(run)
        times = found.times
        gaps = np.sort(_gap(*(overtime.along(each, found) for each in (part.left, part.right))))[::-1]
        gaps = gaps[~np.isnan(gaps)]
        interval = float(np.median(np.diff(np.unique(times)))) if len(times) > 1 else 1.0
        needed = max(1, math.ceil(self.for_s / interval))
        return float(gaps[needed - 1]) if len(gaps) >= needed else UNKNOWN


def condition(text: str, for_s: float = 0.0) -> Condition:
    """Reads a condition; raises `WrongSearch`."""
    try:
        tree = measures.parsed(text)
    except WrongSuite as error:
        raise WrongSearch(str(error)) from None
    nodes = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    return Condition(text, [_comparison(node, text) for node in nodes], for_s)


def _comparison(node: ast.expr, text: str) -> Comparison:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Gt | ast.Lt):
        raise WrongSearch(f"`{text}` is not a comparison by `<` or `>`, or several joined by `and`\n  hint: {HINT}")
    left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
    try:
        for side in (left, right):
            measures.check(side)
    except WrongSuite as error:
        raise WrongSearch(str(error)) from None
    found = Comparison(left, right) if isinstance(node.ops[0], ast.Gt) else Comparison(right, left)
    if found.over_time:
        _check(found)
    return found


def _check(found: Comparison) -> None:
    """Raises `WrongSearch` if a comparison over time has something that is not known over time."""
    try:
        for side in (found.left, found.right):
            overtime.along(side, overtime.NONE)
    except overtime.WrongExpression as error:
        raise WrongSearch(str(error)) from None


def _samples(run: "RunResult") -> overtime.Samples:
    return overtime.Samples(run.table("tcp_info"), run.scenario.links)


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(measures.parsed(text)) if isinstance(node, ast.Name)}


def _gap(left: Values, right: Values) -> Values:
    size = np.abs(left) + np.abs(right)
    gap: Values = np.divide(left - right, size, out=np.zeros_like(size), where=size > 0)
    return gap

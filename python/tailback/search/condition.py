"""The condition of a search: comparisons of measures (`assess.measures`), `jain < 0.3 and ping_ms.p99 > 200`.

A condition may also name columns of `tcp_info` (`bbr_bw`, `snd_cwnd`) and `rate`, the smallest rate of a link at that
time. Then it is about each sample, and holds if it does for long enough (`--for`). Rates are in Mbit/s, times in ms.

The score of a comparison says how far it is from holding: (left - right) / (|left| + |right|) of `left > right`. Of a
condition over time it is that of the sample without which it would not hold for long enough. It holds above zero.
"""

import ast
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.assess import measures
from tailback.assess.errors import WrongSuite
from tailback.search.errors import WrongSearch

if TYPE_CHECKING:
    from tailback.results import RunResult

Values = npt.NDArray[np.float64]

MBITS, MILLISECONDS = 8e-6, 1e-3
SCALES: Mapping[str, float] = {
    **dict.fromkeys(("bbr_bw", "pacing_rate", "delivery_rate"), MBITS),
    **dict.fromkeys(("rtt", "min_rtt", "bbr_min_rtt", "rto"), MILLISECONDS),
    **dict.fromkeys(("snd_cwnd", "snd_ssthresh", "unacked", "lost", "bbr_pacing_gain", "bbr_cwnd_gain"), 1.0),
}
"""Columns of `tcp_info`, and the factors of their units."""

RATE = "rate"
UNKNOWN = -1.0
"""The score of a run that lacks a number of the condition."""

HINT = 'write `--find "bbr_bw > 3 * rate"` or `--find "goodput(\\"two\\") / goodput_mbps.total < 0.05"`'


class Comparison(Struct, frozen=True):
    """`left > right`, as expressions."""

    left: str
    right: str

    @property
    def over_time(self) -> bool:
        """Whether it is about samples."""
        return bool({*_names(self.left), *_names(self.right)} & {*SCALES, RATE})


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
            left, right = (measures.number(each, run.summary) for each in (part.left, part.right))
            return UNKNOWN if left is None or right is None else float(_gap(np.array([left]), np.array([right]))[0])
        times, series = _series(run)
        found = [_along(each, series) for each in (part.left, part.right)]
        gaps = np.sort(_gap(*np.broadcast_arrays(*found)))[::-1]
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
    return Comparison(left, right) if isinstance(node.ops[0], ast.Gt) else Comparison(right, left)


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(measures.parsed(text)) if isinstance(node, ast.Name)}


def _gap(left: Values, right: Values) -> Values:
    size = np.abs(left) + np.abs(right)
    gap: Values = np.divide(left - right, size, out=np.zeros_like(size), where=size > 0)
    return gap


def _series(run: "RunResult") -> tuple[Values, Mapping[str, Values]]:
    """The samples of all flows that have these columns, with the smallest rate of a link at their times."""
    table = run.table("tcp_info")
    times = table["t"].to_numpy(np.float64)
    found = {
        name: table[name].to_numpy(np.float64, na_value=np.nan) * factor
        for name, factor in SCALES.items() if name in table
    }  # fmt: skip
    return times, {**found, RATE: _rates(run, times)}


def _rates(run: "RunResult", times: Values) -> Values:
    """The smallest rate of a link at these times, in Mbit/s."""
    least = np.full(len(times), np.inf)
    for link in run.scenario.links:
        for way in (0, 1):
            least = np.minimum(least, _rate_of(link, way, times))
    return np.where(np.isinf(least), np.nan, least / 1e6)


def _rate_of(link: Any, way: int, times: Values) -> Values:
    rates = np.full(len(times), link.rate_bps[way] or np.inf, dtype=np.float64)
    for change in link.changes(way):
        if change.rate_bps is not None:
            rates[times >= change.at_ns / 1e9] = change.rate_bps
    return rates


def _along(text: str, series: Mapping[str, Values]) -> Values:
    found: Values = _Along(series).visit(measures.parsed(text))
    return found


class _Along(ast.NodeVisitor):
    """Arithmetic over series."""

    def __init__(self, series: Mapping[str, Values]) -> None:
        self._series = series

    def visit_Name(self, node: ast.Name) -> Values:
        if node.id not in self._series:
            known = ", ".join(self._series)
            raise WrongSearch(f"`{node.id}` is not known over time\n  hint: a condition over time may name {known}")
        return self._series[node.id]

    def visit_Constant(self, node: ast.Constant) -> Values:
        return np.array([float(str(node.value))])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Values:
        operand: Values = self.visit(node.operand)
        return -operand

    def visit_BinOp(self, node: ast.BinOp) -> Values:
        left, right = self.visit(node.left), self.visit(node.right)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Values = _OPERATIONS[type(node.op)](left, right)
        return found

    def generic_visit(self, node: ast.AST) -> Values:
        raise WrongSearch(f"`{ast.unparse(node)}` is not arithmetic over time\n  hint: use + - * / and numbers")


_OPERATIONS: Mapping[type[ast.operator], Any] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
}  # fmt: skip

"""Numbers of a run from the samples of its sending sockets: arithmetic over columns of `tcp_info` and over time.

    highest(bbr_bw / rate, t > 20)          the largest estimate relative to the link, from 20 s on
    last(startup)                           when a sample was last in STARTUP
    share(rtt < 50, flow("bulk"))           of the samples of the flow `bulk`, or `bulk.1`, `bulk.2` …
    longest(rise(delivered) < 1)            the longest time without a delivery: `rise` is over the sample before

`t` is the time of the run in s, `age` that of the flow, and `rate` the smallest rate of a link at that time in Mbit/s.
Rates are in Mbit/s, times in ms. A condition is a comparison, several joined by `and`, `or`, `not`, or a phase of BBR,
which follows from its gains. A sample without a number meets no condition, and a run none of whose samples has
one lacks the number: one without BBR has no phases.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tailback.analysis.table import Columns, Table
from tailback.resolved import Link

Values = npt.NDArray[np.float64]
Chosen = npt.NDArray[np.bool_]

MBITS, MILLISECONDS = 8e-6, 1e-3
SCALES: Mapping[str, float] = {
    **dict.fromkeys(("bbr_bw", "pacing_rate", "delivery_rate"), MBITS),
    **dict.fromkeys(("rtt", "min_rtt", "bbr_min_rtt", "rto"), MILLISECONDS),
    **dict.fromkeys(("snd_cwnd", "snd_ssthresh", "unacked", "lost", "bbr_pacing_gain", "bbr_cwnd_gain"), 1.0),
    **dict.fromkeys(("total_retrans", "delivered"), 1.0),
}
"""Columns of `tcp_info`, and the factors of their units."""

PHASES: Mapping[str, Callable[[Values, Values], Chosen]] = {
    "startup": lambda pacing, _: pacing > 2,
    "drain": lambda pacing, _: pacing < 0.6,
    "probe_rtt": lambda pacing, cwnd: (pacing >= 0.6) & (pacing <= 1.05) & (cwnd <= 1),
    "up": lambda pacing, _: (pacing > 1.05) & (pacing <= 2),
    "down": lambda pacing, _: (pacing >= 0.6) & (pacing < 0.95),
    "cruise": lambda pacing, cwnd: (pacing >= 0.95) & (pacing <= 1.05) & (cwnd > 1),
}
"""The phases of BBR by its pacing gain and its cwnd gain. REFILL has those of CRUISE."""

RATE, TIME, AGE = "rate", "t", "age"
NAMES = (*SCALES, *PHASES, RATE, TIME, AGE)
"""What an expression over time may name."""

HINT = f"write arithmetic over {', '.join(NAMES[:4])} …: highest(bbr_bw / rate, t > 20)"


class WrongExpression(ValueError):
    """The text is no expression over time; the message gives the remedy."""


class Samples:
    """The samples of the sending sockets of a run: a value each of every name."""

    def __init__(self, columns: Columns, links: Sequence[Link]) -> None:
        table = Table.of(columns)
        times, words = table.numbers("t"), table.words("flow")
        order = np.lexsort((times, words.codes))
        self.times, self._codes, self._known = times[order], words.codes[order], words.known
        self.values: dict[str, Values] = {
            name: table.numbers(name)[order] * factor for name, factor in SCALES.items() if name in table
        }
        self.values |= {TIME: self.times, AGE: self._ages(), RATE: rates(links, self.times)}
        gains = [self.values.get(f"bbr_{which}_gain", np.full(len(times), np.nan)) for which in ("pacing", "cwnd")]
        unknown = np.isnan(gains[0]) | np.isnan(gains[1])
        with np.errstate(invalid="ignore"):
            self.values |= {name: np.where(unknown, np.nan, phase(*gains)) for name, phase in PHASES.items()}

    @property
    def begins(self) -> Chosen:
        """The first sample of each flow."""
        first = np.ones(len(self._codes), dtype=np.bool_)
        first[1:] = self._codes[1:] != self._codes[:-1]
        return first

    def _ages(self) -> Values:
        starts = np.maximum.accumulate(np.where(self.begins, np.arange(len(self.times)), 0))
        ages: Values = self.times - self.times[starts] if len(starts) else self.times
        return ages

    @property
    def lasts(self) -> Values:
        """For how long each sample holds: until the next one of its flow."""
        found = np.zeros(len(self.times))
        if len(found) > 1:
            found[:-1] = np.where(self.begins[1:], 0.0, np.diff(self.times))
        return found

    def rise(self, values: Values) -> Values:
        """By how much each value exceeds that of the sample before of its flow; NaN for the first."""
        found = np.full(len(self.times), np.nan)
        if len(found) > 1:
            found[1:] = np.where(self.begins[1:], np.nan, np.diff(values))
        return found

    def of(self, name: str) -> Chosen:
        """Those of the flows of an entry: `bulk` is `bulk` and `bulk.1`, `bulk.2` …"""
        known = np.array([flow == name or flow.startswith(f"{name}.") for flow in self._known], dtype=np.bool_)
        found: Chosen = known[self._codes] if len(known) else np.zeros(len(self._codes), dtype=np.bool_)
        return found


def rates(links: Sequence[Link], times: Values) -> Values:
    """The smallest rate of a link at these times, in Mbit/s."""
    least = np.full(len(times), np.inf)
    for link in links:
        for way in (0, 1):
            least = np.minimum(least, _rate_of(link, way, times))
    return np.where(np.isinf(least), np.nan, least / 1e6)


def _rate_of(link: Link, way: int, times: Values) -> Values:
    policer = link.police[way]
    found = np.full(len(times), link.rate_bps[way] or np.inf, dtype=np.float64)
    for change in link.changes(way):
        if change.rate_bps is not None:
            found[times >= change.at_ns / 1e9] = change.rate_bps
    return found if policer is None else np.minimum(found, policer.rate_bps)


# -- what is worked out of all samples


def _highest(_: Samples, values: Values) -> float | None:
    return float(values.max()) if len(values) else None


def _lowest(_: Samples, values: Values) -> float | None:
    return float(values.min()) if len(values) else None


def _middle(_: Samples, values: Values) -> float | None:
    return float(np.median(values)) if len(values) else None


def _mean(_: Samples, values: Values) -> float | None:
    return float(values.mean()) if len(values) else None


OF_VALUES: Mapping[str, Callable[[Samples, Values], float | None]] = {
    "highest": _highest, "lowest": _lowest, "middle": _middle, "mean": _mean,
}  # fmt: skip
"""Functions of the values of samples, by default of all that have a number; a second argument is a condition on
them."""


def _share(_: Samples, meets: Chosen, among: Chosen) -> float | None:
    return float(meets[among].mean()) if among.any() else None


def _total(found: Samples, meets: Chosen, among: Chosen) -> float | None:
    return float(found.lasts[meets & among].sum())


def _longest(found: Samples, meets: Chosen, among: Chosen) -> float | None:
    inside = meets & among
    breaks = np.cumsum(~inside | found.begins)
    lengths = np.bincount(breaks[inside], weights=found.lasts[inside]) if inside.any() else np.zeros(1)
    return float(lengths.max())


def _first(found: Samples, meets: Chosen, among: Chosen) -> float | None:
    inside = found.times[meets & among]
    return float(inside.min()) if len(inside) else None


def _last(found: Samples, meets: Chosen, among: Chosen) -> float | None:
    inside = found.times[meets & among]
    return float(inside.max()) if len(inside) else None


def _times(found: Samples, meets: Chosen, among: Chosen) -> float | None:
    inside = meets & among
    before = np.concatenate([[False], inside[:-1]]) & ~found.begins
    return float((inside & ~before).sum())


OF_CONDITIONS: Mapping[str, Callable[[Samples, Chosen, Chosen], float | None]] = {
    "share": _share, "total": _total, "longest": _longest, "first": _first, "last": _last, "times": _times,
}  # fmt: skip
"""Of a condition: the share of samples that meet it, for how long they do in s, altogether or at a stretch, when in s,
and how often it begins to hold. A second argument says among which samples."""

FUNCTIONS = (*OF_VALUES, *OF_CONDITIONS)
FLOW, RISE = "flow", "rise"


def parsed(text: str) -> ast.expr:
    """The syntax tree of an expression."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise WrongExpression(f"`{text}` is not an expression\n  hint: {HINT}") from None


def is_over_time(text: str) -> bool:
    """Whether a text is an expression with a function of samples."""
    try:
        return any(is_function(node) for node in ast.walk(parsed(text)))
    except WrongExpression:
        return False


def is_function(node: ast.AST) -> bool:
    """Whether a node is a call of a function of samples."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS


def check(text: str) -> None:
    """Raises `WrongExpression` if a text is none."""
    _number(_Checked(NONE), parsed(text), text)


def number(text: str, found: Samples) -> float | None:
    """The value of an expression; `None` if the run lacks a number of it."""
    return number_of(parsed(text), text, found)


def number_of(node: ast.expr, text: str, found: Samples) -> float | None:
    """The value of a part of an expression."""
    return _number(_Value(found), node, text)


def _number(values: "_Value", node: ast.expr, text: str) -> float | None:
    try:
        value = values.visit(node)
    except _Unknown:
        return None
    except RecursionError:
        raise WrongExpression(f"`{text[:60]}` is nested too deeply\n  hint: {HINT}") from None
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    raise WrongExpression(f"`{text}` has a value for each sample\n  hint: say which: {', '.join(FUNCTIONS)}")


def along(text: str, found: Samples) -> Values:
    """The value of an expression for each sample."""
    value = _Value(found).visit(parsed(text))
    return np.full(len(found.times), value) if isinstance(value, float) else np.asarray(value, dtype=np.float64)


class _Unknown(Exception):
    """The run does not have a number."""


class _Value(ast.NodeVisitor):
    """Works out an expression: an array for each sample, or a number."""

    def __init__(self, found: Samples) -> None:
        self._found = found

    def visit_Name(self, node: ast.Name) -> Values:
        if node.id not in NAMES:
            raise WrongExpression(f"`{node.id}` is not known over time\n  hint: use {', '.join(NAMES)}")
        return self._found.values.get(node.id, np.full(len(self._found.times), np.nan))

    def visit_Constant(self, node: ast.Constant) -> float:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            self.generic_visit(node)
        return float(str(node.value))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return 1.0 - self._truth(node.operand)
        value = self.visit(node.operand)
        return -value if isinstance(node.op, ast.USub) else value

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        operation = _OPERATIONS.get(type(node.op))
        if operation is None:
            self.generic_visit(node)
        with np.errstate(all="ignore"):
            found = operation(np.asarray(self.visit(node.left)), np.asarray(self.visit(node.right)))  # type: ignore[misc]
        return float(found) if np.ndim(found) == 0 else found

    def visit_Compare(self, node: ast.Compare) -> Values:
        sides = [np.asarray(self.visit(side)) for side in (node.left, *node.comparators)]
        meets = np.ones(len(self._found.times))
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if type(op) not in _COMPARISONS:
                self.generic_visit(node)
            with np.errstate(invalid="ignore"):
                holds = _COMPARISONS[type(op)](left, right)
            meets = np.minimum(meets, np.where(np.isnan(left) | np.isnan(right), np.nan, holds))
        return meets

    def visit_BoolOp(self, node: ast.BoolOp) -> Values:
        every = np.array([self._truth(value) for value in node.values])
        joined, decides = (np.min, 0.0) if isinstance(node.op, ast.And) else (np.max, 1.0)
        # What decides does so whatever the others are, also if these are unknown.
        return np.where((every == decides).any(axis=0), decides, joined(every, axis=0))

    def visit_Call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == FLOW and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            return self._found.of(str(node.args[0].value)).astype(np.float64)
        if name == RISE and len(node.args) == 1:
            return self._found.rise(np.broadcast_to(self.visit(node.args[0]), self._found.times.shape))
        if name not in FUNCTIONS or not 1 <= len(node.args) <= 2 or node.keywords:
            self.generic_visit(node)
        among = np.ones(len(self._found.times), dtype=np.bool_)
        if len(node.args) == 2:
            known = self._truth(node.args[1])
            if len(known) and np.isnan(known).all():
                raise _Unknown
            among = known == 1
        found = self._worked_out(name, node.args[0], among)
        if found is None:
            raise _Unknown
        return found

    def _worked_out(self, name: str, what: ast.expr, among: Chosen) -> float | None:
        if name in OF_CONDITIONS:
            truth = self._truth(what)
            if len(truth) and np.isnan(truth).all():
                return None
            return OF_CONDITIONS[name](self._found, truth == 1, among)
        values = np.broadcast_to(self.visit(what), among.shape)
        return OF_VALUES[name](self._found, values[among & ~np.isnan(values)])

    def _truth(self, node: ast.expr) -> Values:
        """Where a condition holds, as 0 and 1; NaN where it is unknown."""
        value = np.broadcast_to(self.visit(node), self._found.times.shape)
        return np.where(np.isnan(value), np.nan, value != 0)

    def generic_visit(self, node: ast.AST) -> Any:
        raise WrongExpression(
            f"`{ast.unparse(node)}` is not arithmetic over time\n  hint: use + - * /, comparisons, and, or, not, and "
            f"{', '.join(FUNCTIONS)}"
        )


class _Checked(_Value):
    """Works out an expression of no samples, each of whose functions has a value."""

    def _worked_out(self, name: str, what: ast.expr, among: Chosen) -> float | None:
        super()._worked_out(name, what, among)
        return 1.0


_OPERATIONS: Mapping[type[ast.operator], Any] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.cmpop], Any] = {
    ast.Lt: np.less, ast.Gt: np.greater, ast.LtE: np.less_equal, ast.GtE: np.greater_equal,
}  # fmt: skip

NONE = Samples({"t": [], "flow": []}, ())
"""No samples, of which expressions are worked out to check them."""

"""The language of measures: arithmetic over the numbers of a run's summary.

    ping_ms.p99 - ping_ms.min
    goodput("other") / goodput("test", "other")

A name is a path in `summary.json`; a name with other letters is an element: `utilisation["router -> server"]`. The
functions are below, those of samples (`analysis.overtime`), and `abs`, `min`, `max`, `sum`. Nothing is executed
(`limits.expressions`).
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tailback.analysis import overtime
from tailback.assess.errors import WrongSuite
from tailback.limits import Allowance, Expressions, OperationRefused

Found = TypeVar("Found")
Summary = Mapping[str, Any]
Samples = Callable[[], overtime.Samples]
"""Reads the samples of the run."""

HINT = 'write arithmetic over paths in `summary.json`: ping_ms.p99, goodput("test") / goodput("other")'


class _Unknown(Exception):
    """The run does not have a number."""


class _Wrong(Exception):
    """The text is not a measure."""


def number(measure: str, summary: Summary, samples: Samples | None = None) -> float | None:
    """The value of a measure in a run; `None` if the run lacks a number of it. `samples` are read if it needs them."""
    try:
        value = _Measure(summary, samples).value(parsed(measure))
    except _Unknown:
        return None
    except _Wrong as wrong:
        raise WrongSuite(f"`{measure}`: {wrong}\n  hint: {HINT}") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongSuite(f"`{measure}` is no number but {type(value).__name__}\n  hint: {HINT}")
    return float(value) if math.isfinite(value) else None


def check(measure: str) -> None:
    """Raises `WrongSuite` if a text is not an expression with known functions."""
    _check(parsed(measure), measure)


def _check(node: ast.AST, measure: str) -> None:
    if overtime.is_function(node):
        try:
            overtime.check(ast.unparse(node))
        except overtime.WrongExpression as error:
            raise WrongSuite(f"`{measure}`: {error}") from None
        return
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _CALLS):
        known = ", ".join((*_CALLS, *overtime.FUNCTIONS))
        raise WrongSuite(f"`{measure}`: there is no such function\n  hint: use {known}")
    for child in ast.iter_child_nodes(node):
        _check(child, measure)


def parsed(measure: str) -> ast.expr:
    """The syntax tree of a measure; raises `WrongSuite`."""
    try:
        return ast.parse(measure.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise WrongSuite(f"`{measure}` is not an expression\n  hint: {HINT}") from None


def _of(flows: Mapping[str, float], names: Sequence[str]) -> list[float]:
    """The values of the flows of these entries: `test` is `test` and `test.1`, `test.2` …"""
    found = [
        value for flow, value in flows.items() if any(flow == name or flow.startswith(f"{name}.") for name in names)
    ]
    if not found:
        raise _Unknown
    return found


def _goodput(flows: Mapping[str, float], *names: str) -> float:
    return sum(_of(flows, names))


def _least(flows: Mapping[str, float], *names: str) -> float:
    return min(_of(flows, names))


def _most(flows: Mapping[str, float], *names: str) -> float:
    return max(_of(flows, names))


def _jain(flows: Mapping[str, float], *names: str) -> float:
    values = _of(flows, names)
    squares = len(values) * sum(value * value for value in values)
    return sum(values) ** 2 / squares if squares else 0.0


FUNCTIONS: Mapping[str, Callable[..., float]] = {"goodput": _goodput, "least": _least, "most": _most, "jain": _jain}
"""Of the goodput of the flows of some entries of `traffic`: sum, smallest, largest, Jain's index."""

_OF_NUMBERS = ("abs", "max", "min", "sum")
_CALLS = (*FUNCTIONS, *_OF_NUMBERS)


class _Measure(Expressions):
    OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
    SIGNS = (ast.USub, ast.UAdd)

    def __init__(self, summary: Summary, samples: Samples | None) -> None:
        super().__init__(Allowance())
        self._summary, self._samples = summary, samples

    def paid(self, node: ast.AST, operation: Callable[[], Found]) -> Found:
        del node
        try:
            return operation()
        except (ZeroDivisionError, LookupError):
            raise _Unknown from None
        except (OperationRefused, ArithmeticError, TypeError, ValueError) as error:
            raise _Wrong(str(error)) from None

    def named(self, node: ast.Name | ast.Attribute) -> Any:
        if isinstance(node, ast.Name):
            return self._found(self._summary, node.id)
        return self._found(self.value(node.value), node.attr)

    def _found(self, whole: Any, key: str) -> Any:
        if not isinstance(whole, Mapping) or key not in whole:
            raise _Unknown
        return whole[key]

    def other(self, node: ast.expr) -> Any:
        if overtime.is_function(node):
            return self._over_time(node)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
            raise _Wrong("there is something other than numbers, paths, operators and functions")
        name, arguments = node.func.id, [self.value(each) for each in node.args]
        if name in FUNCTIONS:
            flows = self._found(self._summary, "goodput_mbps")["flows"]
            return self.paid(node, lambda: FUNCTIONS[name](flows, *map(str, arguments)))
        if name not in _OF_NUMBERS:
            raise _Wrong(f"there is no function `{name}`")
        return self.paid(node, lambda: self.allowance.call(name, arguments))

    def _over_time(self, node: ast.expr) -> float:
        """The value of a function of samples."""
        text = ast.unparse(node)
        try:
            value = None if self._samples is None else overtime.number_of(node, text, self._samples())
        except overtime.WrongExpression as error:
            raise _Wrong(str(error)) from None
        if value is None:
            raise _Unknown
        return value

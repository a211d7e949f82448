"""Evaluates Python's operators and functions on plain values of untrusted code, with limits on memory and time.

Drill scripts and TEACUP's configurations contain code, whose syntax tree is interpreted; this module does the
arithmetic. Values are None, booleans, numbers, strings, lists, tuples and dictionaries. Two limits apply. They do not
depend on a clock, so that a file is refused on every machine or on none:

    weight   size of a value: the 32-bit words of a number, the characters of a string, the total of the elements of a
             list. The weight of a result is estimated beforehand; no value above `WEIGHT_MAX` is created.
    work     each step costs one, each operation the weight of its operands and of its result. The code of one file
             may do `WORK_MAX`, which takes a few seconds on a machine of 2020.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

Value: TypeAlias = Any
"""None, a boolean, a number, a string, or a list, tuple or dictionary of them."""

WORK_MAX = 500_000
WEIGHT_MAX = 100_000
BITS_MAX = 4_096
"""Maximum number of bits of an integer."""
DEPTH_MAX = 50
"""Maximum nesting of lists."""
DIGITS_MAX = 4_000
"""Maximum number of characters of a string that is converted to a number, which takes quadratic time."""
PLACES_MAX = 999
"""Maximum number of digits to which a number is rounded."""
WIDTH_DIGITS_MAX = 3
"""Maximum number of digits of a width in a format string."""


class OperationRefused(Exception):
    """The operation is refused; the message is the subject of a sentence: `so large a number`."""


class Allowance:
    """The remaining work of the code of one file, and the operations that consume it.

    Operations raise `OperationRefused`, or the exceptions of Python: `ArithmeticError`, `TypeError`, `ValueError`,
    `LookupError`.
    """

    def __init__(self, work: int = WORK_MAX) -> None:
        self._left = work

    def spend(self, work: int) -> None:
        """Consumes work; raises `OperationRefused` if none is left."""
        self._left -= work
        if self._left < 0:
            raise OperationRefused("so long a computation")

    def charged(self, value: Value) -> Value:
        """Returns `value` if its type is allowed and its weight within the limit."""
        self.spend(weight(value))
        return value

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        """`left op right`."""
        self.spend(weight(left) + weight(right))
        if isinstance(op, ast.Mod) and isinstance(left, str):
            return self._formatted(left, right)
        function = _BINARY.get(type(op))
        if function is None:
            raise OperationRefused(f"`{type(op).__name__}` in code")
        _refuse_growth(op, left, right)
        return self.charged(function(left, right))

    def unary(self, op: ast.unaryop, operand: Value) -> Value:
        """`op operand`."""
        return self.charged(_UNARY[type(op)](operand))

    def compare(self, op: ast.cmpop, left: Value, right: Value) -> bool:
        """`left op right`, for instance `left in right`."""
        self.spend(weight(left) + weight(right))
        return bool(_COMPARISONS[type(op)](left, right))

    def element(self, whole: Value, index: Value) -> Value:
        """`whole[index]`."""
        # Looking up a key hashes all of it.
        self.spend(weight(index))
        return self.charged(whole[index])

    def items(self, whole: Value) -> list[Value]:
        """The elements of a list, a tuple or a string; raises `TypeError` for anything else."""
        if not isinstance(whole, list | tuple | str):
            raise TypeError("it has no items")
        self.spend(len(whole))
        return list(whole)

    def dictionary(self, pairs: Iterable[tuple[Value, Value]]) -> Value:
        """A dictionary of keys and values; raises `TypeError` if a key is a list."""
        kept = list(pairs)
        self.spend(sum(weight(key) for key, _ in kept))
        return self.charged(dict(kept))

    def joined(self, glue: str, parts: Iterable[str]) -> str:
        """`glue.join(parts)`."""
        texts = list(parts)
        _bound(sum(map(len, texts)) + len(glue) * len(texts))
        text: str = self.charged(glue.join(texts))
        return text

    def call(self, name: str, arguments: list[Value]) -> Value:
        """`name(*arguments)`; `name` is one of `FUNCTIONS`."""
        # Sorting 100,000 elements takes about 17 comparisons per element.
        self.spend(sum(map(weight, arguments)) * (17 if name == "sorted" else 1))
        return self.charged(FUNCTIONS[name](*arguments))

    def _formatted(self, template: str, values: Value) -> str:
        parts = values if isinstance(values, tuple) else (values,)
        widths = [word for place in re.finditer(_PLACE, template) for word in place.groups() if word]
        if isinstance(values, dict) or any(word == "*" or len(word) > WIDTH_DIGITS_MAX for word in widths):
            raise OperationRefused("such a width in a format")
        _bound(len(template) + sum(map(_text_length, parts)) + sum(map(int, widths)))
        text: str = self.charged(template % values)
        return text


def weight(value: Value) -> int:
    """The weight of `value`; raises `OperationRefused` above `WEIGHT_MAX`, for other types and for deep nesting."""
    return WEIGHT_MAX - _room_beside(value, WEIGHT_MAX, 0)


def _room_beside(value: Value, room: int, depth: int) -> int:
    """Returns `room` minus the weight of `value`. Stops as soon as it is negative, because nested lists can contain the
    same list a billion times.
    """
    if depth > DEPTH_MAX:
        raise OperationRefused("so deeply nested a value")
    room -= _own_weight(value)
    if room < 0:
        raise OperationRefused("so large a value")
    if isinstance(value, list | tuple):
        for each in value:
            room = _room_beside(each, room, depth + 1)
    elif isinstance(value, dict):
        for key, each in value.items():
            room = _room_beside(each, _room_beside(key, room, depth + 1), depth + 1)
    return room


def _own_weight(value: Value) -> int:
    """The weight without that of the elements."""
    if isinstance(value, int):
        if value.bit_length() > BITS_MAX:
            raise OperationRefused("so large a number")
        return 1 + value.bit_length() // 32
    if isinstance(value, str):
        return 1 + len(value)
    if value is None or isinstance(value, float | list | tuple | dict):
        return 1
    raise OperationRefused(f"a value that is a {type(value).__name__}")


def _bound(weight_: int) -> None:
    if weight_ > WEIGHT_MAX:
        raise OperationRefused("so large a value")


def _refuse_growth(op: ast.operator, left: Value, right: Value) -> None:
    """Raises `OperationRefused` if the result would be too large. The operands are within the limits."""
    if isinstance(op, ast.Mult):
        for whole, count in ((left, right), (right, left)):
            if isinstance(whole, str | list | tuple) and isinstance(count, int):
                _bound(weight(whole) * max(count, 0))
    elif isinstance(op, ast.Add) and isinstance(left, str | list | tuple):
        _bound(weight(left) + weight(right))
    elif isinstance(left, int) and isinstance(right, int):
        grown = 0
        if isinstance(op, ast.LShift):
            grown = right
        elif isinstance(op, ast.Pow):
            grown = left.bit_length() * abs(right)
        if grown > BITS_MAX:
            raise OperationRefused("so large a number")


_PLACE = r"%[-+ #0]*(\*|[0-9]*)(?:\.(\*|[0-9]*))?"
"""A conversion of a format string: its width and its precision."""


def _text_length(value: Value) -> int:
    """An upper bound on the lengths of `str(value)`, `repr(value)` and `'%f' % value`."""
    if isinstance(value, str):
        # `repr` may write one character as `\U0001f600`.
        return 2 + len(value) * (1 if value.isascii() and value.isprintable() and not set("'\\") & set(value) else 10)
    if isinstance(value, int):
        return 6 + value.bit_length() // 3
    if isinstance(value, float):
        return 330
    if isinstance(value, list | tuple):
        return 3 + sum(_text_length(each) + 2 for each in value)
    if isinstance(value, dict):
        return 2 + sum(_text_length(key) + _text_length(each) + 4 for key, each in value.items())
    return 5


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    return _value_text(value)


def _value_text(value: Value) -> str:
    if isinstance(value, list | tuple | dict | str):
        _bound(_text_length(value))
    return repr(value)


def _integer(value: Value = 0, *base: Value) -> int:
    _refuse_digits(value)
    return int(value, *base)


def _float(value: Value = 0.0) -> float:
    _refuse_digits(value)
    return float(value)


def _refuse_digits(value: Value) -> None:
    if isinstance(value, str) and len(value) > DIGITS_MAX:
        raise OperationRefused("so long a number")


def _rounded(number: Value, places: Value = None) -> Value:
    if isinstance(places, int) and abs(places) > PLACES_MAX:
        raise OperationRefused("so many digits of a number")
    return round(number, places)


def _sum(values: Value, start: Value = 0) -> Value:
    # Summing lists would copy all previous elements at each step.
    if not all(isinstance(value, int | float) for value in (start, *values)):
        raise OperationRefused("a sum of what are not numbers")
    return sum(values, start)


def _range(*bounds: Value) -> list[int]:
    numbers = range(*bounds)
    if numbers and (numbers[-1] - numbers[0]) // numbers.step >= WEIGHT_MAX:
        raise OperationRefused("so long a range")
    return list(numbers)


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "float": _float,
    "int": _integer,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "range": _range,
    "repr": _value_text,
    "round": _rounded,
    "sorted": sorted,
    "str": _text,
    "sum": _sum,
    "tuple": tuple,
}
_BINARY: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}

"""The code of scripts, `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`: a subset of Python that can only reckon.

There are names, numbers, strings, lists and tuples; operators, comparisons and conditions; `assert`, assignments,
`if`, `for`, `while`; and a few functions. There are no imports, attributes or definitions, and every evaluation ends:
steps and sizes are bounded. What is outside of it is told as unsupported with its line.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

STEPS_MAX = 100_000
"""Nodes of the syntax tree that one snippet may evaluate."""
BITS_MAX = 4_096
"""Size of numbers."""
LENGTH_MAX = 100_000
"""Length of strings and lists."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
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
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "max": max,
    "min": min,
    "repr": repr,
    "round": round,
    "sorted": sorted,
    "str": str,
    "sum": sum,
}
_CONSTANTS: Mapping[str, Any] = {"True": True, "False": False, "None": None}


@dataclass
class CodeFailed(Exception):
    """An assertion does not hold, or the code goes wrong."""

    line: int
    message: str


@dataclass
class CodeUnsupported(Exception):
    """The code is not of the subset."""

    line: int
    message: str


class Evaluation:
    """The code of one script: its snippets share their variables."""

    def __init__(self) -> None:
        self.printed: list[str] = []
        self._variables: dict[str, Any] = {}
        self._first_line = 1
        self._steps = 0

    def run(self, code: str, line: int, variables: Mapping[str, int]) -> None:
        """Runs one snippet, which begins in `line` of its script; `variables` are new readings."""
        self._variables.update(variables)
        self._first_line = line
        self._steps = 0
        try:
            tree = ast.parse(code.strip(" \t") + "\n")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            at = line + max((getattr(error, "lineno", None) or 1) - 1, 0)
            raise CodeUnsupported(at, f"the code is not Python 3: {error}") from error
        try:
            self._block(tree.body)
        except RecursionError as error:
            raise CodeUnsupported(line, "the code is nested too deeply") from error

    def _line(self, node: ast.AST) -> int:
        return self._first_line + getattr(node, "lineno", 1) - 1

    def _unsupported(self, node: ast.AST, what: str | None = None) -> CodeUnsupported:
        named = what or f"`{type(node).__name__}` in code"
        return CodeUnsupported(self._line(node), f"{named} is not modelled")

    def _count(self, node: ast.AST) -> None:
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise CodeUnsupported(self._line(node), f"the code takes more than {STEPS_MAX} steps")

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        self._count(node)
        match node:
            case ast.Pass():
                pass
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assert(test=test, msg=message):
                if not self._value(test):
                    told = "" if message is None else f": {self._value(message)}"
                    raise CodeFailed(self._line(node), f"assertion failed: {ast.unparse(test)}{told}")
            case ast.Assign(targets=targets, value=value):
                found = self._value(value)
                for target in targets:
                    self._assign(target, found)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                known = self._name(node.target, name)
                self._variables[name] = self._binary(node, op, known, self._value(value))
            case _:
                self._compound(node)

    def _compound(self, node: ast.stmt) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=otherwise):
                self._block(body if self._value(test) else otherwise)
            case ast.While(test=test, body=body, orelse=[]):
                while self._value(test):
                    self._block(body)
            case ast.For(target=target, iter=items, body=body, orelse=[]):
                for item in self._items(items):
                    self._assign(target, item)
                    self._block(body)
            case _:
                raise self._unsupported(node)

    def _items(self, node: ast.expr) -> list[Any]:
        found = self._value(node)
        if not isinstance(found, list | tuple | str):
            raise CodeFailed(self._line(node), f"`{ast.unparse(node)}` has no items")
        return list(found)

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self._variables[name] = value
            case ast.Tuple(elts=parts) if isinstance(value, list | tuple) and len(parts) == len(value):
                for part, item in zip(parts, value, strict=True):
                    self._assign(part, item)
            case _:
                raise self._unsupported(target, f"an assignment to `{ast.unparse(target)}`")

    def _value(self, node: ast.expr) -> Any:
        self._count(node)
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Name(id=name):
                return self._name(node, name)
            case _:
                return self._operation(node)

    def _operation(self, node: ast.expr) -> Any:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(node, op, self._value(left), self._value(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self._reckon(node, _UNARY[type(op)], self._value(operand))
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp():
                return self._junction(node)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self._value(body if self._value(test) else otherwise)
            case _:
                return self._structure(node)

    def _structure(self, node: ast.expr) -> Any:
        match node:
            case ast.Tuple(elts=parts):
                return tuple(self._value(part) for part in parts)
            case ast.List(elts=parts):
                return [self._value(part) for part in parts]
            case ast.Subscript(value=value, slice=index):
                return self._reckon(node, operator.getitem, self._value(value), self._value(index))
            case ast.JoinedStr(values=parts):
                return "".join(str(self._value(part)) for part in parts)
            case ast.FormattedValue(value=value, format_spec=None, conversion=-1):
                return self._value(value)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, [self._value(argument) for argument in arguments])
            case _:
                raise self._unsupported(node)

    def _name(self, node: ast.AST, name: str) -> Any:
        if name in self._variables:
            return self._variables[name]
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name.startswith(("tcpi_", "bbr_", "dctcp_", "tcpv_", "SK_MEMINFO_")):
            raise self._unsupported(node, f"the reading `{name}`")
        raise CodeFailed(self._line(node), f"the name `{name}` means nothing")

    def _binary(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Pow):
            return self._power(node, left, right)
        if isinstance(op, ast.LShift) and isinstance(right, int) and right > BITS_MAX:
            raise self._unsupported(node, f"a shift by {right}")
        if isinstance(op, ast.Mult) and not _product_is_small(left, right):
            raise self._unsupported(node, "so long a repetition")
        if isinstance(op, ast.Mod) and isinstance(left, str) and any(c in left for c in "*123456789"):
            raise self._unsupported(node, "a width in a format")
        function = _BINARY.get(type(op))
        if function is None:
            raise self._unsupported(node)
        return self._reckon(node, function, left, right)

    def _power(self, node: ast.AST, base: Any, exponent: Any) -> Any:
        if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > BITS_MAX:
            raise self._unsupported(node, "so large a power")
        return self._reckon(node, operator.pow, base, exponent)

    def _comparison(self, node: ast.Compare) -> bool:
        left = self._value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part)
            if not self._reckon(node, _COMPARISONS[type(op)], left, right):
                return False
            left = right
        return True

    def _junction(self, node: ast.BoolOp) -> Any:
        found = None
        for part in node.values:
            found = self._value(part)
            if bool(found) is isinstance(node.op, ast.Or):
                return found
        return found

    def _call(self, node: ast.Call, name: str, arguments: list[Any]) -> Any:
        if name == "print":
            self.printed.append(" ".join(map(str, arguments)))
            return None
        if name == "range":
            return self._range(node, arguments)
        if name not in _FUNCTIONS:
            raise self._unsupported(node, f"the function `{name}`")
        return self._reckon(node, _FUNCTIONS[name], *arguments)

    def _range(self, node: ast.Call, arguments: list[Any]) -> Any:
        numbers = self._reckon(node, range, *arguments)
        if self._reckon(node, len, numbers) > LENGTH_MAX:
            raise self._unsupported(node, "so long a range")
        return list(numbers)

    def _reckon(self, node: ast.AST, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            found = function(*arguments)
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise CodeFailed(self._line(node), f"error in code: {error}") from error
        if isinstance(found, int) and found.bit_length() > BITS_MAX:
            raise self._unsupported(node, "so large a number")
        if isinstance(found, str | list | tuple) and len(found) > LENGTH_MAX:
            raise self._unsupported(node, "so long a value")
        return found


def _product_is_small(left: Any, right: Any) -> bool:
    for sequence, count in ((left, right), (right, left)):
        if isinstance(sequence, str | list | tuple) and isinstance(count, int):
            return len(sequence) * count <= LENGTH_MAX
    return True

"""The code of scripts, `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`: a subset of Python that can only
calculate.

There are names, numbers, strings, lists and tuples; operators, comparisons and conditions; `assert`, assignments,
`if`, `for`, `while`; and a few functions. There are no imports, attributes or definitions, and every evaluation ends:
work and sizes are bounded ([arithmetic.py](../limits/arithmetic.py)). What is outside of it is told as unsupported with
its line.
"""

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tailback.limits import WEIGHT_MAX, Allowance, OperationRefused

Found = TypeVar("Found")

FUNCTIONS = {
    "abs", "all", "any", "bool", "float", "int", "len", "max", "min", "range", "repr", "round", "sorted", "str", "sum",
}  # fmt: skip
QUOTED_MAX = 200
"""Maximum number of characters of code in a message."""
_CONSTANTS: Mapping[str, Any] = {"True": True, "False": False, "None": None}


@dataclass
class CodeFailed(Exception):
    """An assertion failed, or the code raised an error."""

    line: int
    message: str


@dataclass
class CodeUnsupported(Exception):
    """The code uses Python features outside of the subset."""

    line: int
    message: str


class Evaluation:
    """The code of one script: its snippets share their variables."""

    def __init__(self) -> None:
        self.printed: list[str] = []
        self._variables: dict[str, Any] = {}
        self._first_line = 1
        self._allowance = Allowance()
        self._room_to_print = WEIGHT_MAX

    def run(self, code: str, line: int, variables: Mapping[str, int]) -> None:
        """Runs a snippet that begins at `line` of the script; `variables` are the current values of `tcp_info`."""
        self._variables.update(variables)
        self._first_line = line
        tree = self._tree(code.strip(" \t") + "\n", line)
        try:
            self._block(tree.body)
        except RecursionError as error:
            raise CodeUnsupported(line, "the code is nested too deeply") from error

    def _tree(self, code: str, line: int) -> ast.Module:
        if len(code) > WEIGHT_MAX:
            raise CodeUnsupported(line, f"the code has more than {WEIGHT_MAX} characters")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            at = line + max((getattr(error, "lineno", None) or 1) - 1, 0)
            raise CodeUnsupported(at, f"the code is not Python 3: {_printable(str(error))}") from error
        # The syntax tree is several times as large as the text.
        self._paid(tree, lambda: self._allowance.spend(len(code)))
        return tree

    def _line(self, node: ast.AST) -> int:
        return self._first_line + getattr(node, "lineno", 1) - 1

    def _unsupported(self, node: ast.AST, what: str | None = None) -> CodeUnsupported:
        named = what or f"`{type(node).__name__}` in code"
        return CodeUnsupported(self._line(node), f"{named} is not modelled")

    def _paid(self, node: ast.AST, operation: Callable[[], Found]) -> Found:
        """Executes `operation`; converts its exceptions to errors with the line of `node`."""
        try:
            return operation()
        except OperationRefused as refused:
            raise CodeUnsupported(self._line(node), f"{refused} is not supported") from refused
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise CodeFailed(self._line(node), f"error in code: {_printable(str(error))}") from error

    def _count(self, node: ast.AST) -> None:
        self._paid(node, lambda: self._allowance.spend(1))

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
                    detail = "" if message is None else f": {self._text(message, self._value(message))}"
                    raise CodeFailed(self._line(node), _printable(f"assertion failed: {_quoted(test)}{detail}"))
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
            raise CodeFailed(self._line(node), f"`{_quoted(node)}` has no items")
        return self._paid(node, lambda: self._allowance.items(found))

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self._variables[name] = value
            case ast.Tuple(elts=parts) if isinstance(value, list | tuple) and len(parts) == len(value):
                for part, item in zip(parts, value, strict=True):
                    self._assign(part, item)
            case _:
                raise self._unsupported(target, f"an assignment to `{_quoted(target)}`")

    def _value(self, node: ast.expr) -> Any:
        self._count(node)
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return self._paid(node, lambda: self._allowance.charged(value))
            case ast.Name(id=name):
                return self._name(node, name)
            case _:
                return self._operation(node)

    def _operation(self, node: ast.expr) -> Any:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(node, op, self._value(left), self._value(right))
            case ast.UnaryOp(op=op, operand=operand):
                value = self._value(operand)
                return self._paid(node, lambda: self._allowance.unary(op, value))
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
                values = tuple(map(self._value, parts))
                return self._paid(node, lambda: self._allowance.charged(values))
            case ast.List(elts=parts):
                listed = list(map(self._value, parts))
                return self._paid(node, lambda: self._allowance.charged(listed))
            case ast.Subscript(value=value, slice=index):
                whole, place = self._value(value), self._value(index)
                return self._paid(node, lambda: self._allowance.element(whole, place))
            case ast.JoinedStr(values=parts):
                texts = [self._text(part, self._value(part)) for part in parts]
                return self._paid(node, lambda: self._allowance.joined("", texts))
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
        return self._paid(node, lambda: self._allowance.binary(op, left, right))

    def _comparison(self, node: ast.Compare) -> bool:
        left = self._value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part)
            if not self._compared(part, op, (left, right)):
                return False
            left = right
        return True

    def _compared(self, node: ast.AST, op: ast.cmpop, values: tuple[Any, Any]) -> bool:
        return self._paid(node, lambda: self._allowance.compare(op, *values))

    def _junction(self, node: ast.BoolOp) -> Any:
        found = None
        for part in node.values:
            found = self._value(part)
            if bool(found) is isinstance(node.op, ast.Or):
                return found
        return found

    def _call(self, node: ast.Call, name: str, arguments: list[Any]) -> Any:
        if name == "print":
            self._print(node, arguments)
            return None
        if name not in FUNCTIONS:
            raise self._unsupported(node, f"the function `{name}`")
        return self._paid(node, lambda: self._allowance.call(name, arguments))

    def _print(self, node: ast.Call, arguments: list[Any]) -> None:
        texts = [self._text(node, argument) for argument in arguments]
        line = self._paid(node, lambda: self._allowance.joined(" ", texts))
        self._room_to_print -= len(line) + 1
        if self._room_to_print < 0:
            raise self._unsupported(node, f"printing more than {WEIGHT_MAX} characters")
        self.printed.append(_printable(line))

    def _text(self, node: ast.AST, value: Any) -> str:
        text: str = self._paid(node, lambda: self._allowance.call("str", [value]))
        return text


def _printable(text: str) -> str:
    """`text` without surrogates (`\\ud800`), which cannot be encoded."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _quoted(node: ast.AST) -> str:
    """The code of a node, shortened if it is long."""
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        return "…"
    return text if len(text) <= QUOTED_MAX else f"{text[:QUOTED_MAX]}…"

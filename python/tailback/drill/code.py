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

from tailback.limits import WEIGHT_MAX, Allowance, Expressions, OperationRefused

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


class Evaluation(Expressions):
    """The code of one script: its snippets share their variables."""

    def __init__(self) -> None:
        super().__init__(Allowance())
        self.printed: list[str] = []
        self._variables: dict[str, Any] = {}
        self._first_line = 1
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
        self.paid(tree, lambda: self.allowance.spend(len(code)))
        return tree

    def _line(self, node: ast.AST) -> int:
        return self._first_line + getattr(node, "lineno", 1) - 1

    def _unsupported(self, node: ast.AST, what: str | None = None) -> CodeUnsupported:
        named = what or f"`{type(node).__name__}` in code"
        return CodeUnsupported(self._line(node), f"{named} is not modelled")

    def paid(self, node: ast.AST, operation: Callable[[], Found]) -> Found:
        """Executes `operation`; converts its exceptions to errors with the line of `node`."""
        try:
            return operation()
        except OperationRefused as refused:
            raise CodeUnsupported(self._line(node), f"{refused} is not supported") from refused
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise CodeFailed(self._line(node), f"error in code: {_printable(str(error))}") from error

    def _count(self, node: ast.AST) -> None:
        self.paid(node, lambda: self.allowance.spend(1))

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        self._count(node)
        match node:
            case ast.Pass():
                pass
            case ast.Expr(value=value):
                self.value(value)
            case ast.Assert(test=test, msg=message):
                if not self.value(test):
                    detail = "" if message is None else f": {self._text(message, self.value(message))}"
                    raise CodeFailed(self._line(node), _printable(f"assertion failed: {_quoted(test)}{detail}"))
            case ast.Assign(targets=targets, value=value):
                found = self.value(value)
                for target in targets:
                    self._assign(target, found)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                known = self._name(node.target, name)
                self._variables[name] = self.binary(node, op, known, self.value(value))
            case _:
                self._compound(node)

    def _compound(self, node: ast.stmt) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=otherwise):
                self._block(body if self.value(test) else otherwise)
            case ast.While(test=test, body=body, orelse=[]):
                while self.value(test):
                    self._block(body)
            case ast.For(target=target, iter=items, body=body, orelse=[]):
                for item in self._items(items):
                    self._assign(target, item)
                    self._block(body)
            case _:
                raise self._unsupported(node)

    def _items(self, node: ast.expr) -> list[Any]:
        found = self.value(node)
        if not isinstance(found, list | tuple | str):
            raise CodeFailed(self._line(node), f"`{_quoted(node)}` has no items")
        return self.paid(node, lambda: self.allowance.items(found))

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self._variables[name] = value
            case ast.Tuple(elts=parts) if isinstance(value, list | tuple) and len(parts) == len(value):
                for part, item in zip(parts, value, strict=True):
                    self._assign(part, item)
            case _:
                raise self._unsupported(target, f"an assignment to `{_quoted(target)}`")

    def named(self, node: ast.Name | ast.Attribute) -> Any:
        """The value of a variable, a reading of `tcp_info` or a constant."""
        if isinstance(node, ast.Attribute):
            raise self._unsupported(node)
        return self._name(node, node.id)

    def other(self, node: ast.expr) -> Any:
        """Comparisons, conditions, slices, texts with values in them, and calls."""
        match node:
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp():
                return self._junction(node)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self.value(body if self.value(test) else otherwise)
            case ast.Subscript(value=value, slice=index):
                self.value(value)
                return self.value(index)
            case _:
                return self._structure(node)

    def _structure(self, node: ast.expr) -> Any:
        match node:
            case ast.JoinedStr(values=parts):
                texts = [self._text(part, self.value(part)) for part in parts]
                return self.paid(node, lambda: self.allowance.joined("", texts))
            case ast.FormattedValue(value=value, format_spec=None, conversion=-1):
                return self.value(value)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, [self.value(argument) for argument in arguments])
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

    def _comparison(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part)
            if not self._compared(part, op, (left, right)):
                return False
            left = right
        return True

    def _compared(self, node: ast.AST, op: ast.cmpop, values: tuple[Any, Any]) -> bool:
        return self.paid(node, lambda: self.allowance.compare(op, *values))

    def _junction(self, node: ast.BoolOp) -> Any:
        found = None
        for part in node.values:
            found = self.value(part)
            if bool(found) is isinstance(node.op, ast.Or):
                return found
        return found

    def _call(self, node: ast.Call, name: str, arguments: list[Any]) -> Any:
        if name == "print":
            self._print(node, arguments)
            return None
        if name not in FUNCTIONS:
            raise self._unsupported(node, f"the function `{name}`")
        return self.paid(node, lambda: self.allowance.call(name, arguments))

    def _print(self, node: ast.Call, arguments: list[Any]) -> None:
        texts = [self._text(node, argument) for argument in arguments]
        line = self.paid(node, lambda: self.allowance.joined(" ", texts))
        self._room_to_print -= len(line) + 1
        if self._room_to_print < 0:
            raise self._unsupported(node, f"printing more than {WEIGHT_MAX} characters")
        self.printed.append(_printable(line))

    def _text(self, node: ast.AST, value: Any) -> str:
        text: str = self.paid(node, lambda: self.allowance.call("str", [value]))
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

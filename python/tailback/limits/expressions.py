"""Values of Python expressions, worked out node by node within an allowance; nothing is executed.

A language is a subclass: what its names mean, which operators it has, what else there is, and what its errors are.
There are three, and all that they have in common is here. The rest differs in each line, so one file of them would be
three files behind conditions:

- [drill/code.py](../drill/code.py): Python 3 with `assert`, `if` and loops; the first error ends the script.
- [teacup/evaluate.py](../formats/teacup/evaluate.py): assignments of Python 2, no conditions; each error loses one
  name, of which a note is kept, and reading goes on. It needs a library to find the statements of Python 2.
- [assess/measures.py](../assess/measures.py): one expression over the numbers of a summary.
"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from tailback.limits.arithmetic import Allowance

Found = TypeVar("Found")


class Expressions(ABC):
    """Constants, names, lists, tuples, elements and operators."""

    OPERATORS: ClassVar[tuple[type[ast.operator], ...]] = (ast.operator,)
    """The binary operators of the language."""
    SIGNS: ClassVar[tuple[type[ast.unaryop], ...]] = (ast.unaryop,)
    """Its unary operators."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance

    @abstractmethod
    def paid(self, node: ast.AST, operation: Callable[[], Found]) -> Found:
        """Does `operation`; converts `OperationRefused` and Python's errors to those of the language, about `node`."""

    @abstractmethod
    def named(self, node: ast.Name | ast.Attribute) -> Any:
        """The value of a name."""

    @abstractmethod
    def other(self, node: ast.expr) -> Any:
        """The value of an expression of another kind; raises the language's error if it has none."""

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        self.paid(node, lambda: self.allowance.spend(1))
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return self.paid(node, lambda: self.allowance.charged(value))
            case ast.Name() | ast.Attribute():
                return self.named(node)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                values = [self.value(part) for part in parts]
                whole = tuple(values) if isinstance(node, ast.Tuple) else values
                return self.paid(node, lambda: self.allowance.charged(whole))
            case _:
                return self._operation(node)

    def _operation(self, node: ast.expr) -> Any:
        match node:
            case ast.Subscript(value=part, slice=index) if not isinstance(index, ast.Slice):
                whole, place = self.value(part), self.value(index)
                return self.paid(node, lambda: self.allowance.element(whole, place))
            case ast.UnaryOp(op=sign, operand=operand) if isinstance(sign, self.SIGNS):
                value = self.value(operand)
                return self.paid(node, lambda: self.allowance.unary(sign, value))
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, self.OPERATORS):
                return self.binary(node, op, self.value(left), self.value(right))
            case _:
                return self.other(node)

    def binary(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        """The value of a binary operation."""
        return self.paid(node, lambda: self.allowance.binary(op, left, right))

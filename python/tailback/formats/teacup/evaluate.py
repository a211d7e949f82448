"""Evaluates values in a Python 2 file without executing it.

`parso` splits the file into statements; it continues after statements that it cannot parse (`print x`). Each statement
is then parsed by Python's `ast` and interpreted: literals, variables, `range`, `str`, `int`, `float`, `len`, `list`,
`tuple`, `map` of those, `join`, `+`, `*` and `%`. Everything else is reported with its line. Nothing is executed,
imported or opened; time and memory are limited ([arithmetic.py](../../limits/arithmetic.py)).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from parso.grammar import load_grammar

from tailback.limits import Allowance, OperationRefused
from tailback.limits.arithmetic import Value

LARGEST_NUMBER = 10**30
FUNCTIONS = {"float", "int", "len", "list", "range", "str", "tuple"}


class NotEvaluated(Exception):
    """The expression cannot be evaluated; the message names the part."""


@dataclass(frozen=True)
class Note:
    """A part of the file that was not imported."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}"


@dataclass
class Module:
    """The assignments of a file."""

    values: dict[str, Value] = field(default_factory=dict)
    """Values by name; attributes as `env.user`."""
    lines: dict[str, int] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)
    """The remaining work for evaluating its values."""

    def value_of(self, tree: ast.expr, names: Mapping[str, Value]) -> Value:
        """The value of an expression."""
        try:
            return _Evaluator(names, self.allowance).value(tree)
        except RecursionError as error:
            raise NotEvaluated("an expression is nested too deeply") from error


def read(text: str) -> Module:
    """Evaluates all assignments of a file, in order."""
    module = Module()
    try:
        tree: Any = load_grammar().parse(f"{text}\n")
        for child in tree.children:
            _statement(child, module)
    except RecursionError:
        module.notes.append(Note(1, "is nested too deeply; the rest was left out"))
    return module


def expression(text: str, names: Mapping[str, Value]) -> Value:
    """The value of one expression."""
    return Module().value_of(_tree(text, "an expression", text), names)


def arguments(text: str) -> dict[str, ast.expr]:
    """The keyword arguments in a string such as `a='x', b=V_y`, and a positional argument before them as `""`."""
    call = _tree(f"f({text.strip().strip(',')})", "a list of keywords", text)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise NotEvaluated(f"`{text.strip()[:60]}` is not a list of keywords")
    found: dict[str, ast.expr] = {keyword.arg or "**": keyword.value for keyword in call.keywords}
    if call.args:
        found[""] = call.args[0]
    return found


def names_in(tree: ast.expr) -> list[str]:
    """The names an expression uses."""
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _tree(code: str, kind: str, text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotEvaluated(f"`{text.strip()[:60]}` is not {kind}") from error


def _statement(node: Any, module: Module) -> None:
    line = node.start_pos[0]
    if node.type in ("newline", "endmarker"):
        return
    code = node.get_code(include_prefix=False)
    if node.type == "simple_stmt":
        _simple(code, line, module)
    elif node.type in ("error_node", "error_leaf"):
        if code.strip() not in ("", "print"):
            module.notes.append(Note(line, f"`{_first_line(code)}` is not read"))
    else:
        module.notes.append(Note(line, f"`{_first_line(code)}` is not evaluated"))


def _simple(code: str, line: int, module: Module) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        module.notes.append(Note(line, f"`{_first_line(code)}` is not read"))
        return
    for statement in statements:
        if isinstance(statement, ast.Assign):
            _assign(statement, line, module)
        elif not _is_nothing(statement):
            module.notes.append(Note(line, f"`{_first_line(code)}` is not evaluated"))


def _is_nothing(statement: ast.stmt) -> bool:
    """Whether a statement is an import, or a string that serves as a comment."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass)


def _assign(statement: ast.Assign, line: int, module: Module) -> None:
    for target in statement.targets:
        name = _name_of(target)
        if name is None:
            module.notes.append(Note(line, f"{_code_text(statement)} is not evaluated"))
            continue
        module.lines[name] = line
        try:
            module.values[name] = module.value_of(statement.value, module.values)
        except NotEvaluated as reason:
            module.values.pop(name, None)
            module.notes.append(Note(line, f"`{name}` is not known: {reason}"))


def _name_of(target: ast.expr) -> str | None:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        return f"{target.value.id}.{target.attr}"
    return None


def _first_line(code: str) -> str:
    lines = code.strip().splitlines()
    return lines[0][:60] if lines else ""


def _code_text(node: ast.AST) -> str:
    try:
        return f"`{_first_line(ast.unparse(node))}`"
    except (RecursionError, ValueError):
        return "an expression"


class _Evaluator:
    """Evaluates expressions."""

    def __init__(self, names: Mapping[str, Value], allowance: Allowance) -> None:
        self._names = names
        self._allowance = allowance

    def value(self, node: ast.expr) -> Value:
        """The value of an expression; raises `NotEvaluated` or `RecursionError`."""
        try:
            self._allowance.spend(1)
            value = self._read(node)
        except OperationRefused as refused:
            raise NotEvaluated(f"{refused} is not worked out") from refused
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise NotEvaluated(f"{_code_text(node)}: {str(error)[:60]}") from error
        if isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER:
            raise NotEvaluated("so large a number is not worked out")
        return value

    def _read(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=str() | int() | float() | None as value):
                return self._allowance.charged(value)
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.List(elts=parts):
                return self._allowance.charged([self.value(part) for part in parts])
            case ast.Tuple(elts=parts):
                return self._allowance.charged(tuple([self.value(part) for part in parts]))
            case ast.Dict(keys=keys, values=values):
                return self._dictionary(keys, values)
            case _:
                return self._operation(node)

    def _operation(self, node: ast.expr) -> Value:
        match node:
            case ast.Subscript(value=whole, slice=index) if not isinstance(index, ast.Slice):
                return self._allowance.element(self.value(whole), self.value(index))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
                return self._allowance.unary(op, self.value(operand))
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Mod() as op, right=right):
                return self._allowance.binary(op, self.value(left), self.value(right))
            case ast.Call(args=arguments, keywords=[]):
                return self._call(node, arguments)
            case _:
                raise NotEvaluated(_code_text(node))

    def _named(self, node: ast.expr) -> Value:
        name = _name_of(node)
        if name is None or name not in self._names:
            raise NotEvaluated(f"{_code_text(node)} has no value")
        return self._names[name]

    def _dictionary(self, keys: list[ast.expr | None], values: list[ast.expr]) -> Value:
        pairs = [(self.value(key), self.value(each)) for key, each in zip(keys, values, strict=True) if key is not None]
        if len(pairs) < len(keys):
            raise NotEvaluated("a dictionary within a dictionary by `**`")
        return self._allowance.dictionary(pairs)

    def _call(self, node: ast.Call, arguments: list[ast.expr]) -> Value:
        match node.func:
            case ast.Attribute(value=glue, attr="join") if len(arguments) == 1:
                return self._joined(node, self.value(glue), self.value(arguments[0]))
            case ast.Name(id="map"):
                return self._mapped(node, arguments)
            case ast.Name(id=name) if _PYTHON_3.get(name, name) in FUNCTIONS:
                values = [self.value(argument) for argument in arguments]
                return self._called(_PYTHON_3.get(name, name), values)
            case _:
                raise NotEvaluated(_code_text(node))

    def _called(self, name: str, values: list[Value]) -> Value:
        if name == "str" and any(isinstance(value, list | tuple | dict) for value in values):
            raise NotEvaluated("a list as a text")
        return self._allowance.call(name, values)

    def _joined(self, node: ast.Call, glue: Value, parts: Value) -> Value:
        listed = isinstance(parts, list | tuple) and all(isinstance(part, str) for part in parts)
        if not isinstance(glue, str) or not listed:
            raise NotEvaluated(_code_text(node))
        return self._allowance.joined(glue, parts)

    def _mapped(self, node: ast.Call, arguments: list[ast.expr]) -> Value:
        match arguments:
            case [ast.Name(id=name), items] if _PYTHON_3.get(name, name) in FUNCTIONS:
                values = self._allowance.items(self.value(items))
                return self._allowance.charged([self._called(_PYTHON_3.get(name, name), [each]) for each in values])
            case _:
                raise NotEvaluated(_code_text(node))


_PYTHON_3: Mapping[str, str] = {"xrange": "range"}

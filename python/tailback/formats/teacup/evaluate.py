"""Values of a Python 2 file without running it.

The statements are told apart by `parso`, which goes on after one it cannot read (`print x`); each by itself is then a
tree of Python's own `ast`, of which literals, names assigned before, `range`, `str`, `int`, `float`, `len`, `list`,
`tuple`, `map` of those, `join`, `+`, `*` and `%` are worked out here. Everything else is noted with its line. Nothing
is ever executed, imported or opened, and no value grows beyond `LARGEST`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from parso.grammar import load_grammar

LARGEST = 100_000
"""Elements of a list, characters of a text, decimals of a number."""
LARGEST_NUMBER = 10**30

Value: TypeAlias = Any
"""None, a truth value, a number, a text, or a list, tuple or dictionary of them."""


class NotEvaluated(Exception):
    """An expression that cannot be worked out; the message says what of it."""


@dataclass(frozen=True)
class Note:
    """Something of the file that was not taken over."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}"


@dataclass
class Module:
    """What a file assigns."""

    values: dict[str, Value] = field(default_factory=dict)
    """By name; attributes as `env.user`."""
    lines: dict[str, int] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


def read(text: str) -> Module:
    """All assignments of a file, in their order."""
    module = Module()
    try:
        tree: Any = load_grammar().parse(text)
        for child in tree.children:
            _statement(child, module)
    except RecursionError:
        module.notes.append(Note(1, "is nested too deeply; what follows was left out"))
    return module


def expression(text: str, names: Mapping[str, Value]) -> Value:
    """The value of one expression."""
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, names)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotEvaluated(f"`{text.strip()[:60]}` is not an expression") from error


def arguments(text: str) -> dict[str, ast.expr]:
    """The keywords of `a='x', b=V_y`, which TEACUP writes into texts, and under `""` what stands alone before them."""
    try:
        call = ast.parse(f"f({text.strip().strip(',')})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotEvaluated(f"`{text.strip()[:60]}` is not a list of keywords") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise NotEvaluated(f"`{text.strip()[:60]}` is not a list of keywords")
    found: dict[str, ast.expr] = {keyword.arg or "**": keyword.value for keyword in call.keywords}
    if call.args:
        found[""] = call.args[0]
    return found


def names_in(tree: ast.expr) -> list[str]:
    """The names an expression uses."""
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def value_of(tree: ast.expr, names: Mapping[str, Value]) -> Value:
    """The value of an expression that has been read."""
    try:
        return _value(tree, names)
    except RecursionError as error:
        raise NotEvaluated("an expression is nested too deeply") from error


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
    """Imports, and texts that stand for comments."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass)


def _assign(statement: ast.Assign, line: int, module: Module) -> None:
    for target in statement.targets:
        name = _name_of(target)
        if name is None:
            module.notes.append(Note(line, f"`{ast.unparse(statement)[:60]}` is not evaluated"))
            continue
        module.lines[name] = line
        try:
            module.values[name] = value_of(statement.value, module.values)
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


def _value(node: ast.expr, names: Mapping[str, Value]) -> Value:
    reader = _READERS.get(type(node))
    if reader is None:
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")
    return _bounded(reader(node, names))


def _bounded(value: Value) -> Value:
    large = isinstance(value, str | list | tuple | dict) and len(value) > LARGEST
    if large or (isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER):
        raise NotEvaluated("a value is too large")
    return value


def _constant(node: ast.Constant, _names: Mapping[str, Value]) -> Value:
    if not isinstance(node.value, str | int | float | bool | None) or isinstance(node.value, bytes):
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")
    return node.value


def _named(node: ast.Name, names: Mapping[str, Value]) -> Value:
    if node.id not in names:
        raise NotEvaluated(f"`{node.id}` has no value")
    return names[node.id]


def _attribute(node: ast.Attribute, names: Mapping[str, Value]) -> Value:
    name = _name_of(node) or ast.unparse(node)
    if name not in names:
        raise NotEvaluated(f"`{name[:60]}` has no value")
    return names[name]


def _dict(node: ast.Dict, names: Mapping[str, Value]) -> Value:
    if any(key is None for key in node.keys):
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")
    pairs = [
        (_value(key, names), _value(value, names)) for key, value in zip(node.keys, node.values, strict=True) if key
    ]
    if any(isinstance(key, list | dict) for key, _ in pairs):
        raise NotEvaluated("a key is a list")
    try:
        return dict(pairs)
    except TypeError as error:
        raise NotEvaluated("a key is a list") from error


def _element(node: ast.Subscript, names: Mapping[str, Value]) -> Value:
    whole = _value(node.value, names)
    if isinstance(node.slice, ast.Slice):
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")
    try:
        return whole[_value(node.slice, names)]
    except (LookupError, TypeError) as error:
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`: {error}") from error


def _signed(node: ast.UnaryOp, names: Mapping[str, Value]) -> Value:
    value = _value(node.operand, names)
    if not isinstance(value, int | float):
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")
    if isinstance(node.op, ast.USub):
        return -value
    if isinstance(node.op, ast.UAdd):
        return value
    raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")


def _operation(node: ast.BinOp, names: Mapping[str, Value]) -> Value:
    operate = _OPERATIONS.get(type(node.op))
    if operate is None:
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")
    left, right = _value(node.left, names), _value(node.right, names)
    try:
        return operate(left, right)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`: {error}") from error


def _times(left: Value, right: Value) -> Value:
    for text, count in ((left, right), (right, left)):
        if isinstance(text, str | list | tuple):
            if not isinstance(count, int) or len(text) * count > LARGEST:
                raise NotEvaluated("a value is too large")
            return text * count
    return left * right


WIDE = re.compile(r"%[-+ #0]*(\*|\d{4,})|\.(\*|\d{4,})")


def _modulo(left: Value, right: Value) -> Value:
    """Of a text, its places filled; a width could make it any length, and so could what fills them."""
    if isinstance(left, str):
        parts = right if isinstance(right, tuple) else (right,)
        if WIDE.search(left) or not all(isinstance(part, str | int | float) for part in parts):
            raise NotEvaluated("a value is too large")
    return left % right


_OPERATIONS: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: _times,
    ast.Div: lambda left, right: left / right,
    ast.Mod: _modulo,
}


def _call(node: ast.Call, names: Mapping[str, Value]) -> Value:
    if isinstance(node.func, ast.Attribute) and node.func.attr == "join" and len(node.args) == 1:
        glue, parts = _value(node.func.value, names), _value(node.args[0], names)
        if isinstance(glue, str) and isinstance(parts, list | tuple) and all(isinstance(each, str) for each in parts):
            if sum(map(len, parts)) + len(glue) * len(parts) > LARGEST:
                raise NotEvaluated("a value is too large")
            return glue.join(parts)
    function = node.func.id if isinstance(node.func, ast.Name) else None
    if function is None or node.keywords or function not in (*_FUNCTIONS, "map"):
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")
    try:
        if function == "map":
            return _mapped(node, names)
        return _FUNCTIONS[function](*(_value(argument, names) for argument in node.args))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`: {error}") from error


def _mapped(node: ast.Call, names: Mapping[str, Value]) -> Value:
    first, *rest = node.args
    if not isinstance(first, ast.Name) or first.id not in _FUNCTIONS or len(rest) != 1:
        raise NotEvaluated(f"`{ast.unparse(node)[:60]}`")
    return [_bounded(_FUNCTIONS[first.id](each)) for each in _value(rest[0], names)]


def _range(*bounds: Value) -> Value:
    numbers = range(*bounds)
    if len(numbers) > LARGEST:
        raise NotEvaluated("a value is too large")
    return list(numbers)


def _text(value: Value) -> str:
    if not isinstance(value, str | int | float | None):
        raise NotEvaluated("a list as a text")
    return str(value)


_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "range": _range, "xrange": _range, "str": _text, "int": int, "float": float, "len": len, "list": list,
    "tuple": tuple,
}  # fmt: skip


def _elements(node: ast.List | ast.Tuple, names: Mapping[str, Value]) -> Sequence[Value]:
    return [_value(each, names) for each in node.elts]


_READERS: Mapping[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.Name: _named,
    ast.Attribute: _attribute,
    ast.List: _elements,
    ast.Tuple: lambda node, names: tuple(_elements(node, names)),
    ast.Dict: _dict,
    ast.Subscript: _element,
    ast.UnaryOp: _signed,
    ast.BinOp: _operation,
    ast.Call: _call,
}

"""Evaluates values in a Python 2 file without executing it.

`parso` splits the file into statements; it continues after statements that it cannot parse (`print x`). Each statement
is then parsed by Python's `ast` and interpreted: literals, variables, `range`, `str`, `int`, `float`, `len`, `list`,
`tuple`, `map` of those, `join`, `+`, `*`, `%`, lists made by `for`, `NAME[...] = ...` and `+=`. `execfile` of a
name is interpreted likewise, if the caller gives the text of that file. Everything else is reported with its line.
Nothing is executed or imported; time and memory are limited ([arithmetic.py](../../limits/arithmetic.py)).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

from parso.grammar import load_grammar

from tailback.formats.teacup.notes import Effect, Note
from tailback.limits import Allowance, Expressions, OperationRefused
from tailback.limits.arithmetic import Value

Found = TypeVar("Found")

LARGEST_NUMBER = 10**30
FUNCTIONS = {"float", "int", "len", "list", "range", "str", "tuple"}


class NotEvaluated(Exception):
    """The expression cannot be evaluated; the message names the part."""


Beside = Callable[[str], str]
"""The text of a file beside the configuration, by its name; raises `NotEvaluated` if it is not read."""

MOST_PARTS = 20
"""Files that a configuration may include."""


def _nothing_beside(name: str) -> str:
    raise NotEvaluated(f"`{name[:60]}` is not beside it")


@dataclass
class Module:
    """The assignments of a file."""

    values: dict[str, Value] = field(default_factory=dict)
    """Values by name; attributes as `env.user`."""
    lines: dict[str, int] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)
    """The remaining work for evaluating its values."""
    lost: dict[str, str] = field(default_factory=dict)
    """Why a name has no value."""
    beside: Beside = _nothing_beside
    file: str = ""
    """The included file that is being read; empty for the configuration itself."""
    files: dict[str, str] = field(default_factory=dict)
    """The included file in which a name was set."""
    parts: int = 0

    def note(self, line: int, what: str, effect: Effect = Effect.LOST) -> None:
        """Adds a note about a line of the file that is being read."""
        self.notes.append(Note(line, what, effect, self.file))

    def place(self, name: str) -> tuple[int, str]:
        """Line and included file in which a name was set."""
        return self.lines.get(name, 1), self.files.get(name, "")

    def set(self, name: str, line: int) -> None:
        """Notes where a name is set."""
        self.lines[name], self.files[name] = line, self.file

    def lose(self, name: str, line: int, reason: str) -> None:
        """A name has no value from here on."""
        self.values.pop(name, None)
        self.set(name, line)
        place = f"{self.file}, line {line}" if self.file else f"line {line}"
        self.lost[name] = f"{place}: {reason}"
        self.note(line, f"`{name}` is not known: {reason}")

    def value_of(self, tree: ast.expr, names: Mapping[str, Value]) -> Value:
        """The value of an expression."""
        try:
            return _Evaluator(names, self.allowance, self.lost).value(tree)
        except RecursionError as error:
            raise NotEvaluated("an expression is nested too deeply") from error


def read(text: str, beside: Beside = _nothing_beside) -> Module:
    """Evaluates all assignments of a file, in order."""
    module = Module(beside=beside)
    _file(text, module)
    return module


def _file(text: str, module: Module) -> None:
    try:
        tree: Any = load_grammar().parse(f"{text}\n")
        for broken, children in groupby(tree.children, lambda node: node.type in ("error_node", "error_leaf")):
            found = list(children)
            if broken:
                _broken("".join(child.get_code() for child in found), found, module)
            else:
                for child in found:
                    _statement(child, module)
    except RecursionError:
        module.note(1, "is nested too deeply; the rest was left out")


def _broken(code: str, nodes: list[Any], module: Module) -> None:
    """What is not Python: a statement of Python 2, or an error."""
    plain = "\n".join(line.split("#")[0].rstrip() for line in code.splitlines()).strip()
    if plain in ("", "print"):
        return
    line = nodes[0].start_pos[0]
    quote = next((node for node in nodes if node.type == "error_leaf" and node.value[:1] in "\"'"), None)
    if quote is None:
        module.note(line, f"`{_first_line(plain)}` is not read")
        return
    reason = f"the text that begins in line {quote.start_pos[0]} has no closing quote in that line"
    assigned = re.match(r"([A-Za-z_]\w*)\s*=", plain)
    if assigned is not None:
        module.lose(assigned[1], line, f"{reason}, so Python refuses it, too")
    else:
        module.note(line, f"`{_first_line(plain)}` is not read: {reason}")


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
    else:
        module.note(line, f"`{_first_line(code)}` is not evaluated")


def _simple(code: str, line: int, module: Module) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        module.note(line, f"`{_first_line(code)}` is not read")
        return
    for statement in statements:
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _assign(target, value, line, module)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=ast.Add() as op, value=value):
                _assign(target, ast.BinOp(ast.Name(name), op, value), line, module)
            case ast.Expr(value=ast.Call(func=ast.Name(id="execfile"), args=[ast.Constant(value=str() as part)])):
                _include(part, line, module)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(attr="path"), attr="append"))):
                module.note(line, f"`{_first_line(code)}`", Effect.NONE)
            case _ if not _is_nothing(statement):
                module.note(line, f"`{_first_line(code)}` is not evaluated")


def _include(name: str, line: int, module: Module) -> None:
    """Reads a file beside the configuration as part of it."""
    try:
        module.parts += 1
        if module.parts > MOST_PARTS:
            raise NotEvaluated(f"more than {MOST_PARTS} files are included")
        text = module.beside(name)
    except NotEvaluated as reason:
        module.note(line, f"`execfile('{name[:60]}')` is not evaluated: {reason}")
        return
    outer, module.file = module.file, name
    _file(text, module)
    module.file = outer


def _is_nothing(statement: ast.stmt) -> bool:
    """Whether a statement is an import, or a string that serves as a comment."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass)


def _assign(target: ast.expr, value: ast.expr, line: int, module: Module) -> None:
    name = _name_of(target)
    if name is None:
        _assign_element(target, value, line, module)
        return
    if isinstance(value, ast.Dict):
        value = _without_lost(name, value, line, module)
    try:
        module.values[name] = module.value_of(value, module.values)
    except NotEvaluated as reason:
        module.lose(name, line, str(reason))
        return
    module.set(name, line)
    module.lost.pop(name, None)


def _without_lost(name: str, tree: ast.Dict, line: int, module: Module) -> ast.Dict:
    """A dictionary without the elements that have no value: each has a note, and the others count."""
    keys, values = [], []
    for key, value in zip(tree.keys, tree.values, strict=True):
        try:
            if key is not None:
                module.value_of(value, module.values)
        except NotEvaluated as reason:
            shown = _code_text(key) if key is not None else "an element"
            module.note(line + value.lineno - 1, f"{shown} of `{name}` is not known: {reason}")
        else:
            keys.append(key)
            values.append(value)
    return ast.Dict(keys, values)


def _assign_element(target: ast.expr, value: ast.expr, line: int, module: Module) -> None:
    """`NAME[KEY] = VALUE` of a dictionary."""
    match target:
        case ast.Subscript(value=ast.Name(id=name), slice=index) if isinstance(module.values.get(name), dict):
            try:
                key = module.value_of(index, module.values)
                known = [*module.values[name].items(), (key, module.value_of(value, module.values))]
                module.values[name] = module.allowance.dictionary(known)
            except (NotEvaluated, OperationRefused, TypeError) as reason:
                module.note(line, f"{_code_text(target)} is not known: {reason}")
        case _:
            module.note(line, f"{_code_text(target)} = ... is not evaluated")


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


class _Evaluator(Expressions):
    """Evaluates expressions."""

    OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod)
    SIGNS = (ast.USub, ast.UAdd)

    def __init__(self, names: Mapping[str, Value], allowance: Allowance, lost: Mapping[str, str]) -> None:
        super().__init__(allowance)
        self._names = names
        self._lost = lost

    def value(self, node: ast.expr) -> Value:
        """The value of an expression; raises `NotEvaluated` or `RecursionError`."""
        value = super().value(node)
        if isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER:
            raise NotEvaluated("so large a number is not worked out")
        return value

    def paid(self, node: ast.AST, operation: Callable[[], Found]) -> Found:
        """Does `operation`; its errors become `NotEvaluated`."""
        try:
            return operation()
        except OperationRefused as refused:
            raise NotEvaluated(f"{refused} is not worked out") from refused
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise NotEvaluated(f"{_code_text(node)}: {str(error)[:60]}") from error

    def named(self, node: ast.Name | ast.Attribute) -> Value:
        """The value of a name, or of an attribute such as `env.user`."""
        name = _name_of(node)
        if name is None or name not in self._names:
            why = f" ({self._lost[name]})" if name is not None and name in self._lost else ""
            raise NotEvaluated(f"{_code_text(node)} has no value{why}")
        return self._names[name]

    def other(self, node: ast.expr) -> Value:
        """Dictionaries, lists made by `for`, and calls."""
        return self.paid(node, lambda: self._other(node))

    def _other(self, node: ast.expr) -> Value:
        match node:
            case ast.Dict(keys=keys, values=values):
                return self._dictionary(keys, values)
            case ast.ListComp(elt=each, generators=[loop]) | ast.GeneratorExp(elt=each, generators=[loop]):
                return self._listed(node, each, loop)
            case ast.Call(args=arguments, keywords=[]):
                return self._call(node, arguments)
            case _:
                raise NotEvaluated(_code_text(node))

    def _listed(self, node: ast.expr, each: ast.expr, loop: ast.comprehension) -> Value:
        """A list made by one `for` with one variable."""
        if not isinstance(loop.target, ast.Name) or loop.ifs or loop.is_async:
            raise NotEvaluated(_code_text(node))
        found = []
        inner: dict[str, Value] = {}
        evaluator = _Evaluator(ChainMap(inner, dict(self._names)), self.allowance, self._lost)
        for item in self.allowance.items(self.value(loop.iter)):
            inner[loop.target.id] = item
            found.append(evaluator.value(each))
        return self.allowance.charged(found)

    def _dictionary(self, keys: list[ast.expr | None], values: list[ast.expr]) -> Value:
        pairs = [(self.value(key), self.value(each)) for key, each in zip(keys, values, strict=True) if key is not None]
        if len(pairs) < len(keys):
            raise NotEvaluated("a dictionary within a dictionary by `**`")
        return self.allowance.dictionary(pairs)

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
        return self.allowance.call(name, values)

    def _joined(self, node: ast.Call, glue: Value, parts: Value) -> Value:
        listed = isinstance(parts, list | tuple) and all(isinstance(part, str) for part in parts)
        if not isinstance(glue, str) or not listed:
            raise NotEvaluated(_code_text(node))
        return self.allowance.joined(glue, parts)

    def _mapped(self, node: ast.Call, arguments: list[ast.expr]) -> Value:
        match arguments:
            case [ast.Name(id=name), items] if _PYTHON_3.get(name, name) in FUNCTIONS:
                values = self.allowance.items(self.value(items))
                return self.allowance.charged([self._called(_PYTHON_3.get(name, name), [each]) for each in values])
            case _:
                raise NotEvaluated(_code_text(node))


_PYTHON_3: Mapping[str, str] = {"xrange": "range"}

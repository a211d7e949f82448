"""Variables: `let: {qdisc: pfifo_fast}` makes `${qdisc}` mean `pfifo_fast` in every value of the file.

A value that is only `${name}` takes the type of the variable (a number remains a number); inside a longer value, the
text of the variable is inserted. Variables may refer to other variables, but not in a cycle. The length of values is
limited, because a few variables that repeat each other ten times would exhaust the memory.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from tailback.scenario.document import Node
from tailback.scenario.errors import Finding
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc, show
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.shell import assigned
from tailback.tc.units import shown

#: Maximum number of characters of a value after its variables are replaced.
LONGEST = 10_000
#: Maximum number of characters of all values with variables.
LONGEST_TOGETHER = 10_000_000
#: Maximum nesting of variables.
DEEPEST = 50

_USE = re.compile(r"\$\{([^}]*)\}")
_OPENED = re.compile(r"\$\{([A-Za-z_0-9]*)")
_UNBRACED = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Told(WordError):
    """A value needs a variable that has none, which has been said where the variable is declared."""

    def __init__(self) -> None:
        super().__init__("", "")


class Substitution:
    """Replaces variables in a tree and collects errors."""

    def __init__(self, let: Node | None, known_keys: tuple[str, ...]) -> None:
        self.findings: list[Finding] = []
        self._variables: dict[str, Node] = {}
        self._values: dict[str, Node] = {}
        self._room = LONGEST_TOGETHER
        self._named: set[str] = set()
        """Variables that values name."""
        self._told: set[str] = set()
        """Variables without a value, of which a finding says so."""
        if let is not None:
            self._declare(let, known_keys)
            self._check()

    def apply(self, node: Node, loc: Loc = ()) -> Node:
        """The tree with every `${name}` replaced."""
        if isinstance(node.value, dict):
            return replace(node, value={key: self.apply(child, (*loc, key)) for key, child in node.value.items()})
        if isinstance(node.value, list):
            return replace(node, value=[self.apply(child, (*loc, index)) for index, child in enumerate(node.value)])
        if not isinstance(node.value, str) or "${" not in node.value:
            return node
        self._named.update(_USE.findall(node.value))
        try:
            return self._replaced(node, ())
        except _Told:
            return replace(node, value=None, text="")
        except WordError as error:
            self.findings.append(Finding(node.where, show(loc), error.message, error.hint))
            return node

    @property
    def names(self) -> Collection[str]:
        """The names of the variables."""
        return self._variables.keys()

    @property
    def unused(self) -> Mapping[str, Node]:
        """The variables that no replaced value names, also not by way of other variables."""
        used: set[str] = set()
        named = self._named
        while named:
            used |= named
            texts = (str(self._variables[name].value) for name in named & self._variables.keys())
            named = {name for text in texts for name in _USE.findall(text)} - used
        return {name: node for name, node in self._variables.items() if name not in used}

    def _declare(self, let: Node, known_keys: tuple[str, ...]) -> None:
        if not isinstance(let.value, dict):
            self._note(let, "let", f"`{shown(let.value)}` is not a mapping", "write let: {qdisc: pfifo_fast}")
        for name, value in let.entries().items():
            path = f"let.{name}"
            if not _NAME.fullmatch(name):
                self._note(value, path, f"`{name}` is not the name of a variable", "use letters, digits and `_`")
            elif name in known_keys:
                self._note(value, path, f"`{name}` is also a key of the file", "give the variable another name")
            elif isinstance(value.value, dict | list) or value.value is None:
                self._note(value, path, "is not a single value", "a variable is one word or number")
            else:
                self._variables[name] = value

    def _check(self) -> None:
        """Finds the value of each variable, also of one that is not used."""
        for name in self._variables:
            # One message for all of a long chain, whose later part is too long, too.
            if not any("end of a chain" in finding.message for finding in self.findings):
                with contextlib.suppress(_Told):
                    self._value(name, ())

    def _note(self, node: Node, path: str, message: str, hint: str) -> None:
        self.findings.append(Finding(node.where, path, message, hint))

    def _replaced(self, node: Node, using: tuple[str, ...]) -> Node:
        text = str(node.value)
        whole = _USE.fullmatch(text)
        if whole is not None:
            found = self._value(whole[1], using)
            return replace(found, where=node.where)
        own = assigned(text) - self._variables.keys()
        text = self._joined(text, using, own)
        if any(name not in own for name in _OPENED.findall(text)):
            raise WordError(f"`{shown(text)}` opens a variable but does not close it", "write ${name}")
        return replace(node, value=text, text=text)

    def _joined(self, text: str, using: tuple[str, ...], own: Collection[str]) -> str:
        """Replaces the variables of a text, but not its `own`; checks its length before building it."""
        parts = [
            (f"${{{part}}}" if part in own else self._value(part, using).text) if place % 2 else part
            for place, part in enumerate(_USE.split(text))
        ]
        length = sum(map(len, parts))
        self._room -= length
        if length > LONGEST:
            what = f"`{shown(text)}` has {length} characters once its variables are replaced"
            raise WordError(what, f"a value has at most {LONGEST}")
        if self._room < 0:
            what = f"the values have more than {LONGEST_TOGETHER} characters once variables are replaced"
            raise WordError(what, "use shorter variables, or fewer of them")
        return "".join(parts)

    def _value(self, name: str, using: tuple[str, ...]) -> Node:
        if name in using:
            around = " -> ".join(map(shown, [*using[using.index(name) :], name]))
            what = f"the variable `{shown(name)}` refers to itself: {around}"
            raise WordError(what, "give one of them a value without variables")
        if name in self._told:
            raise _Told
        if len(using) >= DEEPEST:
            raise WordError(
                f"the variable `{shown(name)}` is the end of a chain of more than {DEEPEST} variables",
                "write its value where it is used",
            )
        if name not in self._variables:
            known = list(self._variables)
            hint = nearest_hint(name, known) if known else f"declare it: let: {{{name}: ...}}"
            raise WordError(f"there is no variable `{shown(name)}`", hint)
        if name not in self._values:
            self._values[name] = self._found(name, using)
        return self._values[name]

    def _found(self, name: str, using: tuple[str, ...]) -> Node:
        variable = self._variables[name]
        if not isinstance(variable.value, str) or "${" not in variable.value:
            return variable
        try:
            return self._replaced(variable, (*using, name))
        except WordError as error:
            self._told.add(name)
            if not isinstance(error, _Told):
                self._note(variable, f"let.{name}", error.message, error.hint)
            raise _Told from None


def braced(problem: Problem, names: Collection[str]) -> Problem:
    """The problem, with another hint if its value has a variable as a shell would have it: `$rate`."""
    used = (found[1] for found in _UNBRACED.finditer(problem.message) if found[1] in names)
    name = next(used, None)
    return problem if name is None else Problem(problem.loc, problem.message, f"write the variable as `${{{name}}}`")

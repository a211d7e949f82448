"""YAML text into a tree of nodes with line numbers (`document.Node`).

Only the node level of YAML 1.2 is used ([yaml_nodes.py](yaml_nodes.py)): `off` and `no` are text, not booleans
[yaml-1.2 §10.3]. Application tags and keys that are not scalars are refused. Aliases are copied; an alias that contains
itself is refused, and so is a file that grows too large by its aliases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from tailback.limits import FileRefused, read_bounded
from tailback.plain import has_control
from tailback.scenario.document import Node, Scalar
from tailback.scenario.errors import Finding, ScenarioError, Where
from tailback.scenario.paths import Loc, canonical, show
from tailback.scenario.yaml_nodes import MAPPING, SCALAR, SEQUENCE, TAG, TooLarge, compose
from tailback.scenario.yaml_nodes import Node as YamlNode
from tailback.tc.errors import nearest_hint

#: Maximum number of values, which take some seconds and 300 MB to read.
MAX_VALUES = 500_000
#: Maximum size of a file in bytes.
LARGEST = 10_000_000
#: Maximum depth; the deepest key of the schema has eight levels.
DEEPEST = 50

#: Prefix of positions on the command line, which have no line number.
OVERRIDE = "--set "

_TOO_LARGE = f"has more than {MAX_VALUES} values or {DEEPEST} levels"

_MERGE = f"{TAG}merge"


_LIBRARY = "`tailback list experiment` lists the experiments that come with Tailback"


def read_file(path: Path, similar: Callable[[], Sequence[str]] = list, otherwise: str = _LIBRARY) -> str:
    """The text of a file; raises `ScenarioError` if it cannot be read. `similar` names what else may be meant;
    `otherwise` is the hint if there is no such file and nothing similar.
    """
    where = Where(str(path))
    try:
        return read_bounded(path, LARGEST).decode("utf-8-sig")
    except FileNotFoundError:
        close = nearest_hint(str(path), similar())
        hint = close if close.startswith("did you mean") else otherwise
        raise _refused(where, "there is no such file", hint) from None
    except IsADirectoryError:
        raise _refused(where, "is a directory", "name the experiment file in it") from None
    except FileRefused as refused:
        raise _refused(where, f"is not read: {refused}", "is it an experiment file?") from None
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 text (byte {error.start})"
        raise _refused(where, message, "save the file as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _refused(where, f"cannot be read: {reason}", "check the name and the permissions") from None


def read_yaml(text: str, file: str) -> Node:
    """The tree of a YAML document; an empty document is an empty mapping."""
    root = _compose(text, file)
    return Node({}, Where(file, 1)) if root is None else _converted(root, file)


def read_value(text: str, override: str) -> Node:
    """The tree of a value on the command line; its position is `--set` and the override."""
    origin = f"{OVERRIDE}{override}"
    root = _compose(text, origin)
    return Node(None, Where(origin)) if root is None else _converted(root, origin)


def _converted(root: YamlNode, file: str) -> Node:
    conversion = _Conversion(file)
    node = conversion.node(root, ())
    if conversion.findings:
        raise ScenarioError(conversion.findings)
    return node


def _compose(text: str, file: str) -> YamlNode | None:
    try:
        # A key is a node beside its value.
        return compose(text, 2 * MAX_VALUES, DEEPEST)
    except TooLarge as error:
        raise _refused(_line(error.line, file), _TOO_LARGE, "split it into several files") from None
    except yaml.MarkedYAMLError as error:
        raise _refused(
            _place(error, file), f"is not YAML: {error.problem or error.context}", _yaml_hint(error)
        ) from None
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0]
        raise _refused(Where(file), f"is not YAML: {reason}", "save it as plain text") from None
    except RecursionError:
        raise _refused(Where(file), "is nested too deeply", f"an experiment has at most {DEEPEST} levels") from None


def _place(error: Any, file: str) -> Where:
    mark = error.problem_mark or error.context_mark
    return Where(file) if mark is None else _line(mark.line + 1, file)


def _line(number: int, file: str) -> Where:
    return Where(file, None if file.startswith(OVERRIDE) else number)


def _yaml_hint(error: Any) -> str:
    problem = str(error.problem or "")
    if "\\t" in problem or "tab" in problem:
        return "indent with spaces, not tabs"
    if "mapping values are not allowed" in problem:
        return "put a value that contains `: ` in quotes"
    if "document" in problem:
        return "one experiment per file: remove what follows `---`"
    if "expected ',' or '}', but got '['" in problem:
        return "put a key with `[` in quotes where it stands in `{}`: {'links[0].delay': 5ms}"
    if "alias" in problem:
        return "an alias `*name` needs an anchor `&name` above it"
    return "check quotes, brackets and indentation near this line"


class _Conversion:
    """Converts the parser's nodes to ours and collects errors."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self._open: set[int] = set()
        self._values = 0

    def node(self, source: YamlNode, loc: Loc, key: YamlNode | None = None) -> Node:
        where = self._where(key or source)
        self._values += 1
        if id(source) in self._open:
            raise _refused(where, "an alias contains itself", "write the value out", show(loc))
        # A merge (`<<`) does not add a level to `loc`, hence the second depth.
        if self._values > MAX_VALUES or max(len(loc), len(self._open)) > DEEPEST:
            raise _refused(where, f"{_TOO_LARGE} once aliases are replaced", "use fewer aliases", show(loc))
        self._open.add(id(source))
        try:
            return self._converted(source, loc, where)
        finally:
            self._open.discard(id(source))

    def _converted(self, source: YamlNode, loc: Loc, where: Where) -> Node:
        tag = str(source.tag or "")
        if not tag.startswith(TAG) or tag.removeprefix(TAG) in _FOREIGN:
            self._note(where, loc, f"the tag `{tag}` has no meaning here", "remove it")
            return Node(None, where)
        if source.id == SEQUENCE:
            return Node([self.node(child, (*loc, index)) for index, child in enumerate(source.value)], where)
        if source.id == MAPPING:
            return Node(self._entries(source, loc), where)
        assert source.id == SCALAR
        text = self._text(source, loc)
        return Node(_scalar(text, tag.removeprefix(TAG)), where, text)

    def _text(self, source: YamlNode, loc: Loc) -> str:
        value = str(source.value)
        if value.isascii() and value.isprintable():
            return value
        # Escapes in the form of JSON may write one character as a surrogate pair.
        try:
            text = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            control = has_control(text)
            if control is not None:
                self._note(self._where(source), loc, f"contains the control character {control}", "remove it")
            return text
        except UnicodeDecodeError:
            self._note(self._where(source), loc, "contains an incomplete character", "write the character itself")
            return ""

    def _entries(self, source: YamlNode, loc: Loc) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in source.value:
            if key.id != SCALAR:
                self._note(self._where(key), loc, "a key is a list or a mapping", "write a word as the key")
            elif str(key.tag) == _MERGE:
                merged = {**self._merged(value, loc), **merged}
            else:
                self._enter(entries, key, value, loc)
        return {**merged, **entries}

    def _enter(self, entries: dict[str, Node], key: YamlNode, value: YamlNode, loc: Loc) -> None:
        name = canonical(self._text(key, loc))
        here = (*loc, name)
        if name in entries:
            message = f"is given twice, first in line {entries[name].where.line}"
            self._note(self._where(key), here, message, "remove one of the two")
            return
        entries[name] = self.node(value, here, key)

    def _merged(self, value: YamlNode, loc: Loc) -> dict[str, Node]:
        sources = value.value if value.id == SEQUENCE else [value]
        merged: dict[str, Node] = {}
        for source in sources:
            node = self.node(source, loc)
            if not isinstance(node.value, dict):
                self._note(node.where, (*loc, "<<"), "the merged value is not a mapping", "refer to a mapping")
            merged = {**node.entries(), **merged}
        return merged

    def _note(self, where: Where, loc: Loc, message: str, hint: str) -> None:
        self.findings.append(Finding(where, show(loc), message, hint))

    def _where(self, source: YamlNode) -> Where:
        if self.file.startswith(OVERRIDE) or source.start_mark is None:
            return Where(self.file)
        return Where(self.file, source.start_mark.line + 1)


_FOREIGN = {"binary", "set", "omap", "pairs", "python"}


def _scalar(text: str, kind: str) -> Scalar:
    if kind == "null":
        return None
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        if kind == "int":
            return _integer(text.replace("_", ""))
        if kind == "float" and text.lower().lstrip("+-") not in (".inf", ".nan"):
            return float(text.replace("_", ""))
    except ValueError:
        return text
    return text


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return int(text, 0)


def _refused(where: Where, message: str, hint: str, path: str = "") -> ScenarioError:
    return ScenarioError([Finding(where, path, message, hint)])

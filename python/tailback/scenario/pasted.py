"""Reads disciplines from the commands of `tc`, or from what it printed: `qdisc`, `class` and `filter` of one device.

What `tc` prints and what means nothing in a run is ignored: the device, handles once the tree is built, `refcnt`,
`offloaded`, counters. All else is read, or refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field, structs

from tailback import qdiscs
from tailback.resolved import SizeTable
from tailback.scenario.algorithm import Algorithm, Class, Filter
from tailback.scenario.classifiers import Place, classifier
from tailback.scenario.size_tables import KEYS, KEYWORD, size_table
from tailback.scenario.stages import (
    STAB_AT_ROOT,
    chain,
    check_depth,
    check_required,
    discipline_table,
    options_before_bar,
    over,
    own_options,
    row_named,
)
from tailback.scenario.trees import check_bands, check_numbers, class_of, filter_of, parents_first
from tailback.tc import options as tc
from tailback.tc.errors import Needed, WordError
from tailback.tc.rows import Row
from tailback.tc.shell import PRINTED, Command
from tailback.tc.units import shown

_ROOT = -1
"""The place of the root, where a major number is expected."""

_VALUES = {
    "dev": 1, "parent": 1, "handle": 1, "refcnt": 1, "ingress_block": 1, "egress_block": 1, "estimator": 2, "est": 2,
}  # fmt: skip
_FLAGS = ("root", "offloaded", "invisible")

_MISSING = "is missing"

_UNPRINTED = "`tc qdisc show` does not print it: write it behind the line as it was given, such as"

_REMOVES = ("del", "delete")

_FIRST_PRIORITY = 0xC000
"""The priority of the first filter without one; each further one comes before it.   [linux-6.12 cls_api.c]"""


class _Discipline(Struct):
    """A discipline that was added, with what was added below it."""

    row: Row
    words: list[str]
    """Its options."""
    printed: bool
    major: int
    parent: tuple[int, int]
    line: str
    table: SizeTable | None = None
    below: str = ""
    """What stands behind a bar."""
    classes: dict[int, Class] = field(default_factory=dict)
    filters: list[tuple[int, Filter]] = field(default_factory=list)
    children: dict[int, _Discipline] = field(default_factory=dict)


class _Head(Struct):
    """What stands before the options: the place, and the name of the kind."""

    device: str = ""
    parent: tuple[int, int] | None = None
    major: int = 0
    table: SizeTable | None = None


def pasted(found: Sequence[Command], rows: Sequence[Row]) -> Algorithm:
    """The discipline that commands of `tc` make."""
    made = [command for command in found if command.verb == "qdisc" and command.action not in _REMOVES]
    device = _Device(rows, alone=len(made) == 1)
    for command in found:
        device.take(command)
    return device.tree()


class _Device:
    """The disciplines of a device, as commands change them."""

    def __init__(self, rows: Sequence[Row], *, alone: bool) -> None:
        self._rows = rows
        self._alone = alone
        """There is one discipline, whose place is of no importance."""
        self._name = ""
        self._root: _Discipline | None = None
        self._by_major: dict[int, _Discipline] = {}
        self._takes: dict[str, Callable[[Command], None]] = {
            "qdisc": self._qdisc, "class": self._class, "filter": self._filter,
        }  # fmt: skip

    def take(self, command: Command) -> None:
        """Carries out a command."""
        if command.action == "own":
            self._own(command)
        else:
            self._takes[command.verb](command)

    def tree(self) -> Algorithm:
        """The disciplines of the device."""
        if self._root is None:
            hint = "begin with it: tc qdisc add dev eth0 root fq_codel, or what `tc qdisc show dev eth0` prints"
            raise WordError("no line adds a root discipline", hint)
        self._check_depth(self._root)
        made = self._built(self._root)
        return made if self._root.table is None else structs.replace(made, stab=self._root.table)

    def _check_depth(self, root: _Discipline) -> None:
        level, depth = [root], 0
        while level:
            depth += 1
            level = [child for each in level for child in each.children.values()]
        check_depth(depth)

    # -- qdiscs

    def _qdisc(self, command: Command) -> None:
        words = list(command.words)
        kind, head = "", _Head()
        if command.action == PRINTED:
            kind, head.major = words.pop(0), tc.major(words.pop(0))
        words = self._head(words, head, command)
        if kind == "noqueue" and head.device == "lo" and not self._alone:
            return
        if self._alone and command.action not in _REMOVES:
            head.parent = (_ROOT, 0)
        self._check_device(head, command)
        kind = kind or (words.pop(0) if words else "")
        if command.action in _REMOVES:
            self._remove(head.parent, kind or "a discipline", command)
            return
        self._attach(kind, words, head, command)

    def _attach(self, kind: str, words: list[str], head: _Head, command: Command) -> None:
        if not kind:
            raise WordError(f"`{shown(command.line)}` names no discipline", "write it behind its place: root fq_codel")
        row = row_named(kind, self._rows, "queue discipline")
        if "[Unknown" in words:
            hint = f"print it with a newer iproute2, or write the options: {kind} limit 1000"
            raise WordError(
                f"the `tc` that printed `{shown(command.line)}` does not know the options of `{kind}`", hint
            )
        own, below = _at_bar(words)
        table = head.table or _table_below(command)
        parent = (_ROOT, 0) if head.parent is None else head.parent
        made = _Discipline(row, own, command.action == PRINTED, head.major, parent, command.line, table, below)
        if parent[0] != _ROOT and table is not None:
            raise WordError(f"`stab` of `{kind}` is below another discipline", STAB_AT_ROOT)
        before = self._root if parent[0] == _ROOT else self._owner(parent, command).children.get(parent[1])
        if command.action == "change" and before is not None and before.row is row:
            before.words += own
            return
        self._put(made, before, command)

    def _put(self, made: _Discipline, before: _Discipline | None, command: Command) -> None:
        if before is not None and command.action in ("add", PRINTED):
            place = "the root" if made.parent[0] == _ROOT else f"`parent {_written(made.parent)}`"
            hint = "remove one of the two lines" if made.printed else "remove one of the two lines, or write `replace`"
            raise WordError(f"`{shown(command.line)}` adds a second discipline to {place}", hint)
        if before is not None:
            self._forget(before)
        if made.parent[0] == _ROOT:
            self._root = made
        else:
            self._owner(made.parent, command).children[made.parent[1]] = made
        if made.major or made.parent[0] == _ROOT:
            self._by_major[made.major] = made

    def _remove(self, place: tuple[int, int] | None, kind: str, command: Command) -> None:
        """Removes a discipline; that there is none yet is no error in a script, which begins so."""
        if place is None or place[0] == _ROOT:
            if self._root is not None and kind not in ("ingress", "clsact"):
                self._forget(self._root)
                self._root = None
            return
        gone = self._owner(place, command).children.pop(place[1], None)
        if gone is not None:
            self._forget(gone)

    def _forget(self, gone: _Discipline) -> None:
        self._by_major = {major: each for major, each in self._by_major.items() if each is not gone}
        for child in gone.children.values():
            self._forget(child)

    # -- classes and filters

    def _class(self, command: Command) -> None:
        words = list(command.words)
        head, number, leaf = _Head(), "", False
        kind = ""
        if command.action == PRINTED:
            kind, number = words.pop(0), words.pop(0)
        rest: list[str] = []
        words = self._head(words, head, command)
        while words and not (kind and leaf):
            word = words.pop(0)
            if word in ("classid", "leaf") and words:
                number = words.pop(0) if word == "classid" else (words.pop(0) and number)
            elif word in ("root", "parent", "dev", "refcnt", "est", "estimator"):
                words = self._head([word, *words], head, command)
            elif not kind:
                kind = word
            else:
                rest.append(word)
        self._check_device(head, command)
        if not number:
            raise WordError(f"`{shown(command.line)}` names no class", "write its number: classid 1:10")
        if command.action == PRINTED and kind not in self._with_classes():
            # `tc class show` prints the queues of fq_codel and others as classes.
            return
        self._add_class(kind, rest, (tc.place(number), head.parent), command)

    def _add_class(
        self, kind: str, rest: list[str], where: tuple[tuple[int, int], tuple[int, int] | None], command: Command
    ) -> None:
        (major, minor), parent = where
        owner = self._owner((parent[0] if parent and parent[0] not in (_ROOT, 0) else major, minor), command)
        if kind != owner.row.name:
            if kind not in self._with_classes():
                row_named(kind, self._rows, "queue discipline")
            raise WordError(f"`{shown(command.line)}` adds a class of `{kind}` to `{owner.row.name}`", "name one kind")
        if command.action in _REMOVES:
            owner.classes.pop(minor, None)
            return
        own, below = _at_bar(rest)
        table = discipline_table(owner.row, owner.row.classes or ())
        given = _as_printed(own, table) if command.action == PRINTED else own
        options = options_before_bar(given, table, self._rows)
        if command.action == "change" and minor in owner.classes:
            options = owner.classes[minor].options | options
        if not qdiscs.of(kind).classes_by:
            check_required(table, options)
        before = owner.classes.get(minor)
        above = 0 if parent is None or parent[0] == _ROOT else parent[1]
        above = before.parent if before is not None and parent is None else above
        if command.action == "add" and minor in owner.classes:
            raise WordError(f"class {minor:x} is given twice", "give each class a number of its own")
        owner.classes[minor] = Class(minor, above, options, chain(below, self._rows) if below else None)

    def _filter(self, command: Command) -> None:
        words = list(command.words)
        if command.action in _REMOVES:
            return
        place = Place()
        found = classifier([*words, *(word for line in command.more for word in line.split())], place, command.line)
        self._check_device(_Head(place.device), command)
        if found is None:
            return
        owner = self._owner(place.parent, command) if place.parent is not None else self._needs_root(command)
        if owner.row.classes is None:
            raise WordError(f"`{owner.row.name}` has no classes for a filter", "remove the filter")
        priority = place.priority or _FIRST_PRIORITY - sum(
            1 for each, _ in owner.filters if each > _FIRST_PRIORITY // 2
        )
        owner.filters.append((priority, found))

    def _own(self, command: Command) -> None:
        """A line in our language among those of `tc`."""
        root = self._needs_root(command)
        if command.verb == "filter":
            root.filters.append((0, filter_of(list(command.words))))
        elif command.verb == "class":
            made = class_of(" ".join(command.words), root.row, self._rows)
            if made.minor in root.classes:
                raise WordError(f"class {made.minor:x} is given twice", "give each class a number of its own")
            root.classes[made.minor] = made
        else:
            # `qdisc fq_codel limit 100`: the command without its verb.
            head = _Head()
            words = self._head(list(command.words), head, command)
            self._attach(words[0] if words else "", words[1:], head, command)

    # -- places

    def _head(self, words: list[str], head: _Head, command: Command) -> list[str]:
        """Reads the place; returns the words behind it."""
        while words:
            word = words[0]
            if word in _FLAGS:
                words = words[1:]
                if word == "root":
                    head.parent = (_ROOT, 0)
            elif word == KEYWORD:
                head.table, words = size_table(words)
            elif word in _VALUES:
                if len(words) < 1 + _VALUES[word]:
                    raise WordError(f"`{shown(command.line)}` ends after `{word}`", "write its value behind it")
                # Tailback names devices `A -> B` where it prints them as `tc` does.
                count = 3 if word == "dev" and words[2:3] == ["->"] else _VALUES[word]
                value, words = " ".join(words[1 : 1 + count]), words[1 + count :]
                _take(head, word, value)
            else:
                break
        return words

    def _check_device(self, head: _Head, command: Command) -> None:
        if head.device and not self._name:
            self._name = head.device
        if head.device and head.device != self._name:
            what = f"`{shown(command.line)}` is about `{head.device}`, and the lines before it about `{self._name}`"
            hint = "here are the lines of one device: give those of the other its own key of `qdiscs`, `A -> B`"
            if head.device.startswith("ifb"):
                hint = "an ifb is a host before this one here: `tailback explain ifb` shows it"
            raise WordError(what, hint)

    def _owner(self, place: tuple[int, int], command: Command) -> _Discipline:
        """The discipline with a major number; 0 is one without a handle, which only a root is."""
        found = self._by_major.get(place[0])
        if found is None and len(self._by_major) == 1 and place[0] == 0:
            found = self._root
        if found is None:
            what = f"`{shown(command.line)}`: there is no discipline with the handle `{place[0]:x}:`"
            handles = ", ".join(f"{major:x}:" for major in self._by_major) or "none"
            raise WordError(what, f"add it on a line before; the handles so far are: {handles}")
        return found

    def _needs_root(self, command: Command) -> _Discipline:
        if self._root is None:
            raise WordError(f"`{shown(command.line)}` is before the root discipline", "add the root discipline first")
        return self._root

    def _with_classes(self) -> list[str]:
        return [row.name for row in self._rows if row.classes is not None]

    # -- the tree

    def _built(self, each: _Discipline) -> Algorithm:
        row = each.row
        if row.classes is None:
            return self._with_child(each)
        table = discipline_table(row, row.parameters)
        words = _as_printed(each.words, table) if each.printed else each.words
        if not each.classes and not each.children and not each.filters:
            below = chain(each.below, self._rows) if each.below else None
            return over(row, own_options(words, row, below, self._rows), below, self._rows)
        options = tc.options(words, table)
        counted = qdiscs.of(row.name).classes_by
        if counted == "queues" and counted not in options:
            options[counted] = max(each.children)
        classes = self._classes(each)
        filters = [one for _, one in sorted(each.filters, key=lambda pair: pair[0])]
        check_numbers(classes, filters)
        check_bands(row, options, classes)
        return Algorithm(row.name, options, None, tuple(parents_first(classes)), tuple(filters))

    def _with_child(self, each: _Discipline) -> Algorithm:
        if len(each.children) > 1:
            raise WordError(f"`{each.row.name}` has {len(each.children)} children", "it holds one: remove the others")
        made = next(iter(each.children.values()), None)
        child = self._built(made) if made is not None else chain(each.below, self._rows) if each.below else None
        table = discipline_table(each.row, each.row.parameters)
        words = _as_printed(each.words, table) if each.printed else each.words
        try:
            options = own_options(words, each.row, child, self._rows)
        except WordError as error:
            raise _not_printed(error, each, table) from None
        return over(each.row, options, child, self._rows)

    def _classes(self, each: _Discipline) -> list[Class]:
        found = dict(each.classes)
        if qdiscs.of(each.row.name).classes_by:
            found |= {minor: Class(minor, 0, {}, None) for minor in each.children if minor not in found}
        for minor, child in each.children.items():
            if minor not in found:
                known = ", ".join(f"{each.major:x}:{minor:x}" for minor in found)
                hint = f"the classes are: {known}" if known else "`tc class show dev DEV` prints them: add its lines"
                raise WordError(f"`{shown(child.line)}`: there is no class {each.major:x}:{minor:x}", hint)
            found[minor] = structs.replace(found[minor], child=self._built(child))
        return list(found.values())


def _take(head: _Head, word: str, value: str) -> None:
    if word == "dev":
        head.device = value
    elif word == "parent":
        head.parent = (_ROOT, 0) if value == "root" else tc.place(value)
    elif word == "handle":
        head.major = tc.major(value)


def _not_printed(error: WordError, each: _Discipline, table: tc.Table) -> WordError:
    """The error of a printed line that lacks an option, because `tc` does not print it."""
    if not each.printed:
        return error
    if error.message.endswith(_MISSING):
        given = error.hint.rpartition(": ")[2].removeprefix(f"{each.row.name} ")
        return WordError(error.message, f"{_UNPRINTED} {given}; `burst` and `probability` too, if they were given")
    if isinstance(error, Needed) and error.option in table.grammar.unprinted:
        what = f"`{error.option}` of `{table.kind}` {_MISSING}"
        return WordError(what, f"{_UNPRINTED} {error.option} {table.grammar.unprinted[error.option]}")
    return error


def _written(place: tuple[int, int]) -> str:
    return f"{place[0]:x}:{place[1]:x}"


def _at_bar(words: Sequence[str]) -> tuple[list[str], str]:
    """The words before a bar, and the text behind it."""
    if "|" not in words:
        return list(words), ""
    place = list(words).index("|")
    return list(words[:place]), " ".join(words[place + 1 :])


def _table_below(command: Command) -> SizeTable | None:
    """The size table, which `tc -d` prints on a line of its own."""
    for line in command.more:
        words = line.split()
        if words and set(words[::2]) <= set(KEYS):
            return size_table([KEYWORD, *words])[0]
    return None


def _as_printed(words: Sequence[str], table: tc.Table) -> list[str]:
    """The options that `tc` printed, without those that mean nothing here or that it prints twice."""
    kept: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        count = table.grammar.printed.get(word)
        if count is not None:
            del rest[:count]
        elif word in table.grammar.once and word in kept[:-1] and rest and kept[kept.index(word) + 1] == rest[0]:
            rest.pop(0)
        else:
            kept.append(word)
    return [*kept, *(f"no{name}" for name in table.grammar.off_unless_printed if kept and name not in kept)]

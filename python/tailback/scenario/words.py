"""Algorithms in the syntax of `tc`: `htb rate 100mbit burst 1600 | fq_codel limit 180`, `cubic hystart 0`.

    discipline = kind { option } [ "|" discipline ]        the child follows the bar
               | [ discipline, ... ]                       in series on one device, in this order
               | kind { option } NEWLINE { class | filter NEWLINE }                                        a tree
    class      = "class" [ "parent" ID ] [ "classid" ] ID { option } [ "|" discipline ]
    filter     = "filter" ( "flow" NAME | "from" HOST | "to" HOST | "dscp" WORD | "all" ) "flowid" ID

A tree may be written on one line with `;` between its lines. `prio | X` and `mq | X` attach an X to each band or queue,
`drr | X` attaches X to a single class that gets all packets. `tc/options.py` reads options, with the additions of
`qdiscs/KIND.py` for a discipline; names, units and ranges come from the registries of the core.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field

from tailback import qdiscs
from tailback.qdiscs import series
from tailback.resolved import Control, ControlSource
from tailback.tc import options as tc
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.rows import Parameter, Row
from tailback.tc.units import shown, whole

_SAMPLES = {"rate": "100mbit", "time": "5ms", "bytes": "1600b", "packets": "1000p", "number": "1", "flag": ""}

#: Code points by name. [rfc2474] [rfc2597] [rfc3246] [rfc4594 §2.3] [rfc5865] [rfc8622]
DSCP = {
    "BE": 0, "LE": 1, "EF": 46, "VA": 44,
    **{f"CS{number}": 8 * number for number in range(8)},
    **{f"AF{group}{drop}": 8 * group + 2 * drop for group in range(1, 5) for drop in range(1, 4)},
}  # fmt: skip

#: What a filter matches on, with an example.
_FITS = {"flow": "upload", "from": "client", "to": "server", "dscp": "EF"}


_INGRESS = "let a host before it shape what arrives, such as `wan -> router: cake bandwidth 45mbit ingress`"

_TAIL_DROP = "write `pfifo limit 100`, a FIFO that drops at its tail"

NOT_MODELLED: Mapping[str, str] = {
    **dict.fromkeys(("droptail", "drop-tail", "drop_tail", "taildrop", "tail-drop", "fifo"), _TAIL_DROP),
    "noqueue": "remove it: the device of a link without a rate has no discipline",
    "ingress": f"{_INGRESS}; `tailback explain ifb` has an example",
    "clsact": f"{_INGRESS}; `tailback explain ifb` has an example",
}
"""What to do instead of disciplines that Linux has, or other tools' names for."""


class Filter(Struct, frozen=True):
    """Sends matching packets to a class. `fits`: flow, from, to, dscp or all; `what`: the name or code point."""

    fits: str
    what: str | int | None
    minor: int


class Class(Struct, frozen=True):
    """A class of a tree, with its minor number; parent 0 is the discipline."""

    minor: int
    parent: int
    options: dict[str, int]
    child: Algorithm | None


class Algorithm(Struct, frozen=True, dict=True):
    """An algorithm with the given options in base units; a discipline may have a child or classes."""

    kind: str
    options: dict[str, int] = field(default_factory=dict)
    child: Algorithm | None = None
    classes: tuple[Class, ...] = ()
    filters: tuple[Filter, ...] = ()
    source: ControlSource | None = None
    """The file of a congestion control that the user wrote."""
    parameters: Mapping[str, int | float | bool | str] = field(default_factory=dict)
    """The parameters of the congestion control, by name."""

    @property
    def children(self) -> tuple[Algorithm, ...]:
        """The disciplines directly below."""
        own = () if self.child is None else (self.child,)
        return own + tuple(each.child for each in self.classes if each.child is not None)

    @cached_property
    def control(self) -> Control:
        """The congestion control of a resolved scenario, which all flows of an entry share."""
        return Control(name=self.kind, options=dict(self.options), parameters=dict(self.parameters))


def discipline(text: object, rows: Sequence[Row]) -> Algorithm:
    """Reads a queue discipline with its child or classes, or a list of disciplines in series."""
    if isinstance(text, list):
        return _series(text, rows)
    if not isinstance(text, str) or not text.strip():
        raise WordError(f"`{shown(text)}` is not a queue discipline", "write it as tc does: fq_codel limit 1000")
    lines = lines_of(text)
    if not lines:
        raise WordError(f"`{shown(text)}` is not a queue discipline", "write it as tc does: fq_codel limit 1000")
    return _chain(lines[0], rows) if len(lines) == 1 else _tree(lines, rows)


def lines_of(text: str) -> list[str]:
    """The lines of a discipline, without the device, handle and place that they have in `tc qdisc add` and `show`."""
    return [_own_words(line) for line in re.split("[\n;]", text) if line.strip()]


def _own_words(line: str) -> str:
    words = line.split()
    verb = next((word for word in words[:2] if word in ("qdisc", "class", "filter")), None)
    rest = words[words.index(verb) + 1 :] if verb is not None and words[0] in ("tc", verb) else []
    if not rest:
        return " ".join(words)
    if verb != "qdisc":
        return " ".join([str(verb), *_without(rest, ("dev",))])
    kind, *options = _without(rest, ("dev", "parent", "handle", "refcnt")) or [""]
    # `tc qdisc show` has the handle behind the kind.
    options = options[1:] if options and options[0].endswith(":") else options
    return " ".join([kind, *options]) if kind else line


def _series(stages: list[object], rows: Sequence[Row]) -> Algorithm:
    if not stages:
        raise WordError("an empty list is not a queue discipline", "list the disciplines in the order of the packets")
    found = [discipline(stage, rows) for stage in stages]
    if len(found) == 1:
        return found[0]
    return Algorithm(series.KIND, classes=tuple(Class(place, 0, {}, stage) for place, stage in enumerate(found, 1)))


def _chain(text: str, rows: Sequence[Row]) -> Algorithm:
    stages = [stage.split() for stage in text.split("|")]
    child: Algorithm | None = None
    for words in reversed(stages):
        child = _stage(words, rows, child)
    assert child is not None
    return child


def control(text: object, rows: Sequence[Row]) -> Algorithm:
    """Reads a congestion control: `cubic hystart 0` or `{name: cubic, hystart: 0}`."""
    if isinstance(text, Mapping):
        return _mapped_control(text, rows)
    if not isinstance(text, str) or not text.split():
        hint = f"use one of: {_names(rows)}"
        raise WordError(f"`{shown(text)}` is not a congestion control", hint)
    words = text.split()
    table = _table(_row_named(words[0], rows, "congestion control"))
    return Algorithm(words[0], _options(list(_flags_in_words(words, table)), table))


def _flags_in_words(words: Sequence[str], table: tc.Table) -> Iterator[str]:
    """`hystart 0`, as labels have it and `sysfs` shows it, becomes `nohystart`."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        parameter = table.parameter(word)
        if parameter is not None and parameter.unit == "flag" and rest[:1] in (["0"], ["1"]):
            yield word if rest.pop(0) == "1" else f"no{word}"
        else:
            yield word


_CONTROL_HINT = "write its name and its module parameters: {name: cubic, hystart: 0}"


def _mapped_control(entry: Mapping[object, object], rows: Sequence[Row]) -> Algorithm:
    if not isinstance(entry.get("name"), str):
        raise WordError("the congestion control has no name", _CONTROL_HINT)
    row = _row_named(str(entry["name"]), rows, "congestion control")
    table = _table(row)
    given = [(str(option), value) for option, value in entry.items() if option != "name"]
    options = {option: _mapped_value(option, value, table) for option, value in given}
    _check_required(table, options)
    return Algorithm(row.name, options)


def _mapped_value(option: str, value: object, table: tc.Table) -> int:
    parameter = table.parameter(option)
    if parameter is None:
        hint = nearest_hint(option, [each.name for each in table.parameters])
        raise WordError(f"`{shown(option)}` is not an option of `{table.kind}`", hint)
    if value in (0, 1) and (isinstance(value, bool) or parameter.unit == "flag"):
        return tc.within(parameter, int(value), shown(value), table.kind)
    if isinstance(value, bool | float) or not isinstance(value, int | str) or parameter.unit == "flag":
        hint = f"{parameter.meaning}; write {option}: {_sample(parameter) or 1}"
        raise WordError(f"`{shown(value)}` is not a value of `{option}` of `{table.kind}`", hint)
    return tc.value_of(parameter, str(value), table)


def driver(text: object, rows: Sequence[Row]) -> Algorithm:
    """Reads a Wi-Fi driver: `ath9k slots 1`."""
    if not isinstance(text, str) or not text.split():
        raise WordError(f"`{shown(text)}` is not a driver", f"use one of: {_names(rows)}")
    words = text.split()
    of_chip = [row for row in rows if words[0] in re.findall(r"[\w.]+", row.summary)]
    if of_chip and words[0] not in (row.name for row in rows):
        raise WordError(
            f"`{shown(words[0])}` is not a driver", f"did you mean `{of_chip[0].name}`? {of_chip[0].summary}"
        )
    return Algorithm(words[0], _options(words, _table(_row_named(words[0], rows, "driver"))))


def _stage(words: list[str], rows: Sequence[Row], child: Algorithm | None) -> Algorithm:
    if not words:
        raise WordError("one side of `|` is empty", "write the shaper before the bar and its child after it")
    row = _row_named(words[0], rows, "queue discipline")
    options = _options(words, _discipline_table(row, row.parameters))
    if child is None:
        return Algorithm(row.name, options)
    copies = _copies(row, options)
    if copies:
        return Algorithm(row.name, options, classes=tuple(Class(minor, 0, {}, child) for minor in range(1, copies + 1)))
    if qdiscs.of(row.name).takes == "packets of filters":
        return Algorithm(row.name, options, classes=(Class(1, 0, {}, child),), filters=(Filter("all", None, 1),))
    if not row.classful:
        holders = ", ".join(other.name for other in rows if other.classful or other.classes is not None) or "none"
        raise WordError(f"`{row.name}` cannot have a child", f"these can: {holders}")
    return Algorithm(row.name, options, child)


def _copies(row: Row, options: dict[str, int]) -> int:
    """The number of bands or queues that each get a copy of the child; 0 for other disciplines."""
    parameter = row.parameter(qdiscs.of(row.name).classes_by)
    return 0 if parameter is None else options.get(parameter.name, parameter.default or 0)


_ONE_TREE = (
    "write the child behind its class: class 10 rate 5mbit | fq_codel. Only the first discipline of a device has "
    "classes: to shape a tree of prio or drr, give the link its rate"
)


def _tree(lines: list[str], rows: Sequence[Row]) -> Algorithm:
    if "|" in lines[0]:
        raise WordError(f"`{shown(lines[0])}` has a child, and below it are classes", _ONE_TREE)
    words = _without(lines[0].split(), ("handle",))
    row = _row_named(words[0] if words else "", rows, "queue discipline")
    if row.classes is None:
        holders = ", ".join(other.name for other in rows if other.classes is not None) or "none"
        raise WordError(f"`{row.name}` has no classes", f"these have: {holders}")
    options = tc.options(words[1:], _discipline_table(row, row.parameters))
    classes: list[Class] = []
    filters: list[Filter] = []
    for line in lines[1:]:
        keyword, *rest = line.split()
        if keyword == "class":
            classes.append(_class(" ".join(rest), row, rows))
        elif keyword == "filter":
            filters.append(_filter(rest))
        else:
            hint = "begin it with `class` or `filter`; a child is behind its class: class 1:10 rate 5mbit | fq_codel"
            raise WordError(f"`{shown(line)}` is neither a class nor a filter", hint)
    _check_tree(options, classes, filters)
    _check_bands(row, options, classes)
    return Algorithm(row.name, options, None, tuple(_parents_first(classes)), tuple(filters))


def _without(words: list[str], keys: Sequence[str]) -> list[str]:
    """Removes `add`, `root` and the like, and `keys` with their values: `handle 1:`."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in keys:
            next(rest, None)
        elif word not in ("add", "replace", "change", "root"):
            kept.append(word)
    return kept


def _class(text: str, row: Row, rows: Sequence[Row]) -> Class:
    own, bar, below = text.partition("|")
    words, minor, parent = own.split(), None, 0
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if word in ("parent", "classid"):
            value = tc.minor(words.pop(0) if words else "")
            parent, minor = (value, minor) if word == "parent" else (parent, value)
        elif word not in ("add", row.name):
            if minor is None and not rest and row.name not in text.split() and _is_class_number(word):
                minor = tc.minor(word)
            else:
                rest.append(word)
    if not minor:
        raise WordError("a class has no number", f"write it after `class`, in hexadecimal: class 1:10 {' '.join(rest)}")
    table = _discipline_table(row, row.classes or ())
    options = tc.options(rest, table)
    _check_required(table, options)
    return Class(minor, parent, options, _chain(below, rows) if bar else None)


def _is_class_number(word: str) -> bool:
    try:
        return tc.minor(word) > 0
    except WordError:
        return False


def _filter(words: list[str]) -> Filter:
    *fits, keyword, number = words if len(words) >= 3 else ["", "", ""]
    sample = "filter flow upload flowid 1:10"
    if keyword not in ("flowid", "classid", "->"):
        raise WordError(
            f"`filter {shown(' '.join(words))}` names no class", f"end it with `flowid` and a class: {sample}"
        )
    match fits:
        case ["all"]:
            return Filter("all", None, tc.minor(number))
        case ["dscp", word]:
            return Filter("dscp", code_point(word), tc.minor(number))
        case ["flow" | "from" | "to" as kind, name]:
            return Filter(kind, name, tc.minor(number))
    hint = f"write one of: {', '.join(f'{kind} {word}' for kind, word in _FITS.items())}, all"
    if set(fits) & {"u32", "flower", "match", "dport", "sport", "dst_port", "src_port", "handle", "fw"}:
        hint += "; for ports, name the traffic (flow NAME) or give it a `dscp`"
    raise WordError(f"`{shown(' '.join(fits))}` is not a match of a filter", hint)


def code_point(word: object) -> int:
    """Reads a DSCP by name or number."""
    word = str(word)
    if word.upper() in DSCP:
        return DSCP[word.upper()]
    number = whole(word)
    if number is not None and number < 64:
        return number
    raise WordError(
        f"`{shown(word)}` is not a code point", f"write 0 to 63, or {nearest_hint(word.upper(), list(DSCP))}"
    )


def _check_tree(options: dict[str, int], classes: list[Class], filters: list[Filter]) -> None:
    minors = [each.minor for each in classes]
    for each in classes:
        if minors.count(each.minor) > 1:
            raise WordError(f"class {each.minor:x} is given twice", "give each class a number of its own")
        if each.parent and each.parent not in minors:
            raise WordError(f"class {each.minor:x} has no parent {each.parent:x}", "add the parent, or remove `parent`")
    chosen = [(one.minor, "filter") for one in filters]
    chosen += [(options["default"], "`default`")] if options.get("default") else []
    for minor, who in chosen:
        if minor not in minors:
            known = ", ".join(f"1:{each:x}" for each in minors) or "none"
            raise WordError(f"there is no class {minor:x} for the {who}", f"use one of: {known}")


def _check_bands(row: Row, options: dict[str, int], classes: list[Class]) -> None:
    """Refuses classes of bands or queues that the discipline does not have."""
    most = _copies(row, options)
    for each in classes:
        if most and each.minor > most:
            counted = qdiscs.of(row.name).classes_by
            hint = f"number the classes from 1 to {most}, or give more {counted}: {row.name} {counted} {each.minor}"
            raise WordError(f"`{row.name}` has {most} {counted}, and no class {each.minor:x}", hint)


def _parents_first(classes: list[Class]) -> Iterator[Class]:
    """Sorts classes so that each parent precedes its children."""
    waiting, known = list(classes), {0}
    while waiting:
        ready = [each for each in waiting if each.parent in known]
        if not ready:
            raise WordError("classes are each other's parents", "give one of them the parent 1:")
        yield from ready
        known |= {each.minor for each in ready}
        waiting = [each for each in waiting if each not in ready]


def _row_named(kind: str, rows: Sequence[Row], noun: str) -> Row:
    for row in rows:
        if row.name == kind:
            return row
    hint = NOT_MODELLED.get(kind.lower()) or nearest_hint(kind, [row.name for row in rows])
    raise WordError(f"`{shown(kind)}` is not a {noun}", hint)


def _table(row: Row) -> tc.Table:
    return tc.Table(row.name, row.parameters)


def _discipline_table(row: Row, parameters: Sequence[Parameter]) -> tc.Table:
    """The options of a discipline or of its classes."""
    return tc.Table(row.name, parameters, qdiscs.of(row.name).grammar)


def _options(words: list[str], table: tc.Table) -> dict[str, int]:
    options = tc.options(words[1:], table)
    _check_required(table, options)
    return options


def _check_required(table: tc.Table, options: dict[str, int]) -> None:
    for parameter in table.parameters:
        if parameter.required and parameter.name not in options:
            hint = f"{parameter.meaning}: {table.kind} {parameter.name} {_sample(parameter)}"
            raise WordError(f"`{parameter.name}` of `{table.kind}` is missing", hint)


def _sample(parameter: Parameter) -> str:
    return _SAMPLES.get(parameter.unit, "1")


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(row.name for row in rows)

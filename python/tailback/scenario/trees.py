"""Reads trees of classes and filters: a discipline, and below it a line for each class and filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from tailback import qdiscs
from tailback.scenario.algorithm import Algorithm, Class, Filter
from tailback.scenario.size_tables import size_table
from tailback.scenario.stages import (
    DEEPEST,
    chain,
    check_required,
    copies,
    discipline_table,
    options_before_bar,
    row_named,
)
from tailback.tc import options as tc
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.rows import Row
from tailback.tc.units import shown, whole

#: Code points by name. [rfc2474] [rfc2597] [rfc3246] [rfc4594 §2.3] [rfc5865] [rfc8622]
DSCP = {
    "BE": 0, "LE": 1, "EF": 46, "VA": 44,
    **{f"CS{number}": 8 * number for number in range(8)},
    **{f"AF{group}{drop}": 8 * group + 2 * drop for group in range(1, 5) for drop in range(1, 4)},
}  # fmt: skip

#: What a filter matches on, with an example.
_FITS = {"flow": "upload", "from": "client", "to": "server", "dscp": "EF"}

_ONE_TREE = (
    "write the child behind its class: class 10 rate 5mbit | fq_codel. Only the first discipline of a device has "
    "classes: to shape a tree of prio or drr, give the link its rate"
)


def tree(lines: list[str], rows: Sequence[Row]) -> Algorithm:
    """Reads a discipline, and the lines of its classes and filters."""
    if "|" in lines[0]:
        raise WordError(f"`{shown(lines[0])}` has a child, and below it are classes", _ONE_TREE)
    table, words = size_table(without(lines[0].split(), ("handle",)))
    row = row_named(words[0] if words else "", rows, "queue discipline")
    if row.classes is None:
        holders = ", ".join(other.name for other in rows if other.classes is not None) or "none"
        raise WordError(f"`{row.name}` has no classes", f"these have: {holders}")
    options = options_before_bar(words[1:], discipline_table(row, row.parameters), rows)
    classes: list[Class] = []
    filters: list[Filter] = []
    for line in lines[1:]:
        keyword, *rest = line.split()
        if keyword == "class":
            classes.append(class_of(" ".join(rest), row, rows))
        elif keyword == "filter":
            filters.append(filter_of(rest))
        else:
            hint = "begin it with `class` or `filter`; a child is behind its class: class 1:10 rate 5mbit | fq_codel"
            raise WordError(f"`{shown(line)}` is neither a class nor a filter", hint)
    _check_tree(options, classes, filters)
    check_bands(row, options, classes)
    made = Algorithm(row.name, options, None, tuple(parents_first(classes)), tuple(filters))
    return made if table is None else structs.replace(made, stab=table)


def without(words: list[str], keys: Sequence[str]) -> list[str]:
    """Removes `add`, `root` and the like, and `keys` with their values: `handle 1:`."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in keys:
            next(rest, None)
        elif word not in ("add", "replace", "change", "root"):
            kept.append(word)
    return kept


def class_of(text: str, row: Row, rows: Sequence[Row]) -> Class:
    """Reads a class: `1:10 parent 1:1 rate 5mbit | fq_codel`."""
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
    table = discipline_table(row, row.classes or ())
    options = options_before_bar(rest, table, rows)
    check_required(table, options)
    return Class(minor, parent, options, chain(below, rows) if bar else None)


def _is_class_number(word: str) -> bool:
    try:
        return tc.minor(word) > 0
    except WordError:
        return False


def filter_of(words: list[str]) -> Filter:
    """Reads a filter: `flow upload flowid 1:10`."""
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
    check_numbers(classes, filters)
    if options.get("default"):
        _check_chosen(options["default"], "`default`", classes)


def check_numbers(classes: list[Class], filters: list[Filter]) -> None:
    """Refuses numbers of classes that are given twice, and parents and classes of filters that there are not."""
    minors = [each.minor for each in classes]
    for each in classes:
        if minors.count(each.minor) > 1:
            raise WordError(f"class {each.minor:x} is given twice", "give each class a number of its own")
        if each.parent and each.parent not in minors:
            raise WordError(f"class {each.minor:x} has no parent {each.parent:x}", "add the parent, or remove `parent`")
    for one in filters:
        _check_chosen(one.minor, "filter", classes)


def _check_chosen(minor: int, who: str, classes: list[Class]) -> None:
    minors = [each.minor for each in classes]
    if minor not in minors:
        known = ", ".join(f"1:{each:x}" for each in minors) or "none"
        raise WordError(f"there is no class {minor:x} for the {who}", f"use one of: {known}")


def check_bands(row: Row, options: dict[str, int], classes: list[Class]) -> None:
    """Refuses classes of bands or queues that the discipline does not have."""
    most = copies(row, options)
    for each in classes:
        if most and each.minor > most:
            counted = qdiscs.of(row.name).classes_by
            hint = f"number the classes from 1 to {most}, or give more {counted}: {row.name} {counted} {each.minor}"
            raise WordError(f"`{row.name}` has {most} {counted}, and no class {each.minor:x}", hint)


def parents_first(classes: list[Class]) -> Iterator[Class]:
    """Sorts classes so that each parent precedes its children: level by level, each in the order of the file."""
    below: dict[int, list[int]] = {}
    for place, each in enumerate(classes):
        below.setdefault(each.parent, []).append(place)
    level, found = below.get(0, []), 0
    for _ in range(DEEPEST):
        yield from (classes[place] for place in level)
        found += len(level)
        level = sorted(place for above in level for place in below.get(classes[above].minor, ()))
    if level:
        raise WordError(f"classes are more than {DEEPEST} levels deep", "Linux has at most 8: give some a parent above")
    if found < len(classes):
        raise WordError("classes are each other's parents", "give one of them the parent 1:")

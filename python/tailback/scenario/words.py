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

from tailback.qdiscs import series
from tailback.scenario.algorithm import Algorithm, Class, Filter
from tailback.scenario.pasted import pasted
from tailback.scenario.stages import chain, check_required, options_of, row_named, sample
from tailback.scenario.trees import code_point, tree, without
from tailback.tc import options as tc
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.rows import Row
from tailback.tc.shell import VERBS, commands, is_pasted
from tailback.tc.units import shown

__all__ = ["Algorithm", "Class", "Filter", "code_point", "control", "discipline", "driver", "own_lines"]


def discipline(text: object, rows: Sequence[Row]) -> Algorithm:
    """Reads a queue discipline with its child or classes, or a list of disciplines in series."""
    if isinstance(text, list):
        return _series(text, rows)
    if not isinstance(text, str) or not text.strip():
        raise WordError(f"`{shown(text)}` is not a queue discipline", "write it as tc does: fq_codel limit 1000")
    if text.lstrip()[:2] in ("[{", "[ "):
        raise WordError(f"`{shown(text)}` is JSON", "paste what `tc qdisc show` prints without -j")
    if is_pasted(text):
        return pasted(commands(text), rows)
    lines = own_lines(text)
    if not lines:
        raise WordError(f"`{shown(text)}` is not a queue discipline", "write it as tc does: fq_codel limit 1000")
    return chain(lines[0], rows) if len(lines) == 1 else tree(lines, rows)


def own_lines(text: str) -> list[str]:
    """The lines of a discipline in our language, without what `tc` has in front of its options."""
    if is_pasted(text):
        return [_options_line(command.verb, command.words) for command in commands(text)]
    return [_own_words(line) for line in re.split("[\n;]", text) if line.strip()]


def _options_line(verb: str, words: Sequence[str]) -> str:
    return " ".join(words if verb == "qdisc" else (verb, *words))


def _own_words(line: str) -> str:
    """A line of `tc class` or `tc filter`, without the command and the device."""
    words = line.split()
    verb = next((word for word in words[:2] if word in VERBS), None)
    rest = words[words.index(verb) + 1 :] if verb is not None and words[0] in ("tc", verb) else []
    return " ".join([str(verb), *without(rest, ("dev",))]) if rest else " ".join(words)


def _series(stages: list[object], rows: Sequence[Row]) -> Algorithm:
    if not stages:
        raise WordError("an empty list is not a queue discipline", "list the disciplines in the order of the packets")
    found = [discipline(stage, rows) for stage in stages]
    if len(found) == 1:
        return found[0]
    return Algorithm(series.KIND, classes=tuple(Class(place, 0, {}, stage) for place, stage in enumerate(found, 1)))


def control(text: object, rows: Sequence[Row]) -> Algorithm:
    """Reads a congestion control: `cubic hystart 0` or `{name: cubic, hystart: 0}`."""
    if isinstance(text, Mapping):
        return _mapped_control(text, rows)
    if not isinstance(text, str) or not text.split():
        hint = f"use one of: {_names(rows)}"
        raise WordError(f"`{shown(text)}` is not a congestion control", hint)
    words = text.split()
    table = _table(row_named(words[0], rows, "congestion control"))
    return Algorithm(words[0], options_of(list(_flags_in_words(words[1:], table)), table))


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
    row = row_named(str(entry["name"]), rows, "congestion control")
    table = _table(row)
    given = [(str(option), value) for option, value in entry.items() if option != "name"]
    options = {option: _mapped_value(option, value, table) for option, value in given}
    check_required(table, options)
    return Algorithm(row.name, options)


def _mapped_value(option: str, value: object, table: tc.Table) -> int:
    parameter = table.parameter(option)
    if parameter is None:
        hint = nearest_hint(option, [each.name for each in table.parameters])
        raise WordError(f"`{shown(option)}` is not an option of `{table.kind}`", hint)
    if value in (0, 1) and (isinstance(value, bool) or parameter.unit == "flag"):
        return tc.within(parameter, int(value), shown(value), table.kind)
    if isinstance(value, bool | float) or not isinstance(value, int | str) or parameter.unit == "flag":
        hint = f"{parameter.meaning}; write {option}: {sample(parameter) or 1}"
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
    return Algorithm(words[0], options_of(words[1:], _table(row_named(words[0], rows, "driver"))))


def _table(row: Row) -> tc.Table:
    return tc.Table(row.name, row.parameters)


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(row.name for row in rows)

"""Finds times and rates of disciplines and drivers without a unit, which `tc` reads in a unit that depends on the
option; options of drivers are read as `tc` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from tailback import qdiscs
from tailback.scenario.words import own_lines
from tailback.tc import options as tc
from tailback.tc.options import Positional, Table
from tailback.tc.rows import Parameter, Row
from tailback.tc.units import plain_word

BASE_UNITS = {"time": "microseconds", "rate": "bit/s"}
"""The units of bare numbers, with exceptions in nanoseconds."""


class BareNumber(Struct, frozen=True):
    """A number without a unit: the value of `option` of `kind`, which means `value`."""

    kind: str
    option: str
    word: str
    value: str
    noun: str
    base: str

    @property
    def likely(self) -> str:
        """What was probably meant."""
        number = tc.decimal(self.word) or Fraction(0)
        word, digits = plain_word(number), len(str(int(number)))
        if self.noun == "time":
            # Who writes thousands, as the limits of AQL in debugfs are written, counts in the small unit.
            return f"{word}ms" if digits <= 3 else self.value
        return f"{word}mbit" if digits <= 3 else f"{word}kbit" if digits <= 6 else self.value


def bare_numbers(text: str, rows: Sequence[Row]) -> Iterator[BareNumber]:
    """The bare numbers in a valid discipline."""
    root: Row | None = None
    for line in own_lines(text):
        for stage in line.split("|"):
            first, *words = stage.split() or [""]
            if first == "class" and root is not None:
                yield from _in_stage(words, Table(root.name, root.classes or (), qdiscs.of(root.name).grammar))
            row = next((row for word in (first, *words) for row in rows if row.name == word), None)
            if row is not None and first not in ("class", "filter"):
                root = root or row
                yield from _in_stage(words, Table(row.name, row.parameters, qdiscs.of(row.name).grammar))


def of_driver(text: str, rows: Sequence[Row]) -> Iterator[BareNumber]:
    """The bare numbers in a valid driver, such as one with `airtime 5`."""
    first, *words = text.split() or [""]
    row = next((row for row in rows if row.name == first), None)
    if row is not None:
        yield from _in_stage(words, Table(row.name, row.parameters))


def _in_stage(words: Sequence[str], table: Table) -> Iterator[BareNumber]:
    expected: Sequence[str] = ()
    for word in words:
        keyword = _values_after(word, table)
        if not keyword and expected:
            yield from _as_value(table.require(expected[0]), word, table)
        expected = keyword or expected[1:]


def _values_after(word: str, table: Table) -> Sequence[str]:
    """The parameters whose values follow a keyword."""
    form = table.grammar.forms.get(word)
    if isinstance(form, Positional):
        return form.names
    parameter = table.parameter(table.grammar.aliases.get(word, word))
    return (parameter.name,) if parameter is not None else ()


def _as_value(parameter: Parameter, word: str, table: Table) -> Iterator[BareNumber]:
    if parameter.unit not in BASE_UNITS or not tc.decimal(word):
        return
    base = "nanoseconds" if table.option(parameter.name).notation == "nanoseconds" else BASE_UNITS[parameter.unit]
    value = tc.written(parameter, tc.value_of(parameter, word, table))
    yield BareNumber(table.kind, parameter.name, word, value, parameter.unit, base)

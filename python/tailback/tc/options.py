"""Reads the options of an algorithm in the syntax of `tc`: words in, integers in base units out.

Most options are `NAME VALUE`, or a flag `NAME` / `noNAME`, with names and units from the registry. An algorithm with
other syntax has a `Grammar`; those of the disciplines are in `tailback.qdiscs`.

units: rates, sizes and times as in `units.py`; a bare number is bit/s, bytes, microseconds (nanoseconds for netem) or
per cent.                                                   [iproute2 tc(8), tc_util.c, q_*.c; linux-6.12 pkt_sched.h]

As in `tc`, the last value of a repeated option counts, 0 often means that the option is not given, and values are
clamped as in the kernel. `python -m conformance.tc` compares all this with a real `tc` on a real kernel.

Deviations: `180p` is accepted as a number of packets, which `tc` prints but does not read. Abbreviated keywords, rates
in per cent of a device's speed, and negative values that wrap around in `tc` are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from msgspec import Struct, field

from tailback.tc import units
from tailback.tc.errors import Needed, WordError, nearest_hint
from tailback.tc.rows import Parameter
from tailback.tc.units import LARGEST, shown

#: The kernel's representation of 100 %: 2^32 - 1.
WHOLE = 2**32 - 1

Options = dict[str, int]


Notation = Literal["of its unit", "plain number", "number as a size", "size and cell", "hexadecimal", "nanoseconds"]
"""The notation of a value. `plain number`: without a unit, but for the units that `tc show` prints (`3028b`, `128Kb`).
`number as a size`: a number of packets that may be `10k`.
`size and cell`: a size, optionally followed by `/` and the size of a cell. `nanoseconds`: a time whose default unit is
ns instead of µs."""

Zero = Literal["a value", "not given"]
"""The meaning of 0."""


class Option(Struct, frozen=True):
    """The syntax of one option, if it differs from that of its unit."""

    notation: Notation = "of its unit"
    zero: Zero = "a value"
    cut_to: tuple[int, int] = (0, LARGEST)
    """The range to which the kernel or `tc` silently clamps it."""
    raised_to: int = 0
    """The minimum to which the kernel raises it, unless it is 0 and therefore not given."""


USUAL = Option()

#: 0 means that the option is not given.                                          [iproute2 q_*.c] [conformance.tc]
NOT_GIVEN_IF_ZERO = Option(zero="not given")

PLAIN_NUMBER = Option("plain number")


def _last_value(_found: Options, given: Options) -> Options:
    return given


def _as_given(found: Options) -> Options:
    return found


class Grammar(Struct, frozen=True):
    """The syntax of the options of one algorithm, as far as it is special."""

    options: Mapping[str, Option] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Parameters by alternative keyword."""
    without_keyword: Sequence[str] = ()
    """Parameters without their own keyword, which forms set."""
    forms: Mapping[str, Form] = field(default_factory=dict)
    """Readers of the words after a keyword."""
    keywords: Mapping[str, str] = field(default_factory=dict)
    """The meaning of each keyword that is neither a parameter nor a value of a choice."""
    once: Sequence[str] = ()
    """Options that `tc` refuses to read twice."""
    companions: Sequence[tuple[Sequence[str], Sequence[str]]] = ()
    """Options that need at least one of the other options."""
    not_modelled: Mapping[str, str] = field(default_factory=dict)
    """Options of `tc` that are not modelled, with remedies."""
    printed: Mapping[str, int] = field(default_factory=dict)
    """What `tc show` prints and what means nothing here, with the number of words behind it."""
    unprinted: Mapping[str, str] = field(default_factory=dict)
    """Options that `tc show` does not print, although others mean nothing without them; each with a usual value."""
    off_unless_printed: Sequence[str] = ()
    """Flags that are on unless told otherwise, of which `tc show` prints nothing if they are off."""
    added: Callable[[Options, Options], Options] = _last_value
    """Combines the options so far with new ones."""
    finished: Callable[[Options], Options] = _as_given
    """Completes the options when all are read."""


class Table(Struct, frozen=True):
    """The options of an algorithm: its kind, its parameters, and their syntax."""

    kind: str
    parameters: Sequence[Parameter]
    grammar: Grammar = field(default_factory=Grammar)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter with this name, if any."""
        return next((row for row in self.parameters if row.name == name), None)

    def require(self, name: str) -> Parameter:
        """The parameter with this name, which must exist."""
        found = self.parameter(name)
        assert found is not None, f"{self.kind} has no parameter {name}"
        return found

    def option(self, name: str) -> Option:
        """The syntax of a parameter."""
        return self.grammar.options.get(name, USUAL)

    def value(self, name: str, word: str) -> int:
        """Reads the value of a parameter in its base unit, and checks its range."""
        return value_of(self.require(name), word, self)

    def next_value(self, name: str, words: Words) -> int:
        """Reads the next word as the value of a parameter."""
        parameter = self.require(name)
        word = words.next()
        if word is None:
            raise WordError(f"`{name}` of `{self.kind}` has no value", f"give it: {parameter.meaning}")
        return value_of(parameter, word, self)


class Words:
    """The words that have not been read yet."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)

    def next(self) -> str | None:
        """Removes and returns the next word; None at the end."""
        return self._words.pop(0) if self._words else None

    def skip(self, count: int) -> None:
        """Removes some words."""
        del self._words[:count]

    def peek(self) -> str | None:
        """Returns the next word without removing it; None at the end."""
        return self._words[0] if self._words else None


#: A reader of the words after a keyword.
Form = Callable[[Words, Table], Options]


def options(words: Sequence[str], table: Table) -> Options:
    """Reads options; returns them in base units."""
    rest, found = Words(words), Options()
    grammar = table.grammar
    while (word := rest.next()) is not None:
        given = _option(word, rest, table)
        for name in given.keys() & found.keys() & set(grammar.once):
            raise WordError(f"`{name}` of `{table.kind}` is given twice", "remove one of the two")
        found.update(grammar.added(found, given))
    _check_companions(words, found, table)
    complete = grammar.finished(found)
    return {name: value for name, value in complete.items() if value or table.option(name).zero == "a value"}


def _check_companions(words: Sequence[str], found: Options, table: Table) -> None:
    """Refuses options whose companions are missing."""
    for names, needed in table.grammar.companions:
        for word in names:
            if word in words and not any(name in found for name in needed):
                what = f"`{word}` of `{table.kind}` needs `{needed[0]}`"
                raise Needed(what, f"add `{needed[0]}`, or remove `{word}`", needed[0])


def value_of(parameter: Parameter, word: str, table: Table) -> int:
    """Reads a value in its base unit, and checks its range."""
    option = table.option(parameter.name)
    try:
        value = _READERS[parameter.unit](parameter, word, option)
    except WordError as error:
        raise WordError(f"`{parameter.name}` of `{table.kind}`: {error.message}", error.hint) from None
    value = _cut(value, option.cut_to)
    if value == 0 and option.zero == "not given":
        return 0
    return within(parameter, max(value, option.raised_to), word, table.kind)


def within(parameter: Parameter, value: int, word: str, kind: str) -> int:
    """Returns `value` if it is within the range of the parameter; `word` is its text for the message."""
    if not parameter.min <= value <= parameter.max:
        lowest, highest = written(parameter, parameter.min), written(parameter, parameter.max)
        message = f"`{parameter.name}` of `{kind}`: `{shown(word)}` is out of range"
        raise WordError(message, f"it must lie between {lowest} and {highest}")
    return value


def _cut(value: int, within: tuple[int, int]) -> int:
    return min(max(value, within[0]), within[1])


def written(parameter: Parameter, value: int) -> str:
    """A value in the syntax of `tc`."""
    writer = _WRITERS.get(parameter.unit)
    return str(value) if writer is None else writer(parameter, value)


def _option(word: str, rest: Words, table: Table) -> Options:
    grammar = table.grammar
    form = grammar.forms.get(word)
    if form is not None:
        return form(rest, table)
    if word in grammar.printed and table.parameter(word) is None:
        rest.skip(grammar.printed[word])
        return {}
    parameter = table.parameter(grammar.aliases.get(word, word))
    if parameter is None or parameter.name in grammar.without_keyword:
        return {_switched_off(word, table): 0}
    if parameter.unit == "flag":
        return {parameter.name: 1}
    value = rest.next()
    if value is None:
        message = f"`{word}` of `{table.kind}` has no value"
        raise WordError(message, f"{parameter.meaning}; write `{word}` and a value")
    unit = rest.peek() or ""
    # The driver of a radio has an option `bytes`.
    if unit.lower() in UNIT_WORDS and value[-1].isdigit() and table.parameter(unit) is None:
        example = value + UNIT_WORDS[unit.lower()].lstrip("0123456789")
        what = f"`{unit}` of `{table.kind}` stands alone"
        raise WordError(what, f"write a unit directly behind its number: {example}")
    return {parameter.name: value_of(parameter, value, table)}


def _switched_off(word: str, table: Table) -> str:
    for prefix in ("no_", "no"):
        parameter = table.parameter(word.removeprefix(prefix)) if word.startswith(prefix) else None
        if parameter is not None and parameter.unit == "flag":
            return parameter.name
    grammar = table.grammar
    unknown = grammar.not_modelled.get(word)
    if unknown is not None:
        raise WordError(f"`{word}` of `{table.kind}` is not modelled", unknown)
    if word.lower() in UNIT_WORDS:
        what = f"`{shown(word)}` of `{table.kind}` stands alone"
        raise WordError(what, f"write a unit directly behind its number: {UNIT_WORDS[word.lower()]}")
    known = [row.name for row in table.parameters if row.name not in grammar.without_keyword]
    known += [key for key in grammar.forms if key not in known]
    raise WordError(f"`{shown(word)}` is not an option of `{table.kind}`", nearest_hint(word, known))


UNIT_WORDS = {
    **{unit: f"100{unit}" for unit in ("ns", "us", "ms", "s", "nsec", "usec", "msec", "sec", "secs", "p", "b", "kb")},
    **{unit: f"100{unit}" for unit in ("mb", "bit", "kbit", "mbit", "gbit", "bps", "kbps", "mbps", "gbps", "k", "m")},
    **dict.fromkeys(("packets", "pkt", "pkts"), "100p"), "%": "1%", "bytes": "100b", "seconds": "1s",
    "milliseconds": "1ms",
}  # fmt: skip
"""Units, with an example of each: `delay 100 ms` has a space too many."""

# -- values


#: As `tc show` prints sizes, and as no `tc` reads them where it wants a plain number. [iproute2 utils.c print_size]
_PRINTED_SIZE = re.compile(r"[0-9]{1,20}(b|Kb|Mb)")

_WHOLE_NUMBER = re.compile(r"[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}")


def _number(_parameter: Parameter, word: str, option: Option) -> int:
    if option.notation == "hexadecimal":
        return minor(word)
    if not _WHOLE_NUMBER.fullmatch(word):
        raise WordError(f"`{shown(word)}` is not a whole number", "write a whole number without a unit")
    return int(word, 16 if word[:2].lower() == "0x" else 10)


def _packets(parameter: Parameter, word: str, option: Option) -> int:
    if _WHOLE_NUMBER.fullmatch(word):
        return _number(parameter, word, option)
    if option.notation == "number as a size" and not word.endswith("p"):
        return units.size(word)
    return units.packets(word)


def _bytes(parameter: Parameter, word: str, option: Option) -> int:
    if _WHOLE_NUMBER.fullmatch(word):
        return _number(parameter, word, option)
    if option.notation == "plain number" and not _PRINTED_SIZE.fullmatch(word):
        hint = "write a plain number of bytes: tc takes no unit here"
        raise WordError(f"`{shown(word)}` is not a whole number", hint)
    size, _, cell = word.partition("/")
    if cell and option.notation == "size and cell":
        units.size(cell if not cell.isdigit() else f"{cell}b")
        return units.size(size if not size.isdigit() else f"{size}b")
    return units.size(word)


def _time(_parameter: Parameter, word: str, option: Option) -> int:
    bare = decimal(word)
    if bare is not None:
        return int(bare * (1 if option.notation == "nanoseconds" else 1000))
    return units.time(word)


def _rate(_parameter: Parameter, word: str, option: Option) -> int:
    if word.endswith("%"):
        raise WordError(f"`{shown(word)}` is relative to the speed of a device", "write an absolute rate: 100mbit")
    bare = decimal(word)
    bits = units.rate(word) if bare is None else int(bare)
    if bits == 0 and option.zero == "a value":
        raise WordError(f"`{word}` is a rate of zero", "give a rate above zero, such as 100mbit")
    return bits


def _percent(_parameter: Parameter, word: str, _option: Option) -> int:
    share = decimal(word.removesuffix("%"))
    if share is None or share > 100:
        raise WordError(f"`{shown(word)}` is not a percentage", "write 0% to 100%, such as 1% or 0.1%")
    return round(share / 100 * WHOLE)


def _fraction(_parameter: Parameter, word: str, _option: Option) -> int:
    share = decimal(word)
    if share is None or share > 1:
        raise WordError(f"`{shown(word)}` is not a probability", "write a number from 0 to 1, such as 0.02")
    return round(share * WHOLE)


def _gain(_parameter: Parameter, word: str, _option: Option) -> int:
    gain = decimal(word)
    if gain is None:
        raise WordError(f"`{shown(word)}` is not a gain", "write a number of Hz, such as 0.16")
    # `tc show` prints six decimals: 818 / 256 as 3.195312.
    return int(gain * 256 + Fraction(256, 10**6))


def _choice(parameter: Parameter, word: str, _option: Option) -> int:
    if word not in parameter.words:
        raise WordError(f"`{shown(word)}` is not one of the choices", nearest_hint(word, parameter.words))
    return parameter.words.index(word)


def decimal(word: str) -> Fraction | None:
    """A non-negative number without a unit; None for anything else."""
    plain = re.fullmatch(r"\+?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?", word)
    return Fraction(word.removesuffix(".") if "e" not in word.lower() else str(float(word))) if plain else None


_READERS: Mapping[str, Callable[[Parameter, str, Option], int]] = {
    "number": _number, "packets": _packets, "bytes": _bytes, "time": _time, "rate": _rate, "percent": _percent,
    "fraction": _fraction, "gain": _gain, "choice": _choice,
}  # fmt: skip


def _written_share(value: int, whole: int) -> str:
    return f"{value / WHOLE * whole:.6f}".rstrip("0").rstrip(".")


_WRITERS: Mapping[str, Callable[[Parameter, int], str]] = {
    "rate": lambda _, value: units.rate_word(value),
    "time": lambda _, value: units.time_word(value),
    "bytes": lambda _, value: units.size_word(value),
    "percent": lambda _, value: f"{_written_share(value, 100)}%",
    "fraction": lambda _, value: _written_share(value, 1),
    "gain": lambda _, value: f"{value / 256:g}",
    "choice": lambda parameter, value: parameter.words[value] if value < len(parameter.words) else str(value),
    "flag": lambda _, value: "on" if value else "off",
}


def major(word: str) -> int:
    """Reads a handle: `1:` or `1:0`, in hexadecimal."""
    return place(word if ":" in word else f"{word}:")[0]


def place(word: str) -> tuple[int, int]:
    """Reads the major and the minor number of a class: `1:10`, `1:`, `:10`; in hexadecimal."""
    numbers = re.fullmatch(r"([0-9a-fA-F]{0,4}):(?:0x)?([0-9a-fA-F]{0,4})", word)
    if numbers is None:
        raise WordError(f"`{shown(word)}` is not a handle", "write it as tc does, in hexadecimal: 1: or 1:10")
    return int(numbers[1] or "0", 16), int(numbers[2] or "0", 16)


def minor(word: str) -> int:
    """Reads the minor number of a class: `1:10`, `:10` or `10`, in hexadecimal."""
    major, colon, number = word.rpartition(":")
    number = number.removeprefix("0x") if not colon else number
    digits = (number or "0") + (major if colon else "")
    if not re.fullmatch(r"[0-9a-fA-F]+", digits) or len(number) > 4 or len(major) > 4:
        raise WordError(f"`{shown(word)}` is not the number of a class", "write it as tc does, in hexadecimal: 1:10")
    return int(number or "0", 16)


# -- forms


class Positional(Struct, frozen=True):
    """Reads positional values up to the next keyword; the first one is required."""

    names: Sequence[str]
    below_zero: Mapping[str, str]
    """Parameters that may be negative, and those that store the absolute value of a negative number."""

    def __call__(self, words: Words, table: Table) -> Options:
        """Reads the values; `tc show` prints the name of some before them, as in `loss gemodel p 1% r 10%`."""
        _skip_name(self.names[0], words)
        found = {self.names[0]: table.next_value(self.names[0], words)}
        for name in self.names[1:]:
            _skip_name(name, words)
            word = words.peek()
            below = self.below_zero.get(name)
            if word is not None and below is not None and re.fullmatch("-[0-9]{1,9}", word):
                found[below] = table.value(below, (words.next() or "")[1:])
                continue
            if word is None or not word[:1].isdigit():
                break
            found[name] = table.value(name, words.next() or "")
        return found


def _skip_name(name: str, words: Words) -> None:
    """Skips the name of a value without a keyword of its own, if the value is behind it."""
    if words.peek() == name and len(name) <= LONGEST_PRINTED_NAME:
        words.next()


#: The names that `tc show` prints before positional values are short: p, r, 1-h, p13.
LONGEST_PRINTED_NAME = 3


def positional(*names: str, below_zero: Mapping[str, str] | None = None) -> Positional:
    """A reader of these values, in this order."""
    return Positional(names, below_zero or {})


def keyword(**values: int) -> Form:
    """Reads a keyword that sets these values."""
    return lambda _words, _table: dict(values)


def one_of(parameter: str, *words: str) -> dict[str, Form]:
    """Keywords for the values of a choice."""
    return {word: keyword(**{parameter: number}) for number, word in enumerate(words)}

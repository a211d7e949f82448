"""Algorithms in the words of `tc`: `htb rate 100mbit burst 1600 | fq_codel limit 180`, `cubic hystart 0`.

    discipline = kind { option } [ "|" discipline ]        a child follows the bar
    option     = name value | flag | "no" flag

Names, units and ranges come from the rows of the registry. Bare numbers are taken where `tc` has only one meaning
for them: packets (`180` and `180p`), sizes (bytes) and plain numbers; a rate and a time need their unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tailback.scenario import units
from tailback.scenario.errors import WordError, nearest_hint
from tailback.scenario.registry import Parameter, Row
from tailback.scenario.units import shown

_SAMPLES = {"rate": "100mbit", "time": "5ms", "bytes": "1600b", "packets": "1000p", "number": "1", "flag": ""}


@dataclass(frozen=True)
class Algorithm:
    """A kind with the options that were given, in base units; a discipline may hold a child."""

    kind: str
    options: dict[str, int] = field(default_factory=dict)
    child: Algorithm | None = None


def discipline(text: object, rows: Sequence[Row]) -> Algorithm:
    """A queue discipline with its children."""
    if not isinstance(text, str) or not text.strip():
        raise WordError(f"`{shown(text)}` is not a queue discipline", "write it as tc does: fq_codel limit 1000")
    stages = [stage.split() for stage in text.split("|")]
    child: Algorithm | None = None
    for words in reversed(stages):
        child = _stage(words, rows, child)
    assert child is not None
    return child


def control(text: object, rows: Sequence[Row]) -> Algorithm:
    """A congestion control."""
    if not isinstance(text, str) or not text.split():
        hint = f"there are: {_names(rows)}"
        raise WordError(f"`{shown(text)}` is not a congestion control", hint)
    words = text.split()
    return Algorithm(words[0], _options(words, _known(words[0], rows, "congestion control")))


def driver(text: object, rows: Sequence[Row]) -> Algorithm:
    """A Wi-Fi driver."""
    if not isinstance(text, str) or not text.split():
        raise WordError(f"`{shown(text)}` is not a driver", f"there are: {_names(rows)}")
    words = text.split()
    return Algorithm(words[0], _options(words, _known(words[0], rows, "driver")))


def _stage(words: list[str], rows: Sequence[Row], child: Algorithm | None) -> Algorithm:
    if not words:
        raise WordError("nothing stands on one side of `|`", "write the shaper before the bar and its child after it")
    row = _known(words[0], rows, "queue discipline")
    if child is not None and not row.classful:
        holders = ", ".join(other.name for other in rows if other.classful) or "none"
        raise WordError(f"`{row.name}` holds no child", f"only these do: {holders}")
    return Algorithm(row.name, _options(words, row), child)


def _known(kind: str, rows: Sequence[Row], noun: str) -> Row:
    for row in rows:
        if row.name == kind:
            return row
    raise WordError(f"`{shown(kind)}` is not a {noun}", nearest_hint(kind, [row.name for row in rows]))


def _options(words: list[str], row: Row) -> dict[str, int]:
    options: dict[str, int] = {}
    rest = iter(words[1:])
    for word in rest:
        name, value = _option(word, rest, row)
        if name in options:
            raise WordError(f"`{name}` of `{row.name}` is given twice", "remove one of the two")
        options[name] = value
    for parameter in row.parameters:
        if parameter.required and parameter.name not in options:
            sample = _SAMPLES[parameter.unit]
            hint = f"{parameter.meaning}: {row.name} {parameter.name} {sample}"
            raise WordError(f"`{parameter.name}` of `{row.name}` is missing", hint)
    return options


def _option(word: str, rest: Iterator[str], row: Row) -> tuple[str, int]:
    parameter = row.parameter(word)
    if parameter is None:
        return _switched_off(word, row), 0
    if parameter.unit == "flag":
        return parameter.name, 1
    value = next(rest, None)
    if value is None:
        raise WordError(f"`{word}` of `{row.name}` has no value", f"{parameter.meaning}; write `{word}` and a value")
    return parameter.name, _ranged(parameter, value, row)


def _switched_off(word: str, row: Row) -> str:
    for prefix in ("no_", "no"):
        parameter = row.parameter(word.removeprefix(prefix)) if word.startswith(prefix) else None
        if parameter is not None and parameter.unit == "flag":
            return parameter.name
    known = [parameter.name for parameter in row.parameters]
    raise WordError(f"`{shown(word)}` is not an option of `{row.name}`", nearest_hint(word, known))


def _ranged(parameter: Parameter, word: str, row: Row) -> int:
    try:
        value = _value(parameter, word)
    except WordError as error:
        raise WordError(f"`{parameter.name}` of `{row.name}`: {error.message}", error.hint) from None
    if not parameter.least <= value <= parameter.most:
        message = f"`{parameter.name}` of `{row.name}`: `{word}` is out of range"
        least, most = _written(parameter, parameter.least), _written(parameter, parameter.most)
        raise WordError(message, f"it must lie between {least} and {most}")
    return value


def _value(parameter: Parameter, word: str) -> int:
    if parameter.unit == "rate":
        return units.rate(word)
    if parameter.unit == "time":
        return units.time(word)
    if word.isascii() and word.isdigit() and len(word) < 20:
        return int(word)
    if parameter.unit == "packets":
        return units.packets(word)
    if parameter.unit == "bytes":
        return units.size(word)
    raise WordError(f"`{shown(word)}` is not a whole number", "write a whole number without a unit")


def _written(parameter: Parameter, value: int) -> str:
    if parameter.unit == "rate":
        return units.rate_word(value)
    if parameter.unit == "time":
        return units.time_word(value)
    return units.size_word(value) if parameter.unit == "bytes" else str(value)


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(row.name for row in rows)

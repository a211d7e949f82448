"""Conventions of the JSON: one value for both ends of a link if they are equal, and optional keys."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer

T = TypeVar("T")

Options: TypeAlias = Mapping[str, int]
"""Options by name, in base units."""

STRICT = ConfigDict(extra="forbid")
"""The configuration of all classes: unknown keys are errors."""


def _each(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value, value)


def _one_if_equal(ends: tuple[object, object]) -> object:
    return ends[0] if ends[0] == ends[1] else list(ends)


Ends = Annotated[tuple[T, T], BeforeValidator(_each), PlainSerializer(_one_if_equal)]
"""A value for each end of a link; JSON has a single value if both are equal."""


def _is_none(value: object) -> bool:
    return value is None


def _is_empty(value: Any) -> bool:
    return not value


def _is_none_or_empty(ends: tuple[Any, ...]) -> bool:
    return all(each is None or each == {} for each in ends)


def _are_zero(ends: tuple[int, ...]) -> bool:
    return not any(ends)


#: The key is omitted if the field is `None`, if it is empty (or 0), or if both ends of a link are `None` or empty, or
#: if both are 0.
ABSENT_IF_NONE: Any = Field(exclude_if=_is_none)
ABSENT_IF_EMPTY: Any = Field(exclude_if=_is_empty)
ABSENT_IF_NEITHER: Any = Field(exclude_if=_is_none_or_empty)
ABSENT_IF_ZERO: Any = Field(exclude_if=_are_zero)

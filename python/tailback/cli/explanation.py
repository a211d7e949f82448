"""One explanation as text, wherever it comes from."""

from collections.abc import Sequence

from msgspec import Struct


class ParameterRow(Struct, frozen=True):
    """A parameter as text."""

    name: str
    as_written: str | None
    """The value with the options in the text; None if the text has no options."""
    default: str
    values: str
    """The range of a number, or all values of a choice."""
    meaning: str


class Explanation(Struct, frozen=True):
    """An algorithm, a metric or a stack as text."""

    heading: str
    text: str
    parameters: Sequence[ParameterRow]
    syntax: str = ""
    """What the table of parameters does not say about how options are written."""

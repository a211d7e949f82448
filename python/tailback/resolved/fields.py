"""What the records of a resolved scenario have in common, and which of their keys JSON lacks.

msgspec omits a key whose field has its default. It compares by identity, so such a default is `None`, `False`, a small
integer, the empty tuple, or what `dict` makes; `codec` and `links` omit words and pairs. JSON always has the keys whose
default is `written`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Meta, Struct, field

T = TypeVar("T")

Options: TypeAlias = Mapping[str, int]
"""Options by name, in base units."""

Nanoseconds: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A time that arrays of whole numbers hold, too."""


class Part(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A record of the resolved scenario. Unknown keys are errors."""


def written(default: T) -> T:
    """The default of a field whose key JSON always has."""
    return field(default_factory=lambda: default)


def no_options() -> dict[str, Any]:
    """The default of a mapping whose key JSON always has."""
    return {}

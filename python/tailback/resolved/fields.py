"""What the records of a resolved scenario have in common, and which of their keys JSON lacks.

msgspec omits a key whose field has its default. It compares by identity, so such a default is `None`, `False`, a small
integer, the empty tuple, or what `dict` makes; `codec` and `links` omit words and pairs. JSON always has the keys whose
default is `written`.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field

T = TypeVar("T")

Options: TypeAlias = Mapping[str, int]
"""Options by name, in base units."""


class Part(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A record of the resolved scenario. Unknown keys are errors."""


def written(default: T) -> T:
    """The default of a field whose key JSON always has."""
    return field(default_factory=lambda: default)


def no_options() -> dict[str, Any]:
    """The default of a mapping whose key JSON always has."""
    return {}

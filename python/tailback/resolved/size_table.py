"""The size table of a discipline: the lengths that it sees instead of those of the frames. [tc-stab(8)]"""

from typing import Literal

from msgspec import structs

from tailback.resolved.fields import Part


class SizeTable(Part, frozen=True, kw_only=True):
    """The values of `stab`, with the defaults of `tc`."""

    overhead: int = 0
    """Bytes added to each frame; may be negative."""
    mpu: int = 0
    """The least length in the table."""
    mtu: int = 2047
    """The length up to which the table is exact."""
    tsize: int = 512
    """The number of lengths in the table."""
    linklayer: Literal["ethernet", "atm"] | None = None
    """`atm`: lengths are whole cells, 53 bytes for 48 of data."""

    @property
    def words(self) -> list[str]:
        """The table in the syntax of `tc`."""
        given = ([each.name, str(getattr(self, each.name))] for each in structs.fields(self) if self._has(each))
        return ["stab", *([word for pair in given for word in pair] or ["overhead", "0"])]

    def _has(self, each: structs.FieldInfo) -> bool:
        return bool(getattr(self, each.name) != each.default)

"""What an import did not take over as it stands, with its line."""

import enum
from dataclasses import dataclass


class Effect(enum.StrEnum):
    """What became of a part of the file."""

    LOST = "not imported"
    """It would change results, and Tailback's experiment does not have it."""
    CHANGED = "imported differently"
    """The experiment has something else in its place."""
    REMARK = "note"
    """It is as TEACUP has it, and a reader might expect something else."""
    NONE = "no effect"
    """It is about the laboratory or TEACUP's own work, and changes no result."""


@dataclass(frozen=True)
class Note:
    """A part of the file that was not imported as it stands."""

    line: int
    what: str
    effect: Effect = Effect.LOST
    file: str = ""
    """The included file; empty for the configuration itself."""

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.file else f"line {self.line}"
        return f"{place}: {self.what}"

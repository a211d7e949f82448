"""What an import found in a capture, and what it took."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.formats.pcap.tap import Tap

CODE = "capture"
HINT = "`capture` in `summary.json` has what was found and taken; docs/captures.md says what a capture tells"


@dataclass(frozen=True)
class Row:
    """One direction of a connection."""

    flow: str
    bytes: int
    """Acknowledged, or, without ACKs, passed."""
    begins_s: float | None
    ends_s: float | None
    """The first and the last data, in time of the capture."""
    reason: str
    """Why it is left out; empty if it is taken."""
    tap: Tap
    ground: str
    """How the place of the capture is known."""
    to_ack_ms: float | None
    """Median time from data to its ACK, at the place of the capture."""
    seen_again: int | None
    """Segments below the highest sequence number before them."""


@dataclass(frozen=True)
class Captured:
    """One import."""

    folder: Path
    span_s: float
    window_s: tuple[float, float]
    window_is: str
    rows: Sequence[Row]
    """The largest first."""
    notes: Sequence[str]
    others: Mapping[str, int]
    """Frames that are something else."""

    def warnings(self) -> list[dict[str, Any]]:
        """What is printed below the table, as a warning about the run: one, because of one code the worst is shown."""
        said = {
            "code": CODE,
            "severity": "info",
            "text": "; ".join(self.notes),
            "hint": HINT,
            "extent": len(self.notes),
        }
        return [said] if self.notes else []

    def summary(self) -> dict[str, Any]:
        """What the summary of the run says of it, without the rows."""
        taken = [row for row in self.rows if not row.reason]
        return {
            "span_s": round(self.span_s, 6),
            "window_s": [round(each, 6) for each in self.window_s],
            "window": self.window_is,
            "flows_taken": len(taken),
            "flows_left_out": dict(Counter(row.reason for row in self.rows if row.reason)),
            "place": dict(Counter(str(row.tap) for row in taken)),
            "other_frames": dict(self.others),
            "notes": list(self.notes),
        }

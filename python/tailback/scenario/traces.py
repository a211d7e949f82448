"""Traces of delivery opportunities, as cellular links are recorded and shared: one millisecond stamp per line.

Each line is an instant, in whole milliseconds from the start of the trace, at which 1500 bytes of IP packets may leave;
several lines may say the same. After the last one the trace begins again, as much later as that line says.
[mm-link DESCRIPTION]
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from tailback.scenario.errors import WordError
from tailback.scenario.units import shown

#: Bytes that leave at one opportunity.
OPPORTUNITY = 1500

#: Lines of a trace at most: an hour at 33 Mbit/s.
MOST_LINES = 10_000_000
#: The simulator holds instants in 32 bits.
LATEST_MS = 2**32 - 1

LINE_HINT = "each line is one whole number of milliseconds, no earlier than the line before"
FILE_HINT = "name a file beside the experiment: one millisecond stamp per line, each an opportunity of 1500 bytes"


@dataclass(frozen=True)
class Trace:
    """A trace; two with the same text are the same."""

    sha256: str
    stamps_ms: tuple[int, ...]

    @property
    def length_ns(self) -> int:
        """After this it begins again."""
        return self.stamps_ms[-1] * 10**6

    @property
    def mean_rate_bps(self) -> int:
        """What it delivers on average."""
        return len(self.stamps_ms) * OPPORTUNITY * 8 * 1000 // self.stamps_ms[-1]


def trace(word: object, folder: Path) -> Trace:
    """The trace in a file that is named relative to `folder`."""
    if not isinstance(word, str) or not word.strip() or "\0" in word:
        raise WordError(f"`{shown(word)}` is not the name of a trace", FILE_HINT)
    path = folder / word
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise WordError(f"the trace `{shown(word)}` cannot be read: {reason} ({path})", FILE_HINT) from None
    return parse(content, word)


@functools.lru_cache(maxsize=32)
def parse(content: bytes, name: str) -> Trace:
    """The trace of a file's content; `name` is what errors call it."""
    stamps: list[int] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        text = line.strip()
        if text:
            stamps.append(_stamp(text, stamps, f"line {number} of `{shown(name)}`"))
    if len(stamps) > MOST_LINES:
        raise WordError(f"`{shown(name)}` has {len(stamps)} lines", f"cut it: at most {MOST_LINES} lines are taken")
    if not stamps or stamps[-1] == 0:
        what = "takes no time" if stamps else "holds no instant"
        raise WordError(f"the trace `{shown(name)}` {what}", f"{LINE_HINT}, and the last is above 0")
    return Trace(hashlib.sha256(content).hexdigest(), tuple(stamps))


def _stamp(text: bytes, before: list[int], place: str) -> int:
    word = text.decode("ascii", "replace")
    if not text.isdigit() or len(text) > len(str(LATEST_MS)) or int(text) > LATEST_MS:
        raise WordError(f"{place}: `{shown(word)}` is not an instant", LINE_HINT)
    if before and int(text) < before[-1]:
        raise WordError(f"{place}: {word} comes before {before[-1]}, the line above", LINE_HINT)
    return int(text)

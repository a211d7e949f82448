"""Traces of delivery opportunities, as cellular links are recorded and shared: one millisecond stamp per line.

Each line is an instant, in whole milliseconds from the start of the trace, at which 1500 bytes of IP packets may leave;
several lines may say the same. After the last one the trace begins again, as much later as that line says.
[mm-link DESCRIPTION]

An experiment may point at any file, so errors never repeat what is in it.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

from tailback.limits import NotTaken, read_regular
from tailback.resolved import Trace
from tailback.tc.errors import WordError
from tailback.tc.units import shown

#: Lines of a trace at most: half an hour at 13 Mbit/s. Each run has them in its manifest.
MOST_LINES = 2_000_000
#: The longest line: ten digits, a carriage return and a line feed.
LARGEST = 12 * MOST_LINES
#: Lines of traces that are kept for the next configuration.
MOST_KEPT = 2 * MOST_LINES
#: The simulator holds instants in 32 bits.
LATEST_MS = 2**32 - 1

LINE_HINT = "each line is one whole number of milliseconds, no earlier than the line before"
FILE_HINT = "name a file beside the experiment: one millisecond stamp per line, each an opportunity of 1500 bytes"


def trace(word: object, folder: Path) -> Trace:
    """The trace in a file that is named relative to `folder`."""
    if not isinstance(word, str) or not word.strip() or "\0" in word:
        raise WordError(f"`{shown(word)}` is not the name of a trace", FILE_HINT)
    path = folder / word
    try:
        content = read_regular(path, LARGEST)
    except (OSError, NotTaken) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it cannot be read"
        raise WordError(f"the trace `{shown(word)}` cannot be read: {reason} ({path})", FILE_HINT) from None
    return parse(content, word)


def parse(content: bytes, name: str) -> Trace:
    """The trace of a file's content; `name` is what errors call it."""
    digest = hashlib.sha256(content).hexdigest()
    # Each configuration of an experiment reads its traces anew.
    found = _kept.get(digest)
    if found is None:
        found = Trace(sha256=digest, stamps_ms=_stamps(content, shown(name)))
        while _kept and sum(len(each.stamps_ms) for each in _kept.values()) + len(found.stamps_ms) > MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        _kept[digest] = found
    return found


_kept: dict[str, Trace] = {}


def _stamps(content: bytes, name: str) -> tuple[int, ...]:
    stamps: list[int] = []
    before = 0
    for number, line in enumerate(io.BytesIO(content), 1):
        text = line.strip()
        if not text:
            continue
        if not text.isdigit() or len(text) > len(str(LATEST_MS)) or int(text) > LATEST_MS:
            raise WordError(f"line {number} of `{name}` is not an instant", LINE_HINT)
        stamp = int(text)
        if stamp < before:
            raise WordError(f"line {number} of `{name}` comes before the one above it", LINE_HINT)
        if len(stamps) == MOST_LINES:
            raise WordError(f"`{name}` has more than {MOST_LINES} instants", "cut it")
        stamps.append(stamp)
        before = stamp
    if before == 0:
        what = "takes no time" if stamps else "holds no instant"
        raise WordError(f"the trace `{name}` {what}", f"{LINE_HINT}, and the last is above 0")
    return tuple(stamps)

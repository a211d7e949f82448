"""Traces of delivery opportunities in the format of mahimahi, as used for cellular links.

Each line is a time in whole milliseconds since the start of the trace at which 1500 bytes of IP packets can be sent.
Several lines may have the same time. The trace repeats with the time of the last line as its period.
[mm-link DESCRIPTION]

An experiment may name any file, so error messages do not quote its content.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

from tailback.limits import FileRefused, read_regular
from tailback.resolved import Trace
from tailback.tc.errors import WordError
from tailback.tc.units import on_one_line, shown

#: Maximum number of lines: half an hour at 13 Mbit/s. The manifest of each run contains them.
MAX_LINES = 2_000_000
#: Maximum size in bytes; the longest line has ten digits, a carriage return and a line feed.
LARGEST = 12 * MAX_LINES
#: Maximum number of lines in the cache.
MAX_KEPT = 2 * MAX_LINES
#: The simulator stores these times in 32 bits.
LATEST_MS = 2**32 - 1

LINE_HINT = "each line is one whole number of milliseconds, no earlier than the line before"
FILE_HINT = "name a file relative to the experiment: one millisecond timestamp per line, each for 1500 bytes"


def trace(word: object, folder: Path) -> Trace:
    """Reads the trace in a file, whose name is relative to `folder`."""
    if not isinstance(word, str) or not word.strip() or "\0" in word:
        raise WordError(f"`{shown(word)}` is not the name of a trace", FILE_HINT)
    path = folder / word
    try:
        content = read_regular(path, LARGEST)
    except (OSError, FileRefused) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it cannot be read"
        raise WordError(
            f"the trace `{shown(word)}` cannot be read: {reason} ({on_one_line(path)})", FILE_HINT
        ) from None
    return parse(content, word)


def parse(content: bytes, name: str) -> Trace:
    """Parses the content of a trace; error messages call it `name`."""
    digest = hashlib.sha256(content).hexdigest()
    # Cached, because each configuration of an experiment reads its traces.
    found = _kept.get(digest)
    if found is None:
        found = Trace(sha256=digest, stamps_ms=_stamps(content, shown(name)))
        while _kept and sum(len(each.stamps_ms) for each in _kept.values()) + len(found.stamps_ms) > MAX_KEPT:
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
            raise WordError(f"line {number} of `{name}` is not a time", LINE_HINT)
        stamp = int(text)
        if stamp < before:
            raise WordError(f"line {number} of `{name}` is earlier than the line before", LINE_HINT)
        if len(stamps) == MAX_LINES:
            raise WordError(f"`{name}` has more than {MAX_LINES} lines", "shorten it")
        stamps.append(stamp)
        before = stamp
    if before == 0:
        what = "has no duration" if stamps else "is empty"
        raise WordError(f"the trace `{name}` {what}", f"{LINE_HINT}; the last is above 0")
    return tuple(stamps)

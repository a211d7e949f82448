"""Makes foreign text safe to print: titles, labels, names, output of scripts, quotes in errors. The result has no
terminal escapes and no markup, and a bounded length.

Terminals are written to through `cli/console.py`, which makes all text `visible` and knows no markup. Pages escape by
jinja2 and by `report/page.js`; figures take no text for a formula (`plots/style.py`).
"""

import re
from collections.abc import Sequence

MOST_QUOTED = 60
"""Characters of a value in a message."""

MOST_LISTED = 60
"""Names in a message, of those there are."""

LONGEST_LINE = 2000
"""Characters of a line of a message."""

_UNSEEN = re.compile(
    # C0 and C1 but line feed and tab [iso6429], halves of characters, line and paragraph separators,
    # and what turns the direction of writing round [unicode-tr9 §2].
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# From left to right, so that what lies between two quotes is none.
_QUOTE = re.compile("`([^`\n]*)`")


def visible(text: str) -> str:
    """`text` with control characters written as escapes, such as `\\x1b[31m`."""
    return _UNSEEN.sub(_escaped, text)


def visible_json(document: str) -> str:
    """The same of a JSON document, which stays one."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def has_control(text: str) -> str | None:
    """The first control character in `text`, as Unicode calls it."""
    found = _CONTROL.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """`text`, shortened if it is long."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def brief(message: str) -> str:
    """A message with long quotes and lines shortened at their end.

    A path stays whole, since the user has to find it.
    """
    quoted = _QUOTE.sub(lambda found: f"`{found[1] if '/' in found[1] else shortened(found[1])}`", message)
    return "\n".join(shortened(line, LONGEST_LINE) for line in quoted.split("\n"))


def listed(names: Sequence[str]) -> str:
    """Names for a message, the first of them where they are many."""
    shown = ", ".join(shortened(name) for name in names[:MOST_LISTED])
    return shown if len(names) <= MOST_LISTED else f"{shown} and {len(names) - MOST_LISTED} more"


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

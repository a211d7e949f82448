"""Makes untrusted text safe to print: titles, labels, names, output of scripts, quotes in errors. The result has no
terminal escapes and a bounded length.

All output to terminals goes through `cli/console.py`, which makes text `visible` and interprets no markup. HTML pages
are escaped by jinja2 and by `report/page.js`; figures do not interpret text as formulas (`plots/style.py`).
"""

import re
from collections.abc import Sequence

MAX_QUOTED = 60
"""Maximum number of characters of a value in a message."""

MAX_LISTED = 60
"""Maximum number of names in a message."""

LONGEST_LINE = 2000
"""Maximum number of characters of a line of a message."""

# Patterns are compiled when they are used: few commands print such text.

# C0 and C1 except line feed and tab [iso6429], surrogates, line and paragraph separators,
# and characters that change the direction of text [unicode-tr9 §2].
_UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"

_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"

# Matched from left to right, so that text between two quotes is not taken for a quote.
_QUOTE = "`([^`\n]*)`"


def visible(text: str) -> str:
    """`text` with control characters written as escapes, such as `\\x1b[31m`."""
    # Nothing of `_UNSEEN` is printable.
    return text if text.replace("\n", "").isprintable() else re.sub(_UNSEEN, _escaped, text)


def visible_json(document: str) -> str:
    """As `visible`, for a JSON document, which remains valid."""
    return re.sub(_UNSEEN, lambda found: f"\\u{ord(found[0]):04x}", document)


def has_control(text: str) -> str | None:
    """The first control character in `text` as `U+…`; None if there is none."""
    found = re.search(_CONTROL, text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def shortened(text: str, longest: int = MAX_QUOTED) -> str:
    """`text`, shortened if it is long."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def brief(message: str) -> str:
    """Shortens long quotes and lines of a message. Paths are not shortened, because the user needs them."""
    quoted = re.sub(_QUOTE, lambda found: f"`{found[1] if '/' in found[1] else shortened(found[1])}`", message)
    return "\n".join(shortened(line, LONGEST_LINE) for line in quoted.split("\n"))


def listed(names: Sequence[str]) -> str:
    """Names for a message; of many, the first ones."""
    shown = ", ".join(shortened(name) for name in names[:MAX_LISTED])
    return shown if len(names) <= MAX_LISTED else f"{shown} and {len(names) - MAX_LISTED} more"


def meant(word: str, known: Sequence[str]) -> str:
    """The beginning of a hint: the known name that an unknown one resembles most; empty if it resembles none."""
    close = nearest(word, known)
    return "" if close is None else f"did you mean `{close}`? "


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known name that an unknown one resembles most; `None` if it resembles none."""
    # Few commands end so.
    import difflib

    return next(iter(difflib.get_close_matches(shortened(word).lower(), known, n=1)), None)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

"""The standard streams: any character can be written to a terminal of any encoding, and a closed stream loses what is
written to it.
"""

import codecs
import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import TextIO

from tailback.cli.failures import WrongInput

PLAINLY = "tailback.plainly"
"""The name of the rule for characters that an encoding lacks."""

INSTEAD = {
    "±": "+/-", "–": "-", "—": "-", "−": "-", "─": "-", "…": "...", "≥": ">=", "≤": "<=", "≈": "~", "×": "x", "·": ".",
    "•": "*", "→": "->", "µ": "u", "μ": "u", "’": "'", "‘": "'", "“": '"', "”": '"', "∞": "inf", "√": "sqrt",
    "°": " deg", "━": "-", "╸": "-", "╺": "-",
}  # fmt: skip
"""What stands for a character that is missing; others lose their accents, or become `?`."""


def ready() -> None:
    """Opens closed streams, and prepares all for characters that their encoding lacks."""
    _take_closed_numbers()
    codecs.register_error(PLAINLY, _plainly)
    sys.stdout, sys.stderr = map(_writable, (sys.stdout, sys.stderr), (1, 2))


def _take_closed_numbers() -> None:
    """Opens the null device as each of the three that is closed, so that no file of ours gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null != number:
                os.close(null)
            os.set_inheritable(number, True)


def _writable(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        # Python has none for a number that was closed.
        stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=PLAINLY)
    return stream


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_instead, error.object[error.start : error.end])), error.end


def _instead(character: str) -> str:
    if character in INSTEAD:
        return INSTEAD[character]
    ascii_part = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return ascii_part or "?"


def as_written(text: str, stream: TextIO) -> str:
    """`text` as the encoding of a stream will show it, so that columns have its widths."""
    encoding = stream.encoding or "utf-8"
    return text if encoding.lower().startswith("utf") else text.encode(encoding, PLAINLY).decode(encoding)


def check_words(words: Sequence[str]) -> None:
    """Refuses words of the command line that are not UTF-8, such as names of files in another encoding: results record
    them as text.
    """
    for word in words:
        if any("\ud800" <= character <= "\udfff" for character in word):
            shown = word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            raise WrongInput(f"`{shown}` is not UTF-8\n  hint: rename the file or folder, with `mv` or `convmv`")

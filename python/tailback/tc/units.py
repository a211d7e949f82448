"""Reads rates, sizes, times and packet counts in the syntax of `tc`, and writes them.

rates: bit/s; `k`, `m`, `g`, `t` are powers of 1000, `ki` ... powers of 1024; `bit` counts bits, `bps` bytes.
sizes: bytes; `k`, `m`, `g` (with or without `b`) are powers of 1024; `kbit` ... are 1024-based bits.
times: nanoseconds; `ns`, `us`, `ms`, `s` and their long forms.
packets: `180p`.                                              [iproute2 tc(8) PARAMETERS; utils.c get_rate64]

Deviation: `tc` also reads numbers without a unit (bit/s, bytes, microseconds or nanoseconds, depending on the option).
In an experiment file a unit is required, except in the options of disciplines (`tc.options`), where such numbers have
the meaning that they have in `tc`. Fractions of a base unit are truncated.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from fractions import Fraction

from tailback.tc.errors import WordError

RATE_HINT = "write it as tc does: 100mbit, 1gbit, 500kbit"
SIZE_HINT = "write it as tc does: 1600b, 64kb, 4mb"
TIME_HINT = "write a number and ns, us, ms or s: 50us, 5ms, 30s"
PACKETS_HINT = "write a whole number and p: 180p"

#: The largest integer that all backends accept (signed 64 bits).
LARGEST = 2**63 - 1

_NUMBER = re.compile(  # The exponent is how `tc` prints 1000 ms: 1e+03ms.
    r"(?P<sign>[+-]?)(?P<number>[0-9]{1,30}(?:\.[0-9]{0,30})?(?:e\+[0-9]{2}(?=[mu]?s))?|\.[0-9]{1,30})\s*(?P<unit>[a-zA-Z]*)"
)

#: Up to 19 ASCII digits; `str.isdigit` would also accept `²`, and `int` fails at thousands of digits.
_WHOLE = re.compile("[0-9]{1,19}")

_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

RATE_UNITS: dict[str, Fraction] = {
    prefix + word: Fraction(factor * bits)
    for prefix, factor in (_DECIMAL | _BINARY).items()
    for word, bits in (("bit", 1), ("bps", 8))
}
SIZE_UNITS: dict[str, Fraction] = {
    prefix + word: Fraction(factor, divisor)
    for prefix, factor in {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}.items()
    for word, divisor in (("", 1), ("b", 1), ("bit", 8))
    if prefix or word == "b"
}
TIME_UNITS: dict[str, Fraction] = {
    word: Fraction(factor)
    for words, factor in (
        (("ns", "nsec", "nsecs"), 1),
        (("us", "usec", "usecs"), 10**3),
        (("ms", "msec", "msecs"), 10**6),
        (("s", "sec", "secs"), 10**9),
    )
    for word in words
}
PACKET_UNITS: dict[str, Fraction] = {"p": Fraction(1)}


#: Units that people write and `tc` does not have, with what they mean.
_RATES_MEANT = {
    f"{prefix}{word}": f"{prefix}bit"
    for prefix in "kmgt"
    for word in ("", "b", "b/s", "bits", "bit/s", "bits/s", "bits/sec", "bit/sec")
}
_TIMES_MEANT = {
    word: seconds
    for words, seconds in ((("min", "mins", "minute", "minutes"), 60), (("h", "hour", "hours"), 3600))
    for word in words
}
_PRODUCT = (
    "there is no unit for bandwidth-delay products: multiply rate and round-trip time; 10mbit × 40ms are 50000b, or 33p"
)


def _rate_meant(number: str, unit: str) -> str | None:
    word = _RATES_MEANT.get(unit.lower())
    # A capital B is a byte.
    return None if word is None or "B" in unit else f"did you mean `{number}{word}`? {RATE_HINT}"


def _time_meant(number: str, unit: str) -> str | None:
    seconds = _TIMES_MEANT.get(unit.lower())
    if seconds is None:
        return None
    return f"did you mean `{time_word(int(Fraction(number) * seconds * 10**9))}`? {TIME_HINT}"


def _product_meant(_number: str, unit: str) -> str | None:
    return _PRODUCT if unit.lower() in ("bdp", "bdps") else None


class _Kind:
    def __init__(
        self,
        noun: str,
        units: dict[str, Fraction],
        hint: str,
        likely: tuple[str, ...],
        meant: Callable[[str, str], str | None],
    ) -> None:
        self.noun, self.units, self.hint, self.likely, self.meant = noun, units, hint, likely, meant

    def hint_for(self, text: str) -> str:
        """The hint for a text that cannot be read."""
        match = _FOREIGN.fullmatch(text)
        return (self.meant(match["number"], match["unit"]) if match is not None else None) or self.hint


_FOREIGN = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,15})?)\s*(?P<unit>[a-zA-Z/]{1,10})")

_RATE = _Kind("a rate", RATE_UNITS, RATE_HINT, ("mbit",), _rate_meant)
_SIZE = _Kind("a size", SIZE_UNITS, SIZE_HINT, ("b",), _product_meant)
_TIME = _Kind("a time", TIME_UNITS, TIME_HINT, ("ms", "s"), _time_meant)
_PACKETS = _Kind("a number of packets", PACKET_UNITS, PACKETS_HINT, ("p",), _product_meant)


def whole(word: object) -> int | None:
    """Reads a plain whole number; `None` for anything else."""
    return int(word) if isinstance(word, str) and _WHOLE.fullmatch(word) else None


def rate(word: object) -> int:
    """Reads a rate above 0, in bit/s."""
    value = _quantity(word, _RATE)
    if value == 0:
        raise WordError(f"`{word}` is a rate of zero", "give a rate above zero, such as 100mbit")
    return value


def size(word: object) -> int:
    """Reads a size, in bytes."""
    return _quantity(word, _SIZE)


def time(word: object) -> int:
    """Reads a time, in ns."""
    return _quantity(word, _TIME)


def span(word: object) -> int:
    """Reads a time above 0, in ns."""
    value = time(word)
    if value == 0:
        raise WordError(f"`{word}` is a time of zero", "give a time above zero, such as 100ms")
    return value


def packets(word: object) -> int:
    """Reads a number of packets: `180p`."""
    return _quantity(word, _PACKETS)


def rate_word(bits_per_second: int) -> str:
    """The shortest exact way to write a rate: `100mbit`."""
    return _shortest(bits_per_second, [("tbit", 10**12), ("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3)], "bit")


def size_word(count: int) -> str:
    """The shortest exact way to write a size: `64kb`."""
    return _shortest(count, [("gb", 2**30), ("mb", 2**20), ("kb", 2**10)], "b")


def time_word(nanoseconds: int) -> str:
    """The shortest exact way to write a time: `5ms`."""
    return _shortest(nanoseconds, [("s", 10**9), ("ms", 10**6), ("us", 10**3)], "ns") if nanoseconds else "0s"


def _quantity(word: object, kind: _Kind) -> int:
    if isinstance(word, bool) or not isinstance(word, str | int | float):
        raise WordError(f"`{shown(word)}` is not {kind.noun}", kind.hint)
    return _base_units(str(word).strip(), kind)


@functools.lru_cache(maxsize=4096)
def _base_units(text: str, kind: _Kind) -> int:
    # Cached, because the configurations of an experiment have most words in common.
    match = _NUMBER.fullmatch(text)
    if match is None and (bare := bare_number(text)) is not None:
        raise WordError(f"`{shown(text)}` has no unit", f"did you mean {_likely(bare, kind)}? {kind.hint}")
    if match is None:
        raise WordError(f"`{shown(text)}` is not {kind.noun}", kind.hint_for(text))
    if match["sign"] == "-":
        raise WordError(f"`{text}` is negative", f"{kind.noun} is never below zero; {kind.hint}")
    if not match["unit"]:
        bare = Fraction(match["number"].rstrip("."))
        raise WordError(f"`{shown(text)}` has no unit", f"did you mean {_likely(bare, kind)}? {kind.hint}")
    factor = kind.units.get(match["unit"].lower())
    if factor is None:
        raise WordError(f"`{text}` is not {kind.noun}", kind.hint_for(text))
    value = int(Fraction(match["number"].rstrip(".")) * factor)
    if value > LARGEST:
        raise WordError(f"`{text}` is too large", f"{kind.noun} must be below 2^63 base units; {kind.hint}")
    return value


def bare_number(text: str) -> Fraction | None:
    """A number in the notation of programs, such as `1e6`; `None` for anything else."""
    found = re.fullmatch(r"\+?[0-9]{1,15}(?:\.[0-9]{0,15})?[eE][+-]?[0-9]{1,2}", text)
    return None if found is None else Fraction(text)


def plain_word(number: Fraction) -> str:
    """A number without an exponent, and without zeros behind the point: `1000000`, `0.5`."""
    return str(int(number)) if number.denominator == 1 else f"{float(number):.9f}".rstrip("0").rstrip(".")


def without_unit(word: object) -> Fraction | None:
    """A number that stands where a unit is needed; `None` for anything else."""
    if isinstance(word, bool) or not isinstance(word, str | int | float):
        return None
    text = str(word).strip()
    return Fraction(text) if re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", text) else bare_number(text)


def hint_of_unit(word: object, unit: str, hint: str) -> str:
    """A hint, which begins with the value that a number without its unit may mean."""
    bare = without_unit(word)
    return hint if bare is None else f"did you mean `{plain_word(bare)}{unit}`? {hint}"


def hint_of_percent(word: object, hint: str) -> str:
    """The same for a share in per cent: `0.1` may be either."""
    bare = without_unit(word)
    if bare is None or not 0 <= bare <= PERCENT:
        return hint
    of_one = f" or `{plain_word(PERCENT * bare)}%`" if 0 < bare < 1 else ""
    return f"did you mean `{plain_word(bare)}%`{of_one}? {hint}"


PERCENT = 100

#: A number of at most so many digits before the point is in the usual large unit.
_FEW_DIGITS = 1000


def _likely(number: Fraction, kind: _Kind) -> str:
    """What somebody means who writes a number without a unit: few digits are of a large unit, many of the base unit."""
    if kind.likely == _RATE.likely and number >= _FEW_DIGITS:
        return f"`{rate_word(int(number))}`"
    if kind.likely == _TIME.likely and number >= _FEW_DIGITS:
        return f"`{time_word(int(number * 10**3))}` or `{time_word(int(number))}`"
    return " or ".join(f"`{plain_word(number)}{unit}`" for unit in kind.likely)


def on_one_line(word: object) -> str:
    """A word for messages, which say one thing on a line."""
    return str(word).replace("\n", "\\n")


def shown(word: object) -> str:
    """A value for messages: in the syntax of YAML, and shortened if it is long."""
    if word is None or isinstance(word, bool):
        return str({None: "null", True: "true", False: "false"}[word])
    if isinstance(word, dict):
        # Of a large mapping, its beginning is enough.
        word = "{" + ", ".join(f"{key}: {shown(value)}" for key, value in itertools.islice(word.items(), 20)) + "}"
    text = on_one_line(word) or "''"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _shortest(value: int, units: list[tuple[str, int]], base: str) -> str:
    for unit, factor in units:
        if value and value % factor == 0:
            return f"{value // factor}{unit}"
    return f"{value}{base}"

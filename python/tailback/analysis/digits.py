"""Numbers as text: enough digits to see the value, in fixed notation, with a minus sign as wide as the plus sign."""

import math
from collections.abc import Sequence

MOST = 12
"""Decimal places; what is smaller in the units of the metrics is due to rounding."""

SMALL_S = 0.1
"""Times in s of which the largest is below this are written in ms."""


def decimals(value: float, digits: int = 3) -> int:
    """The decimal places with which `value` has so many significant digits."""
    if value == 0 or not math.isfinite(value):
        return 0
    return min(max(0, digits - 1 - math.floor(math.log10(abs(value)))), MOST)


def significant(value: float, digits: int = 3) -> str:
    """`0.00126`, `4.75`, `116`, `43875`: so many significant digits, or all digits before the decimal point."""
    return fixed(value, decimals(value, digits))


def fixed(value: float, places: int) -> str:
    """So many decimal places, without zeros at the end."""
    text = f"{value:.{places}f}"
    plain = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if plain in ("-0", "") else plain.replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """`+1.2`, `−0.03`; zero has no sign."""
    return f"{'+' if value > 0 else ''}{significant(value, digits)}"


def readable(unit: str, values: Sequence[float]) -> tuple[str, list[float]]:
    """The unit in which these values are easily read, and the values in it: 1.26 ms for 0.00126 s."""
    largest = max(map(abs, values), default=0.0)
    if unit == "s" and 0 < largest < SMALL_S:
        return "ms", [1e3 * value for value in values]
    return unit, list(values)

"""Numbers of a comparison as text."""

import math
from typing import Any

from tailback.analysis.digits import significant


def number(value: Any) -> str:
    """Four significant digits; integers in full; `–` for unknown values."""
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.0f}" if float(value).is_integer() or abs(value) >= 1e4 else significant(value, 4)


def share(value: float) -> str:
    """A fraction as text: `+3.1 %`."""
    return "–" if math.isnan(value) else f"{100 * value:+.1f} %".replace("-", "−")


def percent(value: float) -> str:
    """A share as text: `86.7 %`."""
    return "–" if math.isnan(value) else f"{100 * value:.1f} %"

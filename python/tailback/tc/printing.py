"""Formats values as `tc -s` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

Printed = Literal["rate", "time", "bytes", "packets"]
"""The unit of a number of `tc -s -j`: byte/s, µs, bytes or packets."""


def rate(bytes_per_second: float) -> str:
    """A rate: `10Mbit`."""
    bits = bytes_per_second * 8
    for letter in ("", "K", "M", "G", "T"):
        if bits < 1000 or letter == "T" or (bits % 1000 and bits < 1_000_000):
            return f"{bits:.0f}{letter}bit"
        bits /= 1000
    return f"{bits:.0f}bit"


def size(count: int) -> str:
    """A size, in Mb or Kb if it is close to a whole number of them. [iproute2 utils.c print_size]"""
    for unit, letters, near in ((1 << 20, "Mb", 1024), (1 << 10, "Kb", 16)):
        whole = round(count / unit)
        if count >= unit and abs(whole * unit - count) < near:
            return f"{whole}{letters}"
    return f"{count}b"


def microseconds(count: float) -> str:
    """A time: `5ms`, `100us`."""
    for unit, letters in ((1e6, "s"), (1e3, "ms")):
        if abs(count) >= unit:
            return f"{count / unit:.3g}{letters}"
    return f"{count:.0f}us"


def number(value: object) -> str:
    """A plain number, or text."""
    return f"{value:g}" if isinstance(value, float) else str(value)


PRINTERS: Mapping[Printed, Callable[[int], str]] = {
    "rate": rate,
    "time": microseconds,
    "bytes": size,
    "packets": lambda count: f"{count}p",
}

"""Reads the size table of a discipline: `stab overhead 44 linklayer atm`. [tc-stab(8)]"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailback.resolved import SizeTable
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

KEYWORD = "stab"

LAYERS = {"ethernet": "ethernet", "atm": "atm", "adsl": "atm"}

_RANGES = {"overhead": (-64, 65_535), "mpu": (0, 65_535), "mtu": (1, 1 << 20), "tsize": (1, 32_768)}
"""The whole numbers of a size table, each with its least and its largest value."""

KEYS = (*_RANGES, "linklayer")


def size_table(words: Sequence[str]) -> tuple[SizeTable | None, list[str]]:
    """The size table with which the words begin, if any, and the words behind it."""
    if not words or words[0] != KEYWORD:
        return None, list(words)
    rest = list(words[1:])
    found: dict[str, int | str] = {}
    while rest and rest[0] in KEYS:
        key = rest.pop(0)
        if not rest:
            raise WordError(f"`{key}` of `stab` has no value", _HINT)
        found[key] = _value(key, rest.pop(0))
    if not found:
        raise WordError(f"`stab` has no value{f' before `{shown(rest[0])}`' if rest else ''}", _HINT)
    # 0 means that the value is not given.                                     [iproute2 tc_core.c tc_calc_size_table]
    given = {key: value for key, value in found.items() if value or key not in ("mtu", "tsize")}
    return SizeTable(**given), rest  # type: ignore[arg-type]


_HINT = "write it before the discipline, as tc does: stab overhead 44 linklayer atm htb rate 10mbit"


def _value(key: str, word: str) -> int | str:
    if key == "linklayer":
        if word not in LAYERS:
            raise WordError(f"`{shown(word)}` is not a link layer of `stab`", f"write one of: {', '.join(LAYERS)}")
        return LAYERS[word]
    least, most = _RANGES[key]
    # `tc` takes plain numbers here, and prints them so.
    number = int(word) if re.fullmatch(r"-?[0-9]{1,9}", word) else units.whole(word)
    if number is None:
        raise WordError(f"`{shown(word)}` is not a whole number", f"write the `{key}` of `stab` in bytes: {key} 44")
    if number and not least <= number <= most:
        raise WordError(f"`{key}` of `stab`: `{shown(word)}` is out of range", f"write a number from {least} to {most}")
    return number

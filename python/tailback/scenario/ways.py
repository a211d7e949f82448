"""Values of a link: one for both directions, or `[there, back]`; and its impairments, with netem's options.

`there` is from the first end to the second. The values of `loss`, `duplicate`, `corrupt` and `reorder` are written as
after that word in `tc qdisc add ... netem`: `1%`, `1% 25%` (with a correlation), `gemodel 1% 10%`. The value of
`jitter` is written as after the delay: `2ms`, `2ms 25% distribution normal`. [tc-netem(8)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tailback.scenario import words
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.rows import Row
from tailback.tc.units import shown

T = TypeVar("T")

#: Options of netem, in base units.
Options = Mapping[str, int]

PAIR_HINT = "write one value, or two: [there, back]"

#: The options that each key of a link may set.
OPTIONS: Mapping[str, frozenset[str]] = {
    "jitter": frozenset({"jitter", "delay_correlation", "distribution"}),
    "loss": frozenset(
        {"loss_model", "loss", "loss_correlation", "p13", "p31", "p32", "p23", "p14", "p", "r", "1-h", "1-k", "ecn"}
    ),
    "duplicate": frozenset({"duplicate", "duplicate_correlation"}),
    "corrupt": frozenset({"corrupt", "corrupt_correlation"}),
    "reorder": frozenset({"reorder", "reorder_correlation", "gap"}),
}

_SAMPLES = {
    "jitter": "2ms, or 2ms 25% distribution normal",
    "loss": "1%, 1% 25%, or gemodel 1% 10%",
    "duplicate": "0.1%",
    "corrupt": "0.1%",
    "reorder": "25% 50%",
}


def each_way(word: object, read: Callable[[object], T]) -> list[T]:
    """Reads one value for both directions, or each of `[there, back]`."""
    if not isinstance(word, list):
        return [read(word)] * 2
    if len(word) != 2:
        raise WordError(f"has {len(word)} elements", PAIR_HINT)
    return [read(way) for way in word]


def each_way_or_none(word: object, read: Callable[[object], T]) -> list[T | None]:
    """As `each_way`, but an element may be null: `[10mbit, null]`."""
    if not isinstance(word, list):
        return [read(word)] * 2
    return each_way(word, lambda way: None if way is None else read(way))


def delays(word: object) -> list[int]:
    """Reads a delay, or one per direction."""
    return each_way(word, units.time)


def rates(word: object) -> list[int | None]:
    """Reads a rate, or one per direction; `null` means no serialization time."""
    return [None, None] if word is None else each_way_or_none(word, units.rate)


def rings(word: object) -> list[int]:
    """Reads the descriptors of a transmit ring (`ethtool -G DEV tx N`), or one number per end."""
    return each_way(word, ring)


def ring(word: object) -> int:
    """Reads a number of descriptors."""
    if isinstance(word, bool) or not isinstance(word, int) or not 1 <= word <= 65_536:
        raise WordError(f"`{shown(word)}` is not the size of a ring", "write a number of descriptors, 1 to 65536: 256")
    return word


def switch(word: object) -> bool:
    """Reads `on` or `off`."""
    found = {"on": True, "off": False, True: True, False: False}.get(word if isinstance(word, str | bool) else "")
    if found is None:
        raise WordError(f"`{shown(word)}` is neither on nor off", "write on or off")
    return found


def switches(word: object) -> list[bool]:
    """Reads `on` or `off`, or one per end."""
    return each_way(word, switch)


def states(word: object) -> list[str | None]:
    """Reads `up` or `down`, or one per direction; `null` means unchanged."""
    return each_way_or_none(word, _state)


def _state(word: object) -> str:
    if word not in ("up", "down"):
        raise WordError(f"`{shown(word)}` is not a state of a link", "write up or down")
    return str(word)


def impairments(word: object, key: str, rows: Sequence[Row]) -> list[Options | None]:
    """Reads netem's options for a key, or those of each direction; `null` means none."""
    return each_way_or_none(word, lambda way: _impairment(way, key, rows))


def _impairment(word: object, key: str, rows: Sequence[Row]) -> Options:
    message = f"`{shown(word)}` is not the {key} of a link"
    hint = f"write what follows `{'delay TIME' if key == 'jitter' else key}` of netem in tc: {_SAMPLES[key]}"
    if units.without_unit(word) is not None and key != "jitter":
        raise WordError(message, units.hint_of_percent(word, hint))
    if key == "jitter" and isinstance(word, int | float):
        units.time(word)
    if not isinstance(word, str) or not word.split() or "|" in word:
        raise WordError(message, hint)
    if key == "jitter":
        # Beside a delay that needs a unit, microseconds would be a surprise: `jitter: 1`.
        units.time(word.split()[0])
    keyword = "delay 0us" if key == "jitter" else key
    found: dict[str, int] = dict(words.discipline(f"netem {keyword} {word}", rows).options)
    if key == "jitter":
        found.pop("delay")
    if not found or set(found) - OPTIONS[key] or (key == "jitter" and "jitter" not in found):
        raise WordError(message, hint)
    return found

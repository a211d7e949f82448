"""Values of a link: one for both directions, or `[there, back]`; and the impairments of a link, with netem's
options.

`there` is from the first end to the second. `loss`, `duplicate`, `corrupt` and `reorder` hold what follows that word in
`tc qdisc add ... netem`: `1%`, `1% 25%` (with its correlation), `gemodel 1% 10%`. `jitter` holds what follows the
delay there: `2ms`, `2ms 25% distribution normal`. [tc-netem(8)]
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

#: What each key of a link may set.
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
        raise WordError(f"a list of {len(word)} is not a value of a link", PAIR_HINT)
    return [read(way) for way in word]


def each_way_or_none(word: object, read: Callable[[object], T]) -> list[T | None]:
    """The same, where one of the two may be empty: `[10mbit, null]`."""
    if not isinstance(word, list):
        return [read(word)] * 2
    return each_way(word, lambda way: None if way is None else read(way))


def delays(word: object) -> list[int]:
    """One delay for both ways, or each."""
    return each_way(word, units.time)


def rates(word: object) -> list[int | None]:
    """A rate, or each way's; `null` = packets are handed over at once."""
    return [None, None] if word is None else each_way_or_none(word, units.rate)


def rings(word: object) -> list[int]:
    """Descriptors of the transmit ring, as `ethtool -G DEV tx N` takes them."""
    return each_way(word, ring)


def ring(word: object) -> int:
    """A number of descriptors."""
    if isinstance(word, bool) or not isinstance(word, int) or not 1 <= word <= 65_536:
        raise WordError(f"`{shown(word)}` is not the size of a ring", "write a number of descriptors, 1 to 65536: 256")
    return word


def switch(word: object) -> bool:
    """`on` or `off`."""
    found = {"on": True, "off": False, True: True, False: False}.get(word if isinstance(word, str | bool) else "")
    if found is None:
        raise WordError(f"`{shown(word)}` is neither on nor off", "write on or off")
    return found


def switches(word: object) -> list[bool]:
    """`on` or `off`, or each way's."""
    return each_way(word, switch)


def states(word: object) -> list[str | None]:
    """Whether a link, or each direction of it, is up or down; `null` means unchanged."""
    return each_way_or_none(word, _state)


def _state(word: object) -> str:
    if word not in ("up", "down"):
        raise WordError(f"`{shown(word)}` is not a state of a link", "write up or down")
    return str(word)


def treatments(word: object, key: str, rows: Sequence[Row]) -> list[Options | None]:
    """Options of netem that a key sets, or each way's; `null` = none."""
    return each_way_or_none(word, lambda way: _treatment(way, key, rows))


def _treatment(word: object, key: str, rows: Sequence[Row]) -> Options:
    message = f"`{shown(word)}` is not the {key} of a link"
    hint = f"write what follows `{'delay TIME' if key == 'jitter' else key}` of netem in tc: {_SAMPLES[key]}"
    if not isinstance(word, str) or not word.split() or "|" in word:
        raise WordError(message, hint)
    keyword = "delay 0us" if key == "jitter" else key
    found: dict[str, int] = dict(words.discipline(f"netem {keyword} {word}", rows).options)
    if key == "jitter":
        found.pop("delay")
    if not found or set(found) - OPTIONS[key] or (key == "jitter" and "jitter" not in found):
        raise WordError(message, hint)
    return found

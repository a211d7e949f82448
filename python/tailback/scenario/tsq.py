"""TCP Small Queues settings: how much of a socket's data may be queued below TCP.

time:    pacing_rate >> shift bytes, that is 2^(10 - shift) ms at the pacing rate; Linux's default is shift 10, 1 ms.
         [linux-6.12 tcp_output.c tcp_small_queue_check, sock.h sk_pacing_shift]
check:   the same limit without a change of sk_pacing_shift, which TSO and BBR read too.
off:     the limit has practically no effect (shift 0: one second at the pacing rate).
bytes:   a fixed number of bytes of memory (truesize) per socket.
packets: a fixed number of packets per socket.
"""

from __future__ import annotations

from collections.abc import Callable

from tailback.resolved import SmallQueue
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

HINT = (
    "choose 1ms, 2ms, 4ms, 8ms, 16ms, 32ms, off, a size such as 64kB, packets such as 100p, "
    "or `check 8ms` for a time that leaves sk_pacing_shift alone"
)

#: Shift by milliseconds: 10 - log2(ms).
SHIFTS = {2**step: 10 - step for step in range(6)}


def small_queue(word: object) -> SmallQueue:
    """Reads a setting into the form of the resolved scenario."""
    text = word.strip().lower() if isinstance(word, str) else ""
    if text == "off":
        return SmallQueue(kind="off")
    if text.endswith("p"):
        return SmallQueue(kind="packets", packets=_positive(units.packets, text, word))
    if text.endswith("b"):
        return SmallQueue(kind="bytes", bytes=_positive(units.size, text, word))
    if text.startswith("check "):
        return SmallQueue(kind="check", shift=_shift(text.removeprefix("check ").strip(), word))
    return SmallQueue(kind="time", shift=_shift(text, word))


def _shift(text: str, word: object) -> int:
    try:
        nanoseconds = units.time(text)
    except WordError:
        raise _refusal(word) from None
    milliseconds, rest = divmod(nanoseconds, 10**6)
    if rest or milliseconds not in SHIFTS:
        raise _refusal(word)
    return SHIFTS[milliseconds]


def _positive(read: Callable[[object], int], text: str, word: object) -> int:
    try:
        value = read(text)
    except WordError:
        raise _refusal(word) from None
    if not 0 < value < 2**32:
        raise _refusal(word)
    return value


def _refusal(word: object) -> WordError:
    return WordError(f"`{shown(word)}` is not a setting of TCP Small Queues", HINT)

"""TCP Small Queues settings: how much of a socket's data may be queued below TCP.

time:    pacing_rate >> shift bytes, that is 2^(10 - shift) ms at the pacing rate; Linux's default is shift 10, 1 ms.
         [linux-6.12 tcp_output.c tcp_small_queue_check, sock.h sk_pacing_shift]
         Times between two shifts (3 ms) multiply the millisecond, as the patch CoTSQ does [access21 §IV];
         sk_pacing_shift is that of the longest time below that has one (2 ms).
check:   the same limit without a change of sk_pacing_shift, which TSO and BBR read too.
off:     the limit has practically no effect (shift 0: one second at the pacing rate).
bytes:   a fixed number of bytes of memory (truesize) per socket.
packets: a fixed number of packets per socket.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from tailback.resolved import MILLISECOND_SHIFT, SmallQueue
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

HINT = (
    "choose a time such as 1ms, 3ms or 500us, a pacing shift such as `shift 9`, off, a size such as 64kB, packets "
    "such as 100p, or `check 8ms` for a time that leaves sk_pacing_shift alone"
)

MILLISECOND_NS = 10**6
LAST_SHIFT = 31
SECOND_NS = 10**9


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
        return _time("check", text.removeprefix("check ").strip(), word)
    return _time("time", text.removeprefix("time ").strip(), word)


def _time(kind: Literal["time", "check"], text: str, word: object) -> SmallQueue:
    if text.startswith("shift "):
        return SmallQueue(kind=kind, shift=_written_shift(text.removeprefix("shift "), word))
    try:
        nanoseconds = units.time(text)
    except WordError:
        raise _refusal(word) from None
    if not 0 < nanoseconds <= SECOND_NS:
        raise _refusal(word)
    shift = shift_below(nanoseconds)
    exact = time_of(shift) == nanoseconds
    return SmallQueue(kind=kind, shift=shift, time_ns=None if exact else nanoseconds)


def _written_shift(text: str, word: object) -> int:
    shift = int(text) if text.isdecimal() else LAST_SHIFT + 1
    if shift > LAST_SHIFT:
        raise _refusal(word)
    return shift


def shift_below(nanoseconds: int) -> int:
    """The pacing shift of the longest time up to this one that has a shift."""
    return next((shift for shift in range(LAST_SHIFT) if time_of(shift) <= nanoseconds), LAST_SHIFT)


def time_of(shift: int) -> Fraction:
    """The time in ns that a pacing shift stands for."""
    return MILLISECOND_NS * Fraction(2) ** (MILLISECOND_SHIFT - shift)


def _positive(read: Callable[[object], int], text: str, word: object) -> int:
    try:
        value = read(text)
    except WordError:
        raise _refusal(word) from None
    if not 0 < value < 2**32:
        raise _refusal(word)
    return value


def _refusal(word: object) -> WordError:
    hint = HINT if word == 0 else units.hint_of_unit(word, "ms", HINT)
    return WordError(f"`{shown(word)}` is not a setting of TCP Small Queues", hint)

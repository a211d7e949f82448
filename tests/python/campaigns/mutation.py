"""Mutations selected by a seed: the same inputs on every machine, without a library.

`make test` tries a few of them, a campaign as many as its time allows (`drawn.py`), beside those that coverage finds
(`guided.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

LONGEST = 8192
"""Bytes of an input."""

HOSTILE = (
    b"0", b"-1", b"1e400", b"nan", b"inf", b"99999999999999999999", b"9223372036854775808", b"0.000000001", b"\0",
    b"\xff", b"\xed\xa0\x80", b"\x1b[2J", b"[/red]", b"{}", b"[]", b"null", b'""', b"\n", b"%s%n", b"../../x",
    b"/dev/zero", b"\xf0\x9f\x90\xa2", b"\xef\xbc\x91", b"\xc2\xb2",
)  # fmt: skip
"""What readers stumble over, wherever it stands."""


def inputs(seeds: Sequence[bytes], words: Sequence[bytes], count: int, seed: int) -> list[bytes]:
    """The seeds unchanged, then `count` mutations of them."""
    return [*seeds, *islice(endless(seeds, words, seed), count)]


def endless(seeds: Sequence[bytes], words: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """Endless mutations of the seeds."""
    draw = random.Random(seed)
    while True:
        yield _mutated(draw, seeds, words)


def _mutated(draw: random.Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    content = draw.choice(seeds)
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        content = draw.choice(_CHANGES)(draw, content, seeds, words)[:LONGEST]
    return content


Change = Callable[[random.Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]


def _span(draw: random.Random, content: bytes) -> tuple[int, int]:
    first = draw.randint(0, len(content))
    return first, min(len(content), first + draw.choice((0, 1, 2, 4, 16, 64)))


def _flip(draw: random.Random, content: bytes, _seeds: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    if not content:
        return content
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]


def _put(draw: random.Random, content: bytes, _seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    first, last = _span(draw, content)
    return content[:first] + draw.choice(draw.choice((HOSTILE, words or HOSTILE))) + content[last:]


def _number(draw: random.Random, content: bytes, _seeds: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    """Replaces a number by another."""
    places = [at for at, byte in enumerate(content) if chr(byte).isdigit()]
    if not places:
        return content
    first = last = draw.choice(places)
    while last < len(content) and chr(content[last]).isdigit():
        last += 1
    value = draw.choice((0, 1, 2**31, 2**32, 2**63, 2**64, 10**30, draw.randrange(1000), draw.randrange(10**9)))
    return content[:first] + str(value).encode() + content[last:]


def _cut(draw: random.Random, content: bytes, _seeds: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    first, last = _span(draw, content)
    return content[:first] + content[last:] if draw.random() < 0.8 else content[:first]


def _repeat(draw: random.Random, content: bytes, _seeds: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    first, last = _span(draw, content)
    return content[:first] + content[first:last] * draw.choice((2, 2, 3, 50)) + content[last:]


def _splice(draw: random.Random, content: bytes, seeds: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    first, last = _span(draw, content)
    other = draw.choice(seeds)
    start, end = _span(draw, other)
    return content[:first] + other[start:end] + content[last:]


_CHANGES: Sequence[Change] = (_flip, _put, _put, _number, _cut, _repeat, _splice)

"""The words of iperf 2: sizes, rates, and options of its client and server. [iperf 2, iperf(1)]"""

import re
from dataclasses import dataclass, field

DATAGRAM = "1470b"
DEFAULT_RATE = "1mbit"

LARGEST_BUFFER = 2_097_152
"""TEACUP's net.core.rmem_max and wmem_max; a larger SO_SNDBUF or SO_RCVBUF is this."""

WITH_VALUE = {"P", "w", "M", "Z", "l", "b"}
FLAGS = {"u", "N"}
"""`-N` turns Nagle off, which bulk data does not notice."""


@dataclass
class Extra:
    """Options that have a counterpart, by letter, and the words that have none."""

    options: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def extra(text: str) -> Extra:
    """Reads `-P 4 -w 64k`."""
    found = Extra()
    words = text.split()
    while words:
        word = words.pop(0)
        letter, joined = word[1:2], word[2:]
        if word[:1] == "-" and letter in WITH_VALUE and (joined or words):
            found.options[letter] = joined or words.pop(0)
        elif word[:1] == "-" and letter in FLAGS and not joined:
            found.options[letter] = ""
        else:
            argument = words[:1] if word[:1] == "-" and words and words[0][:1] != "-" else []
            found.left.append(" ".join([word, *argument]))
            words = words[len(argument) :]
    return found


def rate(value: object) -> str:
    """As `iperf -b` takes it: `10M` is 10 Mbit/s, a bare number bit/s, nothing 1 Mbit/s."""
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kKmMgG]?)", str(value).strip(), re.ASCII)
    if found is None or not float(found[1]):
        return DEFAULT_RATE
    unit = {"": "bit", "k": "kbit", "m": "mbit", "g": "gbit"}[found[2].lower()]
    return f"{found[1]}{unit}"


def in_bytes(value: object) -> int:
    """A size as iperf takes it: k and m are powers of 1024; raises `ValueError`."""
    found = re.fullmatch(r"([0-9]{1,12})([kKmM]?)[bB]?", str(value).strip(), re.ASCII)
    if found is None or not int(found[1]):
        raise ValueError(value)
    return int(found[1]) * {"": 1, "k": 1024, "m": 1024**2}[found[2].lower()]


def size(value: object) -> str:
    """A size in our words."""
    return f"{in_bytes(value)}b"


def buffer(value: object) -> str:
    """The buffer that a socket gets of TEACUP's hosts."""
    return f"{min(in_bytes(value), LARGEST_BUFFER)}b"

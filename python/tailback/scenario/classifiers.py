"""Reads filters of `tc` as far as an experiment can express them: all packets, or those of a code point."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from tailback.scenario.algorithm import Filter
from tailback.tc import options as tc
from tailback.tc.errors import WordError
from tailback.tc.units import shown, whole

_BY_TRAFFIC = "name the traffic instead: filter flow upload flowid 1:10; or the host: filter from client flowid 1:10"
_BY_MARK = (
    "packets have no marks here: name the traffic, filter flow upload flowid 1:10, or give it a `dscp` and write "
    "filter dscp EF flowid 1:10"
)
_NO_ACTIONS = "remove it: filters only choose a class here; a policer of all packets is `police` of a link"

_WITHOUT = {
    "fw": _BY_MARK,
    "basic": _BY_TRAFFIC,
    "bpf": _BY_TRAFFIC,
    "cgroup": _BY_TRAFFIC,
    "flow": "the disciplines have hashes of their own, such as fq_codel and cake",
    "route": _BY_TRAFFIC,
    "rsvp": _BY_TRAFFIC,
    "tcindex": _BY_MARK,
}
"""Classifiers that are not modelled, with remedies."""

_KINDS = ("u32", "flower", "matchall", *_WITHOUT)

_VALUES = {
    "dev": 1, "parent": 1, "protocol": 1, "prio": 1, "pref": 1, "priority": 1, "chain": 1, "handle": 1, "fh": 1,
    "order": 1, "estimator": 2, "eth_type": 1, "in_hw_count": 1, "bkt": 1, "divisor": 1, "link": 1,
}  # fmt: skip
_FLAGS = ("root", "not_in_hw", "in_hw", "skip_hw", "skip_sw", "key", "terminal")

#: The type of service without the ECN bits.
_CODE_POINT_MASK = 0xFC


_PROTOCOLS = ("all", "ip", "ipv4", "ipv6", "0x0800", "0x86dd", "800", "86dd", "[2048]")
"""Protocols that packets have here; a filter of another, such as arp, takes none."""


class Place(Struct):
    """Where a filter is attached, its priority, 0 if it has none, and the protocol of its packets."""

    device: str = ""
    parent: tuple[int, int] | None = None
    priority: int = 0
    protocol: str = "all"


def classifier(words: Sequence[str], place: Place, line: str) -> Filter | None:
    """The filter of a command, or of what was printed; `None` for a printed line that only heads others."""
    found = _Words(place, line)
    # `tc filter show` names the hash table of a u32 filter, and stars the class that it has found.
    rest = (
        re.sub(r"\bht (divisor )?\S+|\((?:rule hit|success)[^)]*\)", "", " ".join(words))
        .replace("*flowid", "flowid")
        .split()
    )
    while rest:
        word = rest.pop(0)
        rest = found.take(word, rest)
    if place.protocol not in _PROTOCOLS:
        return None
    if found.kind in _WITHOUT:
        raise WordError(f"the classifier `{found.kind}` of `{shown(line)}` is not modelled", _WITHOUT[found.kind])
    if not found.number and not found.match:
        return None
    if not found.kind:
        raise WordError(f"`{shown(line)}` names no classifier", "write matchall, flower or u32")
    fits, what = _READERS[found.kind](found.match, line)
    return Filter(fits, what, _class_of(found.number, line))


class _Words:
    """The parts of a filter, as they are read."""

    def __init__(self, place: Place, line: str) -> None:
        self.kind, self.number = "", ""
        self.match: list[str] = []
        self._place, self._line = place, line

    def take(self, word: str, rest: list[str]) -> list[str]:
        """Takes a word and its values; returns the words behind them."""
        if word in ("police", "action"):
            raise WordError(f"`{word}` in `{shown(self._line)}` is not modelled", _NO_ACTIONS)
        if word == "match" and self.kind == "u32":
            # What it compares may have the name of an option: match ip protocol 6 0xff.
            self.match += [word, *rest[:2]]
            return rest[2:]
        if word in ("flowid", "classid"):
            self.number = rest[0] if rest else ""
            return rest[1:]
        if word in _VALUES:
            _note(self._place, word, rest[0] if rest else "")
            return rest[_VALUES[word] :]
        if not self.kind and word in _KINDS:
            self.kind = word
        elif word not in _FLAGS:
            self.match.append(word)
        return rest


def _class_of(number: str, line: str) -> int:
    if not number:
        raise WordError(f"`{shown(line)}` names no class", "end it with `flowid` and a class: flowid 1:10")
    return tc.place(number)[1]


def _note(place: Place, word: str, value: str) -> None:
    if word == "dev":
        place.device = value
    elif word == "parent":
        place.parent = tc.place(value)
    elif word == "protocol":
        place.protocol = value.lower()
    elif word in ("prio", "pref", "priority"):
        place.priority = whole(value) or 0


def _all(match: Sequence[str], line: str) -> tuple[str, int | None]:
    if match:
        raise WordError(f"`{shown(' '.join(match))}` in `{shown(line)}` is not read", "write matchall flowid 1:10")
    return "all", None


def _flower(match: Sequence[str], line: str) -> tuple[str, int | None]:
    if not match:
        return "all", None
    if len(match) == 2 and match[0] == "ip_tos":
        value, _, mask = match[1].partition("/")
        return _code_point(value, mask or "0xff", line)
    raise _unread(match, line)


def _u32(match: Sequence[str], line: str) -> tuple[str, int | None]:
    words = [word for word in match if word not in ("match", "ip", "ip6")]
    if words and words[0] in ("tos", "dsfield", "priority", "dsfield_ecn") and len(words) == 3:
        return _code_point(words[1], words[2], line)
    if re.fullmatch(_EVERYTHING, " ".join(words)):
        return "all", None
    # As `tc filter show` prints it: value and mask of the first word of the header, whose second byte is the octet.
    printed = re.fullmatch(r"([0-9a-f]{8})/([0-9a-f]{8}) at 0", " ".join(words))
    if printed is not None:
        value, mask = int(printed[1], 16), int(printed[2], 16)
        if not mask:
            return "all", None
        if mask >> 24 == 0 and mask & 0xFFFF == 0:
            return _code_point(str(value >> 16), str(mask >> 16), line)
    raise _unread(match, line)


_EVERYTHING = r"u(?:8|16|32) 0(?:x0+)? 0(?:x0+)?(?: at \d+)?|[a-z]\w* \w+ 0(?:x0+)?|(?:src|dst) [0-9a-f.:]+/0"
"""A match whose mask is zero."""


def _code_point(value: str, mask: str, line: str) -> tuple[str, int | None]:
    octet, bits = (_number(word, line) for word in (value, mask))
    if bits & _CODE_POINT_MASK != _CODE_POINT_MASK:
        hint = "write one filter for each code point, with the mask 0xfc"
        raise WordError(f"`{shown(line)}` matches a part of the code point", hint)
    return "dscp", (octet & _CODE_POINT_MASK) >> 2


def _number(word: str, line: str) -> int:
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,2}|[0-9]{1,3}", word):
        raise WordError(f"`{shown(word)}` in `{shown(line)}` is not an octet", "write it as 0xb8")
    return int(word, 16 if word[:2].lower() == "0x" else 10)


def _unread(match: Sequence[str], line: str) -> WordError:
    told = " ".join(match)
    given = re.search(r"\b(?:flowid|classid) (\S+)", line)
    number = given[1] if given is not None else "1:10"
    traffic, name = next((meant for pattern, meant in _OF_PROTOCOL.items() if re.search(pattern, told)), ("", ""))
    hint = (
        f"in its place write a line for each {traffic}, with its name: filter flow {name} flowid {number}; or leave it "
        "out, and they take the class of the rest"
    )
    what = f"`{shown(told)}` in `{shown(line)}` is not a match of a filter here"
    return WordError(what, hint if traffic else _BY_TRAFFIC)


_OF_PROTOCOL = {
    r"\b(?:protocol|ip_proto) (?:0x0*1|1|0x3a|58|icmp|icmpv6)\b|00010000/00ff0000 at 8": ("ping", "ping"),
    r"\b(?:protocol|ip_proto) (?:0x0*6|6|tcp)\b|00060000/00ff0000 at 8": ("flow over TCP", "upload"),
    r"\b(?:protocol|ip_proto) (?:0x11|17|udp)\b|00110000/00ff0000 at 8": ("flow over UDP", "stream"),
}
"""Matches of a protocol, with the traffic that they mean and a name of it."""


_READERS = {"matchall": _all, "flower": _flower, "u32": _u32}

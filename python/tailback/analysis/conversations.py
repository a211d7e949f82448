"""Packets of a capture by direction: one sender's packets of one connection, all directions computed at once.

A direction is protocol, addresses and ports, and for TCP the incarnation: a SYN with another sequence number than the
last one begins a new connection between the same ports. Sequence numbers are extended across wraps and begin near 0,
where the first packet of the direction is; those of ACKs are in the numbers of the direction that they acknowledge.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

TCP, UDP, ICMP = 6, 17, 1
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10

WRAP = 1 << 32

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Conversations:
    """The packets of TCP and UDP in a table, in order of time, with the direction of each."""

    t_ns: Ints
    code: Ints
    """The direction of each packet."""
    first: Ints
    """The row of the first packet of each direction."""
    back: Ints
    """The opposite of each direction; −1 if the capture has none of its packets."""
    names: list[str]
    """Of each direction, such as `10.0.0.1:1024 > 10.0.0.3:5201`."""
    tcp: Mask
    """Which directions are TCP."""
    columns: dict[str, Ints]
    """The other columns of the packets."""

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def order(self) -> Ints:
        """The rows by direction, and by time within each."""
        return np.argsort(self.code, kind="stable")

    @cached_property
    def is_tcp(self) -> Mask:
        """Which packets are TCP."""
        return self.tcp[self.code]

    @cached_property
    def seq(self) -> Ints:
        """Extended sequence numbers, relative to the first of their direction. A SYN counts, so data begins at 1."""
        return extended(self.columns["seq"], self.code, self.order)

    @cached_property
    def end(self) -> Ints:
        """The sequence number after each packet."""
        flags = self.columns["flags"]
        # `& 1` counts SYN and FIN, which take a number each.
        return np.asarray(self.seq + self.columns["payload"] + ((flags & SYN) >> 1) + (flags & FIN), dtype=np.int64)

    @cached_property
    def ack(self) -> Ints:
        """Extended acknowledgement numbers, relative to the first sequence number of the opposite direction, or to the
        first acknowledgement if the capture does not have that direction. Without ACK: −1.
        """
        known = ((self.columns["flags"] & ACK) > 0) & self.is_tcp
        opposite = self.back[self.code]
        numbers = np.where(known, self.columns["ack"], 0)
        rows = self.order[known[self.order]]
        found = np.full(len(self.code), -1, dtype=np.int64)
        if not len(rows):
            return found
        relative = _extended_sorted(numbers[rows], self.code[rows])
        begins = _begins(self.code[rows])
        heads = rows[begins]
        base = np.where(
            opposite[heads] >= 0, self.columns["seq"][self.first[np.maximum(opposite[heads], 0)]], numbers[heads]
        )
        offset = _nearest(numbers[heads] - base)
        group = np.cumsum(begins) - 1
        found[rows] = relative + offset[group]
        return found


def conversations(table: "pd.DataFrame") -> Conversations:
    """The TCP and UDP packets of a table of packets, which is in order of time."""
    rows = np.flatnonzero(np.isin(table["protocol"].to_numpy(), (TCP, UDP)))
    hosts, (source, target) = _hosts(table, rows)
    kept = {
        name: table[name].to_numpy()[rows].astype(np.int64)
        for name in ("t_ns", "protocol", "sport", "dport", "seq", "ack", "flags", "payload")
    }
    for name in ("identification", "tsval", "tsecr", "mss", "ttl", "tap"):
        kept[name] = table[name].to_numpy()[rows].astype(np.int64) if name in table else np.zeros(len(rows), np.int64)
    ends = np.stack([source * 2 + (kept["protocol"] == TCP), target, kept["sport"] << 16 | kept["dport"]])
    pair, _ = _coded(ends[0] * (len(hosts) + 1) + ends[1])
    code, first = _coded(pair << 32 | ends[2])
    code, first = _incarnations(kept, code, first, _opposites(code, first, source, target, kept))
    back = _opposites(code, first, source, target, kept)
    written = [with_brackets(host) for host in hosts]
    names = [
        f"{written[source[row]]}:{kept['sport'][row]} > {written[target[row]]}:{kept['dport'][row]}"
        for row in first.tolist()
    ]
    return Conversations(
        kept.pop("t_ns"), code, first, back, _numbered(names), kept["protocol"][first] == TCP,
        kept | {"source": source, "target": target},
    )  # fmt: skip


def with_brackets(host: str) -> str:
    """A host as a port follows it: an address of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def extended(numbers: Ints, code: Ints, order: Ints) -> Ints:
    """32-bit numbers, extended across wraps, relative to the first of each direction."""
    found = np.zeros(len(numbers), dtype=np.int64)
    found[order] = _extended_sorted(numbers[order], code[order])
    return found


def grown(values: Ints, code: Ints) -> tuple[Ints, Ints]:
    """The highest value before each row, and up to it, of rows that are sorted by direction; before the first row of a
    direction: its own.
    """
    import pandas as pd

    highest = pd.Series(values).groupby(code).cummax().to_numpy()
    begins = _begins(code)
    before = np.empty_like(highest)
    before[1:] = highest[:-1]
    before[begins] = values[begins]
    return before, highest


def _hosts(table: "pd.DataFrame", rows: Ints) -> tuple[list[str], tuple[Ints, Ints]]:
    """The names of all hosts, and the places of sources and targets among them."""
    import pandas as pd

    columns = [table[name].to_numpy(dtype=object)[rows] if table[name].dtype == object else table[name].iloc[rows]
               for name in ("source", "target")]  # fmt: skip
    kinds = [pd.Categorical(column) for column in columns]
    names = list(dict.fromkeys(str(name) for kind in kinds for name in kind.categories))
    places = {name: place for place, name in enumerate(names)}
    found = [
        np.array([places[str(name)] for name in kind.categories], dtype=np.int64)[kind.codes.astype(np.int64)]
        if len(kind.categories)
        else np.zeros(len(rows), np.int64)
        for kind in kinds
    ]
    return names, (found[0], found[1])


def _coded(keys: Ints) -> tuple[Ints, Ints]:
    """A code for each key, in the order of their first rows, and these rows."""
    distinct, first, places = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(distinct), dtype=np.int64)
    order = np.argsort(first)
    rank[order] = np.arange(len(distinct))
    return rank[places], first[order].astype(np.int64)


def _opposites(code: Ints, first: Ints, source: Ints, target: Ints, kept: dict[str, Ints]) -> Ints:
    """The opposite direction of each, of the same incarnation."""
    incarnation = kept.get("incarnation", np.zeros(len(code), dtype=np.int64))
    there = zip(
        *(
            each[first].tolist()
            for each in (kept["protocol"], source, target, kept["sport"], kept["dport"], incarnation)
        ),
        strict=True,
    )
    keys = list(there)
    known = {key: place for place, key in enumerate(keys)}
    back = [known.get((protocol, b, a, q, p, i), -1) for protocol, a, b, p, q, i in keys]
    return np.array(back, dtype=np.int64)


def _incarnations(kept: dict[str, Ints], code: Ints, first: Ints, back: Ints) -> tuple[Ints, Ints]:
    """Directions that begin anew with each new SYN of their connection."""
    connection = np.where(back >= 0, np.minimum(back, np.arange(len(back))), np.arange(len(back)))[code]
    opens = (kept["protocol"] == TCP) & ((kept["flags"] & (SYN | ACK)) == SYN)
    rows = np.flatnonzero(opens)
    kept["incarnation"] = np.zeros(len(code), dtype=np.int64)
    if not len(rows):
        return code, first
    order = rows[np.argsort(connection[rows], kind="stable")]
    same = connection[order][1:] == connection[order][:-1]
    anew = np.ones(len(order), dtype=bool)
    anew[1:] = ~same | (kept["seq"][order][1:] != kept["seq"][order][:-1])
    begins = np.zeros(len(code), dtype=np.int64)
    begins[order[anew]] = 1
    if int(begins.sum()) == len(np.unique(connection[rows])) and not _data_before(connection, begins):
        return code, first
    by_connection = np.argsort(connection, kind="stable")
    summed = np.cumsum(begins[by_connection])
    heads = _begins(connection[by_connection])
    before = (summed - begins[by_connection])[heads][np.cumsum(heads) - 1]
    kept["incarnation"][by_connection] = summed - before
    found, rows_of = _coded(code * (int(kept["incarnation"].max()) + 1) + kept["incarnation"])
    return found, rows_of


def _data_before(connection: Ints, begins: Ints) -> bool:
    """Whether a connection has packets before its SYN."""
    first_packet = _coded(connection)[1]
    return not bool(np.isin(np.flatnonzero(begins), first_packet).all())


def _numbered(names: list[str]) -> list[str]:
    """Names of later connections between the same ports get a number."""
    if len(set(names)) == len(names):
        return names
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _begins(code: Ints) -> Mask:
    """Where a direction begins, of rows that are sorted by direction."""
    found = np.ones(len(code), dtype=bool)
    found[1:] = code[1:] != code[:-1]
    return found


def _nearest(difference: Ints) -> Ints:
    """A difference of 32-bit numbers as the smallest step forward or back."""
    return np.asarray((difference + WRAP // 2) % WRAP - WRAP // 2, dtype=np.int64)


def _extended_sorted(numbers: Ints, code: Ints) -> Ints:
    if not len(numbers):
        return np.zeros(0, dtype=np.int64)
    steps = np.zeros(len(numbers), dtype=np.int64)
    steps[1:] = _nearest(np.diff(numbers))
    begins = _begins(code)
    steps[begins] = 0
    summed = np.cumsum(steps)
    return np.asarray(summed - summed[begins][np.cumsum(begins) - 1], dtype=np.int64)

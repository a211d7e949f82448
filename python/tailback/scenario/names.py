"""The names of flows: no two sockets of a run may have one.

An entry has the names of its flows, and perhaps all of NAME.1, NAME.2, ... as far as its arrivals, loads or probes go,
whose number may depend on the seed (`Flow.is_endless`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from tailback.scenario.traffic import Flow


class Claims(Struct, frozen=True):
    """The names that an entry has, and the names for which it also has NAME.1, NAME.2, ... without end."""

    names: frozenset[str]
    endless: frozenset[str]

    @classmethod
    def of(cls, flows: Iterable[Flow]) -> Claims:
        """Those of the flows of one entry."""
        flows = tuple(flows)
        names = frozenset(name for flow in flows for name in flow.names)
        return cls(names, frozenset(flow.names[0] for flow in flows if flow.is_endless))

    def shared(self, other: Claims) -> str | None:
        """A name that both have; the first by the alphabet."""
        both = self.names & other.names
        for one, another in ((self, other), (other, self)):
            both |= {name for name in one.names if counted(name) in another.endless}
        both |= {f"{name}.1" for name in self.endless & other.endless}
        return min(both, default=None)


class Index:
    """Which of many entries share a name with others, in a time that grows with the number of names."""

    def __init__(self, entries: Sequence[Claims]) -> None:
        self.entries = entries
        self._names = Counter(name for each in entries for name in each.names)
        self._endless = Counter(name for each in entries for name in each.endless)
        self._counted = Counter(name for each in entries for name in {*map(counted, each.names)} if name is not None)

    def clashes(self, claims: Claims, of: Claims | None) -> bool:
        """Whether entries other than `of` have a name of these claims."""
        own = of or Claims(frozenset(), frozenset())
        own_counted = {counted(name) for name in own.names}
        return (
            any(self._names[name] > (name in own.names) for name in claims.names)
            or any(self._endless[base] > (base in own.endless) for name in claims.names if (base := counted(name)))
            or any(self._endless[name] > (name in own.endless) for name in claims.endless)
            or any(self._counted[name] > (name in own_counted) for name in claims.endless)
        )

    def numbers_all(self, name: str) -> bool:
        """Whether an entry has NAME.1, NAME.2, ... without end."""
        return name in self._endless

    def clashing(self) -> Iterator[int]:
        """The places of the entries that share a name with another."""
        return (place for place, each in enumerate(self.entries) if self.clashes(each, each))


def counted(name: str) -> str | None:
    """NAME of NAME.7; `None` of a name that does not end with a number as entries number their flows."""
    base, dot, number = name.rpartition(".")
    return base if dot and number.isascii() and number.isdecimal() and number[0] != "0" else None


def pairs(flows: Iterable[Flow]) -> Iterator[tuple[Flow, Flow, str]]:
    """A flow of each entry that has a name of an earlier entry, a flow of that one, and the name."""
    entries: defaultdict[int, list[Flow]] = defaultdict(list)
    for flow in flows:
        entries[int(flow.loc[1])].append(flow)
    claims = {place: Claims.of(of_entry) for place, of_entry in entries.items()}
    places = list(claims)
    clashing = [places[number] for number in Index(list(claims.values())).clashing()]
    for number, place in enumerate(clashing):
        found = _earlier(claims, place, clashing[:number])
        if found is not None:
            yield entries[place][0], entries[found[0]][0], found[1]


def _earlier(claims: Mapping[int, Claims], place: int, before: Sequence[int]) -> tuple[int, str] | None:
    for other in before:
        name = claims[place].shared(claims[other])
        if name is not None:
            return other, name
    return None


class NotUnique(AssertionError):
    """Two sockets or devices of a run have one name: a defect of the checks, which refuse such files."""


def unique(what: str, names: Iterable[str]) -> None:
    """Raises `NotUnique` if a name is there twice."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise NotUnique(f"several {what} have the name `{twice[0]}`; please report this with the experiment")

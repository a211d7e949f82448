"""Up and down: which hosts are on the users' side of a network, and what that makes of a flow.

The users' side is, in this order: the stations of Wi-Fi cells; the hosts called `client` or `sender`, with or without a
number or a suffix (`client1`, `client-a`); all hosts but those called `server` or `receiver`; the first host of the
file. A flow from this side to another host is an upload, a flow from another host to it a download, whatever the order
of the links. If neither end of a flow is on this side, the flow takes the direction of the flows that pass the same
link in the same direction as its data, directly or by way of others like it. If there are none, or if they go both
ways, the flow has no direction. A flow between two hosts on this side has none either. Tables and figures call these
`across`. The names `upload` and `download` of an entry or a preset take precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.scenario.network import Network
from tailback.scenario.values import Direction

UP, DOWN = "up", "down"
NAMES = {UP: "upload", DOWN: "download"}

_CALLED = {"upload": UP, "download": DOWN}
_CLIENTS = ("client", "sender")
_SERVERS = ("server", "receiver")


def clients(network: Network) -> tuple[str, ...]:
    """The hosts on the users' side, in the order of the file."""
    stations = {hop.ends[1] for hop in network.hops if hop.radio}
    if stations:
        return tuple(host for host in network.hosts if host in stations)
    named = tuple(host for host in network.hosts if _is_called(host, _CLIENTS))
    servers = {host for host in network.hosts if _is_called(host, _SERVERS)}
    others = tuple(host for host in network.hosts if host not in servers)
    return named or (others if servers and others else network.hosts[:1])


def _is_called(host: str, names: tuple[str, ...]) -> bool:
    """Whether a host has one of these names, in any case, alone or before something that is not a letter."""
    word = host.lower()
    return any(word.startswith(name) and not word[len(name) :][:1].isalpha() for name in names)


def way(direction: Direction, users: tuple[str, ...]) -> str | None:
    """`up` from these hosts to others, `down` from others to these; `None` between two of a kind."""
    sends, receives = direction.source in users, direction.target in users
    if sends == receives:
        return None
    return UP if sends else DOWN


def ways(flows: Iterable[Direction], network: Network) -> dict[Direction, str | None]:
    """`up` or `down` for each direction of data among `flows`; `None` for those across."""
    users = clients(network)
    found = {each: way(each, users) for each in dict.fromkeys(flows)}
    beside = [each for each in found if each.source not in users and each.target not in users]
    meets = _meetings(found, users, network) if beside else {}
    for each in beside:
        if found[each] is None:
            found |= _met(each, found, meets)
    return found


Meetings = Mapping[Direction, frozenset[Direction]]
"""For each direction of data, those that pass one of its links in the same direction."""


def _meetings(flows: Iterable[Direction], users: tuple[str, ...], network: Network) -> Meetings:
    """The meetings of all flows but those between two hosts on the users' side."""
    passed = {
        each: network.links_on(each.source, each.target)
        for each in flows
        if each.source not in users or each.target not in users
    }
    passing: dict[tuple[int, str], set[Direction]] = {}
    for each, links in passed.items():
        for link in links:
            passing.setdefault(link, set()).add(each)
    return {each: frozenset().union(*(passing[link] for link in links)) for each, links in passed.items()}


def _met(first: Direction, found: Mapping[Direction, str | None], meets: Meetings) -> dict[Direction, str | None]:
    """The direction of `first` and of all flows without one that it meets, directly or by way of each other."""
    alike, waiting, theirs = {first}, [first], set[str]()
    while waiting:
        for each in meets[waiting.pop()] - alike:
            known = found[each]
            if known is not None:
                theirs.add(known)
            else:
                alike.add(each)
                waiting.append(each)
    return dict.fromkeys(alike, theirs.pop() if len(theirs) == 1 else None)


def called(flow: str) -> str | None:
    """The direction that the name of a flow says: `up` for `upload`, `upload.3` and `rrul.upload.BE`."""
    return next((_CALLED[word] for word in flow.split(".") if word in _CALLED), None)

"""Checks of links that involve several keys: rate or trace, order of changes, names of segments, valid routes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tailback.scenario.hops import lan_names, network_of, route_hops
from tailback.scenario.network import Network, Problem
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Change, Keys, Lan, Link
from tailback.scenario.values import direction
from tailback.scenario.ways import Options
from tailback.tc.errors import nearest_hint
from tailback.tc.units import time_word

WAYS = ("there", "back")


def problems(keys: Keys) -> Iterator[Problem]:
    """All errors of the links of an experiment whose single values are valid."""
    taken = Counter([*lan_names(keys).values(), *(keys.hosts or {})])
    for index, link in enumerate(keys.links):
        if isinstance(link, Link):
            yield from _link(("links", index), link, keys.duration)
        elif isinstance(link, Lan):
            yield from _lan(("links", index), link, lan_names(keys)[index], taken)
    yield from _routes(keys, network_of(keys))


def _link(loc: Loc, link: Link, duration: int) -> Iterator[Problem]:
    for way in range(2):
        if link.trace[way] is not None and link.rate[way] is not None:
            message = f"the direction {WAYS[way]} has both a trace and a rate"
            yield Problem((*loc, "trace"), message, "remove `rate`, or give each direction one of the two: [A, null]")
    for way in range(2):
        yield from _reordered(loc, link, way)
    before = 0
    for number, change in enumerate(link.schedule):
        yield from _change((*loc, "schedule", number), change, before, duration)
        yield from _changed_rate((*loc, "schedule", number, "rate"), change, link)
        before = max(before, change.at)


def _reordered(loc: Loc, link: Link, way: int) -> Iterator[Problem]:
    """Reordered packets skip a delay: there must be one, before and after each change."""
    options = {key: getattr(link, key)[way] for key in _DELAYING}
    delay = link.delay[way]
    if _has_nothing_to_skip(options, delay):
        message = "reordered packets skip the delay, but this link has no delay"
        yield Problem((*loc, "reorder"), message, "give the link a `delay`")
        return
    for number, change in enumerate(link.schedule):
        new = {key: found for key in _DELAYING if (found := getattr(change, key)[way]) is not None}
        options |= new
        delay = delay if change.delay is None else change.delay[way]
        if _has_nothing_to_skip(options, delay):
            key = "delay" if change.delay is not None else next(iter(new), "reorder")
            message = "reordered packets skip the delay, but from this change on the link has no delay"
            yield Problem((*loc, "schedule", number, key), message, "keep a `delay`, or add `reorder: 0%`")
            return


_DELAYING = ("reorder", "jitter")


def _has_nothing_to_skip(options: Mapping[str, Options | None], delay: int) -> bool:
    reorder, jitter = (options[key] or {} for key in _DELAYING)
    reorders = reorder.get("reorder", 0) > 0 or reorder.get("gap", 0) > 0
    return reorders and not delay and not jitter.get("jitter", 0)


def _change(loc: Loc, change: Change, before: int, duration: int) -> Iterator[Problem]:
    yield from time_of_change((*loc, "at"), change.at, before, duration)
    if not change.model_fields_set - {"at"}:
        yield Problem(loc, "changes nothing", "give a new value: {at: 10s, rate: 20mbit}")


def time_of_change(loc: Loc, at: int, before: int, duration: int) -> Iterator[Problem]:
    """Checks that a change is within the run, and not before the one above it."""
    if at >= duration:
        hint = f"the run ends at {time_word(duration)}: change it earlier or make `duration` longer"
        yield Problem(loc, f"`{time_word(at)}` is not within the run", hint)
    elif at < before:
        message = f"`{time_word(at)}` is before the change above it, at {time_word(before)}"
        yield Problem(loc, message, "sort the changes by time")


def _changed_rate(loc: Loc, change: Change, link: Link) -> Iterator[Problem]:
    for way, rate in enumerate(change.rate):
        if rate is not None and link.rate[way] is None:
            what = "a trace instead of a rate" if link.trace[way] is not None else "no rate"
            yield Problem(loc, f"the link has {what} in the direction {WAYS[way]}", "give the link a `rate`")


def _lan(loc: Loc, lan: Lan, name: str, taken: Mapping[str, int]) -> Iterator[Problem]:
    if name in lan.lan or taken[name] > 1:
        message = f"the switch of a segment and something else are both named `{name}`"
        yield Problem((*loc, "name"), message, "give the segment another `name`")
    named = set[str]()
    for place, host in enumerate(lan.lan):
        if host in named:
            yield Problem((*loc, "lan", place), f"`{host}` is named twice", "name each host once")
        named.add(host)


def _routes(keys: Keys, network: Network) -> Iterator[Problem]:
    wrong = [
        problem
        for arrow, via in keys.routes.items()
        for problem in _named_hosts(("routes", arrow), arrow, via, network)
    ]
    yield from wrong or _unlinked(keys, network) or _disagreeing(keys)


def _named_hosts(loc: Loc, arrow: str, via: list[str], network: Network) -> Iterator[Problem]:
    ends = direction(arrow)
    for host in (*ends, *via):
        if host not in network.places:
            yield Problem(loc, f"there is no host `{host}`", nearest_hint(host, network.hosts))
    way = [ends.source, *via, ends.target]
    if len(set(way)) < len(way):
        yield Problem(loc, "visits a host twice", "name each host between the two ends once, in order")


def _unlinked(keys: Keys, network: Network) -> list[Problem]:
    found = []
    for hop in route_hops(keys):
        if network.link(hop.host, hop.neighbour) is None:
            message = f"no link joins `{hop.host}` and `{hop.neighbour}`"
            near = ", ".join(network.neighbours.get(hop.host, []))
            found.append(Problem(("routes", hop.arrow), message, f"`{hop.host}` has links to: {near}"))
    return found


def _disagreeing(keys: Keys) -> list[Problem]:
    """Checks that each host has only one next hop for each destination."""
    found = []
    given: dict[tuple[str, str], str] = {}
    for hop in route_hops(keys):
        other = given.setdefault((hop.host, hop.target), hop.neighbour)
        if other != hop.neighbour:
            message = f"`{hop.host}` sends to `{hop.target}` through `{hop.neighbour}`, another route through `{other}`"
            found.append(
                Problem(("routes", hop.arrow), message, "make the two routes diverge at another host, or remove one")
            )
    return found

"""Circles of directed graphs."""

from collections.abc import Mapping, Set


def reached(graph: Mapping[str, Set[str]], start: str) -> set[str]:
    """What `start` depends on, directly or not."""
    found, frontier = set[str](), [start]
    while frontier:
        for other in graph[frontier.pop()] - found:
            found.add(other)
            frontier.append(other)
    return found


def circles_of(graph: Mapping[str, Set[str]]) -> set[frozenset[str]]:
    """The largest sets of nodes in which each depends on all others."""
    leads_to = {node: reached(graph, node) for node in graph}
    sets = {frozenset(other for other in leads_to[node] if node in leads_to[other]) for node in graph}
    return {each for each in sets if each}

"""Lists the rows of the registries. Each listing imports only its own registry, because imports are slow."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tailback.algorithms import CoreRegistry
from tailback.cli.failures import WrongInput
from tailback.tc.errors import nearest_hint

if TYPE_CHECKING:
    from tailback.scenario.stacks import Stack

Listing = list[tuple[str, str]]


def listed(kind: str) -> Listing:
    """The names of a kind of things (`cc`, `qdisc`, ...), with one line of description each."""
    listings: Mapping[str, Callable[[], Listing]] = {
        "cc": lambda: [(row.name, row.summary) for row in CoreRegistry().congestion_controls],
        "qdisc": lambda: [(row.name, row.summary) for row in CoreRegistry().qdiscs],
        "driver": lambda: [(row.name, row.summary) for row in CoreRegistry().drivers],
        "stack": _stacks,
        "plot": _plots,
        "preset": _presets,
        "metric": _metrics,
        "experiment": _experiments,
    }
    if kind not in listings:
        raise WrongInput(f"`{kind}` cannot be listed\n  hint: {nearest_hint(kind, list(listings))}")
    return listings[kind]()


def _stacks() -> Listing:
    from tailback.scenario import stacks

    return [(stack.name, f"{stack.summary}{_count(stack)}") for stack in stacks.stacks()]


def _count(stack: "Stack") -> str:
    from tailback.scenario import stacks
    from tailback.scenario.defaults import STACK

    if stack.name == STACK:
        return ""
    return f"; differs from {STACK} in {len(stacks.from_the_modelled(stack))} points"


def _plots() -> Listing:
    from tailback.plots import PLOTS

    return [(plot.name, plot.summary) for plot in PLOTS.values()]


def _presets() -> Listing:
    from tailback.scenario.flows import PRESETS

    return list(PRESETS.items())


def _metrics() -> Listing:
    from tailback.analysis.registry import METRICS

    return [(row.key or row.name, f"{row.name}, {row.unit or 'no unit'}") for row in METRICS.values()]


def _experiments() -> Listing:
    from tailback import scenario

    return [(name, scenario.title_of(file)) for name, file in scenario.ready().items()]

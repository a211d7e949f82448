"""Axes over a whole registry: every congestion control, every queue discipline.

An experiment names some; this replaces them by all, so that a new one enters the conformance matrix by itself. What
one of the two backends cannot run is left out of a validation with its reason.
"""

from collections.abc import Callable, Mapping, Sequence

from tailback import qdiscs
from tailback.scenario import CoreRegistry, Registry


def _controls(registry: Registry) -> list[str]:
    return [row.name for row in registry.congestion_controls]


def _disciplines(registry: Registry) -> list[str]:
    """Those that can stand below a shaper: they hold no other and need no option."""
    return [
        qdiscs.of(row.name).alone or row.name
        for row in registry.qdiscs
        if not row.classful and not any(parameter.required for parameter in row.parameters)
    ]


AXES: Mapping[str, Callable[[Registry], Sequence[str]]] = {"cc": _controls, "qdisc": _disciplines}
"""The axes that can walk, as experiment files call them."""


class NoRegistry(Exception):
    """An axis that no registry belongs to."""


def every(axes: Sequence[str], registry: Registry | None = None) -> list[str]:
    """Settings, in the form of `--set`, that give each of these axes all values of its registry."""
    algorithms = registry if registry is not None else CoreRegistry()
    return [f"vary.{axis}=[{', '.join(_walk(axis)(algorithms))}]" for axis in axes]


def _walk(axis: str) -> Callable[[Registry], Sequence[str]]:
    if axis not in AXES:
        known = ", ".join(f"`{known}`" for known in AXES)
        raise NoRegistry(f"`{axis}` has no registry of values\n  hint: there are {known}")
    return AXES[axis]

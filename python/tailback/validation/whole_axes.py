"""Axes over a whole registry: all congestion controls, or all queue disciplines.

They replace the values in an experiment file, so that new algorithms enter the conformance matrix automatically. A
validation leaves out values that one of the two backends cannot run, and says why.
"""

from collections.abc import Callable, Mapping, Sequence

from tailback import qdiscs
from tailback.scenario import CoreRegistry, Registry


def _controls(registry: Registry) -> list[str]:
    return [row.name for row in registry.congestion_controls]


def _disciplines(registry: Registry) -> list[str]:
    """The disciplines that can be children of a shaper: they have no children and no required options."""
    return [
        qdiscs.of(row.name).alone or row.name
        for row in registry.qdiscs
        if not row.classful and not any(parameter.required for parameter in row.parameters)
    ]


AXES: Mapping[str, Callable[[Registry], Sequence[str]]] = {"cc": _controls, "qdisc": _disciplines}
"""The supported axes."""


class NoRegistry(Exception):
    """The axis has no registry."""


def every(axes: Sequence[str], registry: Registry | None = None) -> list[str]:
    """Settings (as for `--set`) that vary each of these axes over its registry."""
    algorithms = registry if registry is not None else CoreRegistry()
    return [f"vary.{axis}=[{', '.join(_walk(axis)(algorithms))}]" for axis in axes]


def _walk(axis: str) -> Callable[[Registry], Sequence[str]]:
    if axis not in AXES:
        known = ", ".join(f"`{known}`" for known in AXES)
        raise NoRegistry(f"`{axis}` has no registry of values\n  hint: there are {known}")
    return AXES[axis]

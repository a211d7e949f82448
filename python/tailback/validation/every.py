"""Axes that walk a registry: every congestion control, every queue discipline there is.

An experiment names some; this replaces them by all, so that a new one enters the conformance matrix by itself. What
one of the two backends cannot run is left out of a validation with its reason.
"""

from collections.abc import Callable, Mapping, Sequence

from tailback.scenario import CoreRegistry, Registry, Row


def _controls(registry: Registry) -> Sequence[Row]:
    return registry.congestion_controls


NOTHING_WITHOUT_CLASSES = ("drr",)
"""Disciplines that drop what no filter gives to a class."""


def _disciplines(registry: Registry) -> list[Row]:
    """Those that can stand below a shaper by their name alone: they hold no other, need neither option nor class."""
    return [
        row
        for row in registry.qdiscs
        if not row.classful
        and row.name not in NOTHING_WITHOUT_CLASSES
        and not any(parameter.required for parameter in row.parameters)
    ]


AXES: Mapping[str, Callable[[Registry], Sequence[Row]]] = {"cc": _controls, "qdisc": _disciplines}
"""The axes that can walk, as experiment files call them."""


class NoRegistry(Exception):
    """An axis that no registry belongs to."""


def every(axes: Sequence[str], registry: Registry | None = None) -> list[str]:
    """Settings, as of `--set`, that give each of these axes all the values there are."""
    algorithms = registry if registry is not None else CoreRegistry()
    return [f"vary.{axis}=[{', '.join(row.name for row in _walk(axis)(algorithms))}]" for axis in axes]


def _walk(axis: str) -> Callable[[Registry], Sequence[Row]]:
    if axis not in AXES:
        known = ", ".join(f"`{known}`" for known in AXES)
        raise NoRegistry(f"`{axis}` has no registry to walk\n  hint: there are {known}")
    return AXES[axis]

"""Pairs the runs of two results: the same configuration and the same repetition.

An axis that has a different single value in each folder (`tsq: 1ms` and `tsq: off`) distinguishes the folders, not the
runs, and so does an axis with a single value that only one folder has. Runs are paired by all other axes.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from tailback.results.errors import NotComparable
from tailback.results.reading import Results
from tailback.results.run import RunResult

Side = Literal["reference", "candidate"]
Key = tuple[tuple[str, ...], int]

REFERENCE: Side = "reference"
CANDIDATE: Side = "candidate"


class RunPair(Struct, frozen=True):
    """A run on both sides."""

    configuration: int
    """Index of its configuration in `Pairing.configurations`."""
    repetition: int
    reference: RunResult
    candidate: RunResult


class Pairing(Struct, frozen=True, dict=True):
    """The common runs of two results, and the others."""

    reference: Results
    candidate: Results
    configurations: Sequence[Mapping[str, str]]
    """The axes of each paired configuration, in the order of the reference."""
    pairs: Sequence[RunPair]
    apart: Mapping[str, tuple[str, str]]
    """Axes that distinguish the folders: the values in reference and candidate, empty if a folder lacks the axis."""
    unpaired: Mapping[Side, Sequence[RunResult]]
    """Runs that only one side has, by side."""

    def of(self, configuration: int) -> list[RunPair]:
        """The repetitions of one configuration."""
        return self._by_configuration.get(configuration, [])

    @cached_property
    def _by_configuration(self) -> dict[int, list[RunPair]]:
        found: dict[int, list[RunPair]] = {}
        for each in self.pairs:
            found.setdefault(each.configuration, []).append(each)
        return found


def pair(reference: Results, candidate: Results) -> Pairing:
    """Pairs the runs of two results; raises `NotComparable` if they have none in common."""
    axes, apart = _axes(reference, candidate)
    theirs, ours = _keyed(reference, axes), _keyed(candidate, axes)
    common = [key for key in theirs if key in ours]
    if not common:
        raise NotComparable(
            f"`{reference.path}` and `{candidate.path}` have no run in common\n"
            f"  hint: the axes are {_axes_text(reference)} and {_axes_text(candidate)}"
        )
    places = list(dict.fromkeys(values for values, _ in common))
    return Pairing(
        reference=reference,
        candidate=candidate,
        configurations=[dict(zip(axes, values, strict=True)) for values in places],
        pairs=[RunPair(places.index(key[0]), key[1], theirs[key], ours[key]) for key in common],
        apart=apart,
        unpaired={
            REFERENCE: [run for key, run in theirs.items() if key not in ours],
            CANDIDATE: [run for key, run in ours.items() if key not in theirs],
        },
    )


def _axes(reference: Results, candidate: Results) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """The axes to pair runs by, and those that distinguish the folders."""
    paired, apart = [], {}
    for axis in dict.fromkeys([*reference.axes, *candidate.axes]):
        there, here = (_values(side, axis) for side in (reference, candidate))
        if there and here and (there == here or len(there) > 1 or len(here) > 1):
            paired.append(axis)
        elif len(there) <= 1 and len(here) <= 1:
            apart[axis] = (there[0] if there else "", here[0] if here else "")
        else:
            raise _one_sided(axis, reference if there else candidate)
    return paired, apart


def _values(results: Results, axis: str) -> list[str]:
    """The values in existing runs; a folder may lack some runs of its grid."""
    return sorted({run.axes[axis] for run in results.runs if axis in run.axes})


def _one_sided(axis: str, has: Results) -> NotComparable:
    values = ", ".join(_values(has, axis))
    return NotComparable(
        f"only `{has.path}` has the axis `{axis}`, with {values}\n"
        f"  hint: run it again with one value (`--set {axis}=VALUE`), or give the other the same axis"
    )


def _keyed(results: Results, axes: Sequence[str]) -> dict[Key, RunResult]:
    return {(tuple(run.axes[axis] for axis in axes), run.repetition): run for run in results.runs}


def _axes_text(results: Results) -> str:
    return "; ".join(f"{axis}: {', '.join(values)}" for axis, values in results.axes.items()) or "none"

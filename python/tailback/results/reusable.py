"""Finds complete runs in other results folders, which are copied instead of repeated.

Two runs have the same data if they have the same resolved scenario (including the seed), the same measurement window
and directions, the same backend, and the same build of it. Their axes may differ.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tailback.resolved import to_json
from tailback.results import layout, soundness
from tailback.results.errors import RunDamaged
from tailback.results.identity import HASH_LENGTH, RunPlan, digest


class ReusableRuns(Struct, frozen=True):
    """Folders to search for complete runs, by the digest at the end of their names."""

    places: Mapping[str, Sequence[Path]]

    def find(self, run: RunPlan, backend: str) -> Path | None:
        """The folder of a complete run with the same data as `run`."""
        places = self.places.get(run.name[-HASH_LENGTH:], ())
        return next((place for place in places if _has_same_data(place, run, backend)), None)


def reusable_runs(folders: Iterable[Path]) -> ReusableRuns:
    """The runs of all experiments in `folders`; other folders are ignored."""
    places: dict[str, list[Path]] = {}
    for run in itertools.chain.from_iterable(_runs(folder) for folder in folders):
        places.setdefault(run.name[-HASH_LENGTH:], []).append(run)
    return ReusableRuns(places)


def neighbours(folder: Path) -> list[Path]:
    """The other results folders in the parent of `folder`."""
    try:
        return sorted(other for other in folder.parent.iterdir() if other != folder and other.is_dir())
    except OSError:
        return []


def _runs(folder: Path) -> list[Path]:
    try:
        return sorted(run for run in (folder / layout.RUNS).iterdir() if not run.name.startswith("."))
    except OSError:
        return []


def _has_same_data(place: Path, run: RunPlan, backend: str) -> bool:
    manifest = layout.read_json(place / layout.MANIFEST)
    if manifest is None:
        return False
    recorded = (manifest.get("scenario"), manifest.get("measure"), manifest.get("backend"), manifest.get("fingerprint"))
    if digest(recorded) != digest((to_json(run.scenario), run.measure, backend, run.fingerprint)):
        return False
    try:
        soundness.read(place, "contents")
    except RunDamaged:
        return False
    return True

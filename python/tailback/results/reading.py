"""Reads results: runs and experiments as typed objects that return pandas frames."""

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from tailback.resolved import Scenario, ScenarioUnreadable, of_json
from tailback.results import soundness, store, tables
from tailback.results.errors import NotResults, RunDamaged

if TYPE_CHECKING:
    import polars

REPETITION = "repetition"
"""Column beside the axes that tells the repetitions of a configuration apart."""


@dataclass(frozen=True)
class RunFolder:
    """One complete run on disk."""

    path: Path
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name

    @property
    def axes(self) -> dict[str, str]:
        """Its place in the grid."""
        return dict(self.manifest["axes"])

    @property
    def labels(self) -> dict[str, str]:
        """Its place in the grid, repetition included."""
        return {**self.axes, REPETITION: str(self.repetition)}

    @property
    def repetition(self) -> int:
        """Counted from 1."""
        return int(self.manifest["repetition"])

    @property
    def seed(self) -> int:
        """Of its random streams."""
        return int(self.manifest["seed"])

    @property
    def backend(self) -> str:
        """What ran it."""
        return str(self.manifest["backend"])

    @functools.cached_property
    def scenario(self) -> Scenario:
        """The resolved scenario it ran; raises `NotResults` if another version wrote one that this does not know."""
        try:
            return of_json(self.manifest["scenario"])
        except ScenarioUnreadable as error:
            by = self.manifest.get("tailback", "another version")
            hint = f"read it with Tailback {by}, which wrote it, or run the experiment again"
            raise NotResults(f"the scenario of `{self.path}` cannot be read: {error}\n  hint: {hint}") from error

    @property
    def window_ns(self) -> tuple[int, int]:
        """The measurement window, in nanoseconds since the start."""
        start, end = self.manifest["measure"]["window_ns"]
        return int(start), int(end)

    def has(self, table: str) -> bool:
        """Whether the backend gave this table."""
        return (self.path / f"{table}{tables.SUFFIX}").is_file()

    def table(self, name: str) -> pd.DataFrame:
        """The table `name` of `docs/contracts.md`."""
        path = self.path / f"{name}{tables.SUFFIX}"
        if not path.is_file():
            there = ", ".join(sorted(f"`{file.stem}`" for file in self.path.glob(f"*{tables.SUFFIX}")))
            raise NotResults(f"`{self.path}` has no table `{name}`\n  hint: it has {there}")
        content = self._content(path.name)
        try:
            return tables.from_parquet(content)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise RunDamaged(self.path, f"`{path.name}` is not a complete Parquet file") from error

    def _content(self, name: str) -> bytes:
        """Of a file that is as it was written; raises `RunDamaged` if it is not."""
        try:
            content = (self.path / name).read_bytes()
        except OSError as error:
            raise RunDamaged(self.path, f"`{name}` cannot be read: {error.strerror}") from error
        soundness.check_content(self.path, self.manifest, name, content)
        return content

    def polars(self, name: str) -> "polars.DataFrame":
        """The table `name` as a polars frame."""
        return tables.to_polars(self.table(name))

    @property
    def qdiscs(self) -> list[dict[str, Any]]:
        """The disciplines at the end, as `tc -s -j qdisc show` has them; none in results of before there were any."""
        if not (self.path / store.QDISCS).is_file():
            return []
        try:
            found: list[dict[str, Any]] = json.loads(self._content(store.QDISCS))
        except ValueError as error:
            raise RunDamaged(self.path, f"`{store.QDISCS}` is not JSON") from error
        return found

    @property
    def captures(self) -> dict[str, Path]:
        """The pcapng files of the run, by host."""
        return {file.stem: file for file in sorted(self.path.glob(f"*{store.CAPTURE}"))}

    def units(self, name: str) -> dict[str, str]:
        """Unit by column of the table `name`."""
        return tables.units(self.path / f"{name}{tables.SUFFIX}")

    @functools.cached_property
    def flows(self) -> pd.DataFrame:
        """Bytes read by the receiving applications, per flow and bin."""
        return self.table("flows")

    @functools.cached_property
    def tcp_info(self) -> pd.DataFrame:
        """The sending sockets, as `ss -ti` shows them."""
        return self.table("tcp_info")

    @functools.cached_property
    def ping(self) -> pd.DataFrame:
        """One row per echo request."""
        return self.table("ping")

    @functools.cached_property
    def qdisc(self) -> pd.DataFrame:
        """Queue disciplines, as `tc -s qdisc` counts."""
        return self.table("qdisc")

    @functools.cached_property
    def events(self) -> pd.DataFrame:
        """Drops, marks, changes of state."""
        return self.table("events")


@dataclass(frozen=True)
class Results:
    """The complete runs of an experiment, in the order of its file."""

    path: Path
    title: str
    axes: Mapping[str, Sequence[str]]
    runs: Sequence[RunFolder]
    damaged: Sequence[RunDamaged] = ()
    """What was left out."""

    @functools.cached_property
    def head(self) -> Mapping[str, Any]:
        """The description of the sweep: title, backend, settings, the list of runs. Empty for a single run."""
        return store.read_head(self.path) or {}

    @property
    def configurations(self) -> list[tuple[dict[str, str], list[RunFolder]]]:
        """The repetitions of each place in the grid, by its axes."""
        groups: dict[tuple[tuple[str, str], ...], list[RunFolder]] = {}
        for run in self.runs:
            groups.setdefault(tuple(run.axes.items()), []).append(run)
        return [(dict(axes), runs) for axes, runs in groups.items()]

    def select(self, **values: str) -> "Results":
        """Only the runs with these values of these axes; `repetition` counts as one."""
        for axis, value in values.items():
            self._check(axis, value)
        runs = [run for run in self.runs if values.items() <= run.labels.items()]
        axes = {axis: [values[axis]] if axis in values else known for axis, known in self.axes.items()}
        return Results(self.path, self.title, axes, runs, self.damaged)

    def without(self, damaged: RunDamaged) -> "Results":
        """The other runs, if one turned out to be damaged when it was read; raises `NotResults` if there are none."""
        runs = [run for run in self.runs if run.path != damaged.folder]
        if not runs or len(runs) == len(self.runs):
            raise damaged
        return Results(self.path, self.title, self.axes, runs, (*self.damaged, damaged))

    def table(self, name: str) -> pd.DataFrame:
        """The table `name` of all runs, one below the other, with the axes and the repetition in front."""
        frames = [self._labelled(run, run.table(name)) for run in self.runs if run.has(name)]
        if not frames:
            raise NotResults(f"`{self.path}` has no table `{name}`\n  hint: see `docs/contracts.md` for the tables")
        return pd.concat(frames, ignore_index=True)

    @functools.cached_property
    def flows(self) -> pd.DataFrame:
        """`flows` of all runs."""
        return self.table("flows")

    @functools.cached_property
    def tcp_info(self) -> pd.DataFrame:
        """`tcp_info` of all runs."""
        return self.table("tcp_info")

    @functools.cached_property
    def ping(self) -> pd.DataFrame:
        """`ping` of all runs."""
        return self.table("ping")

    @functools.cached_property
    def qdisc(self) -> pd.DataFrame:
        """`qdisc` of all runs."""
        return self.table("qdisc")

    @functools.cached_property
    def events(self) -> pd.DataFrame:
        """`events` of all runs."""
        return self.table("events")

    def polars(self, name: str) -> "polars.DataFrame":
        """The table `name` of all runs, or their `summary`, as a polars frame."""
        return tables.to_polars(self.summary if name == "summary" else self.table(name))

    @functools.cached_property
    def summary(self) -> pd.DataFrame:
        """One row per run: axes, repetition, seed, and each number of its summary as `goodput_mbps.total`."""
        rows = [{**run.axes, REPETITION: run.repetition, "seed": run.seed, **flatten(run.summary)} for run in self.runs]
        return pd.DataFrame(rows)

    def _labelled(self, run: RunFolder, frame: pd.DataFrame) -> pd.DataFrame:
        labels: dict[str, str | int] = {**run.axes, REPETITION: run.repetition}
        for place, (column, value) in enumerate(labels.items()):
            # An axis may be called like a column of the table (`flow`); the axis then keeps the longer name.
            frame.insert(place, column if column not in frame else f"axis.{column}", value)
        return frame

    def _check(self, axis: str, value: str) -> None:
        if axis not in self.axes and axis != REPETITION:
            raise NotResults(f"`{axis}` is not an axis of `{self.path}`\n  hint: {_known(self.axes)}")
        there = list(dict.fromkeys(run.labels[axis] for run in self.runs))
        if value not in there:
            raise NotResults(f"`{axis}` is never `{value}` in `{self.path}`\n  hint: {_known(there)}")


def open_results(path: Path | str) -> Results:
    """The results in the folder `path`: those of an experiment, or a single run."""
    path = Path(path)
    if (path / store.MANIFEST).is_file():
        run = _open_run(path)
        return Results(path, run.manifest["title"], {axis: [value] for axis, value in run.axes.items()}, [run])
    head = store.read_head(path)
    if head is None and not (path / store.EXPERIMENT).exists() and not (path / store.RUNS).is_dir():
        raise NotResults(f"`{path}` contains no results\n  hint: give a folder that `tailback run` has written")
    names = [run["name"] for run in head["runs"]] if head is not None else _run_names(path)
    runs, damaged = _open_runs([path / store.RUNS / name for name in names])
    if head is None:
        damaged = [RunDamaged(path, f"`{store.EXPERIMENT}` {_not_head(path)}; its runs are listed by name"), *damaged]
    if not runs:
        told = "".join(f"\n  {each.folder.name}: {each.what}" for each in damaged)
        raise NotResults(f"`{path}` has no complete run yet{told}\n  hint: `tailback run` continues where it stopped")
    if head is None:
        return Results(path, str(runs[0].manifest["title"]), _axes(runs), runs, damaged)
    return Results(path, head["title"], head["axes"], runs, damaged)


def _run_names(path: Path) -> list[str]:
    try:
        return sorted(run.name for run in (path / store.RUNS).iterdir() if not run.name.startswith("."))
    except OSError:
        return []


def _not_head(path: Path) -> str:
    return "does not say what was run" if (path / store.EXPERIMENT).exists() else "is missing"


def _open_runs(folders: Sequence[Path]) -> tuple[list[RunFolder], list[RunDamaged]]:
    """The runs that are there, and what is wrong with those that are not sound."""
    runs, damaged = [], []
    for folder in folders:
        # What has not been run yet has no folder.
        if folder.exists():
            try:
                runs.append(_open_run(folder))
            except RunDamaged as found:
                damaged.append(found)
    return runs, damaged


def _axes(runs: Sequence[RunFolder]) -> dict[str, list[str]]:
    """As runs have them, where nobody says what was asked."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for axis, value in run.axes.items():
            values.setdefault(axis, {})[value] = None
    return {axis: list(seen) for axis, seen in values.items()}


def combined(parts: Sequence[Results], axis: str = "results") -> Results:
    """Several results as one, so that they stand in the same figures: `axis` is the folder each run is from. Where one
    lacks an axis of another, its value there is `–`.
    """
    names = _distinct([part.path.resolve().name for part in parts])
    known = list(dict.fromkeys(name for part in parts for name in part.axes))
    runs = [
        RunFolder(run.path, {**run.manifest, "axes": _filled(run.axes, known, {axis: name})}, run.summary)
        for part, name in zip(parts, names, strict=True)
        for run in part.runs
    ]
    axes = {name: list(dict.fromkeys(run.axes[name] for run in runs)) for name in (axis, *known)}
    title = " and ".join(dict.fromkeys(part.title for part in parts))
    return Results(parts[0].path, title, axes, runs, [each for part in parts for each in part.damaged])


def _filled(axes: Mapping[str, str], known: Sequence[str], first: Mapping[str, str]) -> dict[str, str]:
    return {**first, **{name: axes.get(name, "–") for name in known}}


def _distinct(names: Sequence[str]) -> list[str]:
    """`out`, `out-2`, …"""
    return [name if name not in names[:place] else f"{name}-{place + 1}" for place, name in enumerate(names)]


def flatten(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"ping_ms": {"p50": 3}}` as `{"ping_ms.p50": 3}`."""
    flat: dict[str, Any] = {}
    for key, value in document.items():
        name = f"{prefix}{key}"
        flat |= flatten(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return flat


def _open_run(path: Path) -> RunFolder:
    found = soundness.read(path, "sizes")
    return RunFolder(path, found.manifest, found.summary)


def _known(names: Mapping[str, Any] | Sequence[str]) -> str:
    return "there is " + (", ".join(f"`{name}`" for name in names) or "none")

"""Reads results: runs and experiments as objects that return pandas frames."""

import dataclasses
import difflib
import functools
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tailback.limits import is_folder
from tailback.results import soundness, store, tables
from tailback.results.errors import NotResults, RunDamaged
from tailback.results.folder import RunFolder
from tailback.results.provenance import analysis_digest
from tailback.results.run import REPETITION, RunResult, Tables

if TYPE_CHECKING:
    import pandas as pd
    import polars

Wanted: TypeAlias = str | float | Sequence[str | float]
"""A value of an axis, or several of which any will do."""

RESULTS = "results"
"""The folder in which `tailback run` makes those of experiments, unless `--out` names another."""

MAX_SHOWN = 8
"""Maximum number of values of an axis in the line that stands for results."""

SAME = 0.8
"""Similarity of two names from which one may be a slip of the other."""


@dataclass(frozen=True)
class Results(Tables):
    """The complete runs of an experiment, in the order of its grid."""

    path: Path
    title: str
    axes: Mapping[str, Sequence[str]]
    runs: Sequence[RunResult]
    damaged: Sequence[RunDamaged] = ()
    """Damaged runs, which were left out."""

    @functools.cached_property
    def head(self) -> Mapping[str, Any]:
        """The content of `experiment.json`: title, backend, settings, the list of runs. Empty for a single run."""
        return store.read_head(self.path) or {}

    @property
    def remark(self) -> str | None:
        """That summaries are of another version of the analysis, and what to do about it; `None` if all are of this."""
        old = sum(run.manifest.get("analysis") != analysis_digest() for run in self.runs)
        if not old:
            return None
        whose = "the summary of a run is" if old == 1 else f"the summaries of {old} runs are"
        return (
            f"`{self.path}`: {whose} of another version of the analysis, whose numbers may be defined differently\n"
            "  hint: give the command that made them again: `tailback run` makes summaries anew from the tables, "
            "and runs nothing"
        )

    @property
    def configurations(self) -> list[tuple[dict[str, str], list[RunResult]]]:
        """The axes and the repetitions of each configuration."""
        groups: dict[tuple[tuple[str, str], ...], list[RunResult]] = {}
        for run in self.runs:
            groups.setdefault(tuple(run.axes.items()), []).append(run)
        return [(dict(axes), runs) for axes, runs in groups.items()]

    def __repr__(self) -> str:
        axes = "".join(f"; {axis}: {_first(values)}" for axis, values in self.axes.items())
        damaged = f", {len(self.damaged)} damaged" if self.damaged else ""
        runs = "1 run" if len(self.runs) == 1 else f"{len(self.runs)} runs"
        return f"<Results `{self.title}` in {self.path}: {runs}{damaged}{axes}>"

    def select(self, **values: Wanted) -> "Results":
        """The runs with these values of these axes (or of `repetition`): one value, `cc="bbr"`, or one of several,
        `buffer=[20, 100]`. Raises `NotResults` for unknown ones.
        """
        wanted = {axis: texts(value) for axis, value in values.items()}
        for axis, each in wanted.items():
            for text in each:
                self._check(axis, text)
        runs = [run for run in self.runs if all(run.labels[axis] in each for axis, each in wanted.items())]
        axes = {
            axis: [value for value in known if value in wanted.get(axis, known)] for axis, known in self.axes.items()
        }
        return Results(self.path, self.title, axes, runs, self.damaged)

    def only(self, names: Collection[str]) -> "Results":
        """The runs with these names, and the values of the axes that they have."""
        runs = [run for run in self.runs if run.name in names]
        axes = {
            axis: [value for value in known if any(run.axes[axis] == value for run in runs)]
            for axis, known in self.axes.items()
        }
        return Results(self.path, self.title, axes, runs, self.damaged)

    def without(self, damaged: RunDamaged) -> "Results":
        """The results without a run that turned out to be damaged; raises `damaged` if no other run is left."""
        runs = [run for run in self.runs if run.path != damaged.folder]
        if not runs or len(runs) == len(self.runs):
            raise damaged
        return Results(self.path, self.title, self.axes, runs, (*self.damaged, damaged))

    def table(self, name: str) -> "pd.DataFrame":
        """The table `name` of all runs, concatenated, with the axes and the repetition as first columns."""
        frames = [self._labelled(run, run.table(name)) for run in self.runs if run.has(name)]
        if not frames:
            raise NotResults(f"`{self.path}` has no table `{name}`\n  hint: see `docs/tables.md` for the tables")
        import pandas as pd

        return pd.concat(frames, ignore_index=True)

    def polars(self, name: str) -> "polars.DataFrame":
        """The table `name` of all runs, or their `summary`, as a polars frame."""
        return tables.to_polars(self.summary if name == "summary" else self.table(name))

    @functools.cached_property
    def summary(self) -> "pd.DataFrame":
        """One row per run: axes, repetition, seed, and each number of its summary (column `goodput_mbps.total`)."""
        rows = [{**run.axes, REPETITION: run.repetition, "seed": run.seed, **flatten(run.summary)} for run in self.runs]
        import pandas as pd

        return pd.DataFrame(rows)

    @property
    def findings(self) -> list[str]:
        """What the axes change, in sentences, as `tailback run` prints them: the few that matter."""
        # Imported here, because results are read without judging them.
        from tailback.analysis import effects, sentences

        runs = [effects.Run(run.axes, run.repetition, run.summary) for run in self.runs]
        return [each.text for each in sentences.statements(effects.findings(runs))]

    def _labelled(self, run: RunResult, frame: "pd.DataFrame") -> "pd.DataFrame":
        labels: dict[str, str | int] = {**run.axes, REPETITION: run.repetition}
        for place, (column, value) in enumerate(labels.items()):
            # If a column of the table has the name of an axis (`flow`), the axis gets a prefix.
            frame.insert(place, column if column not in frame else f"axis.{column}", value)
        return frame

    def _check(self, axis: str, value: str) -> None:
        if axis not in self.axes and axis != REPETITION:
            raise NotResults(f"`{axis}` is not an axis of `{self.path}`\n  hint: {_names_text(self.axes)}")
        there = list(dict.fromkeys(run.labels[axis] for run in self.runs))
        if value not in there:
            raise NotResults(f"`{axis}` is never `{value}` in `{self.path}`\n  hint: {_values_text(value, there)}")


def open_results(path: Path | str) -> Results:
    """Opens the results of an experiment, or a single run, in a folder; raises `NotResults` if it has none."""
    path = Path(path)
    if os.path.lexists(path / store.MANIFEST):
        run = _open_run(path)
        return Results(path, run.manifest["title"], {axis: [value] for axis, value in run.axes.items()}, [run])
    head = store.read_head(path)
    if head is None and not os.path.lexists(path / store.EXPERIMENT) and not is_folder(path / store.RUNS):
        raise _no_results(path)
    names = [run["name"] for run in head["runs"]] if head is not None else _run_names(path)
    runs, damaged = _open_runs([path / store.RUNS / name for name in names])
    if head is None:
        damaged = [RunDamaged(path, f"`{store.EXPERIMENT}` {_not_head(path)}; its runs are listed by name"), *damaged]
    if not runs:
        details = "".join(f"\n  {each.folder.name}: {each.what}" for each in damaged)
        hint = "`tailback run` continues where it stopped"
        raise NotResults(f"`{path}` has no complete run yet{details}\n  hint: {hint}")
    if head is None:
        return Results(path, str(runs[0].manifest["title"]), _axes(runs), runs, damaged)
    return Results(path, head["title"], head["axes"], runs, damaged)


def _no_results(path: Path) -> NotResults:
    """What is there instead, and a folder of results inside, if there is one."""
    hint = "give a folder that `tailback run` has written"
    if not is_folder(path):
        if os.path.lexists(path):
            return NotResults(f"`{path}` is a file, and no results\n  hint: {hint}")
        meant = _meant(path)
        return NotResults(f"`{path}` does not exist\n  hint: {f'did you mean `{meant}`?' if meant else hint}")
    inside = _inside(path)
    return NotResults(f"`{path}` contains no results\n  hint: {hint}" + (f", as `{inside[0]}` is" if inside else ""))


def _meant(path: Path) -> Path | None:
    """The folder of results with the most similar name, in the folder that `path` names or in `results` there."""
    found = {each.name: each for place in (path.parent / RESULTS, path.parent) for each in _inside(place)}
    close = difflib.get_close_matches(path.name, found, n=1)
    return found[close[0]] if close else None


def _inside(path: Path) -> list[Path]:
    """The folders of results in `path`."""
    try:
        return sorted(each for each in path.iterdir() if (each / store.EXPERIMENT).is_file())
    except OSError:
        return []


def _run_names(path: Path) -> list[str]:
    try:
        return sorted(run.name for run in (path / store.RUNS).iterdir() if not run.name.startswith("."))
    except OSError:
        return []


def _not_head(path: Path) -> str:
    return "does not say what was run" if os.path.lexists(path / store.EXPERIMENT) else "is missing"


def _open_runs(folders: Sequence[Path]) -> tuple[list[RunFolder], list[RunDamaged]]:
    """The undamaged runs, and the errors of the damaged ones."""
    runs, damaged = [], []
    for folder in folders:
        # Runs that have not been executed yet have no folder.
        if os.path.lexists(folder):
            try:
                runs.append(_open_run(folder))
            except RunDamaged as found:
                damaged.append(found)
    return runs, damaged


def _axes(runs: Sequence[RunResult]) -> dict[str, list[str]]:
    """The axes in the manifests of runs, if `experiment.json` is missing."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for axis, value in run.axes.items():
            values.setdefault(axis, {})[value] = None
    return {axis: list(seen) for axis, seen in values.items()}


def combined(parts: Sequence[Results], axis: str = "results") -> Results:
    """Combines several results, for example for one figure. The new axis `axis` has the folder of each run. Axes that a
    result lacks have the value `–`.
    """
    names = _distinct([part.path.resolve().name for part in parts])
    known = list(dict.fromkeys(name for part in parts for name in part.axes))
    runs = [
        dataclasses.replace(run, manifest={**run.manifest, "axes": _filled(run.axes, known, {axis: name})})
        for part, name in zip(parts, names, strict=True)
        for run in part.runs
    ]
    axes = {name: list(dict.fromkeys(run.axes[name] for run in runs)) for name in (axis, *known)}
    title = " and ".join(dict.fromkeys(part.title for part in parts))
    return Results(parts[0].path, title, axes, runs, [each for part in parts for each in part.damaged])


def _filled(axes: Mapping[str, str], known: Sequence[str], first: Mapping[str, str]) -> dict[str, str]:
    return {**first, **{name: axes.get(name, "–") for name in known}}


def _distinct(names: Sequence[str]) -> list[str]:
    """Makes names distinct: `out`, `out-2`, …"""
    return [name if name not in names[:place] else f"{name}-{place + 1}" for place, name in enumerate(names)]


def flatten(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Converts `{"ping_ms": {"p50": 3}}` to `{"ping_ms.p50": 3}`."""
    flat: dict[str, Any] = {}
    for key, value in document.items():
        name = f"{prefix}{key}"
        flat |= flatten(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return flat


def _open_run(path: Path) -> RunFolder:
    found = soundness.read(path, "sizes")
    return RunFolder(path, found.manifest, found.summary)


def texts(value: Wanted) -> list[str]:
    """The values that are wanted of an axis, as the axis has them: as text."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(each) for each in value]
    return [str(value)]


def _first(values: Sequence[str]) -> str:
    """The first values of an axis, for a line of text."""
    more = f" and {len(values) - MAX_SHOWN} more" if len(values) > MAX_SHOWN else ""
    return ", ".join(values[:MAX_SHOWN]) + more


def _values_text(value: str, there: Sequence[str]) -> str:
    """The values of an axis, after the one that is probably meant: `1BDP` for `1 BDP`, `fqcodel` for `fq_codel`."""
    # Another number is another value, and not a slip.
    by_letters = {_letters(each): each for each in there if _digits(each) == _digits(value)}
    close = difflib.get_close_matches(_letters(value), by_letters, n=1, cutoff=SAME)
    return f"did you mean `{by_letters[close[0]]}`? {_names_text(there)}" if close else _names_text(there)


def _digits(value: str) -> str:
    return "".join(letter for letter in value if letter.isdigit())


def _letters(value: str) -> str:
    return "".join(letter for letter in value.lower() if letter.isalnum())


def _names_text(names: Mapping[str, Any] | Sequence[str]) -> str:
    return "it has " + (", ".join(f"`{name}`" for name in names) or "none")

"""Runs the runs of a bundle again, and compares each table with the one that it had, byte by byte."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from tailback.backends import Backend, Unsuitable, backend_for, fingerprint_of, open_backend
from tailback.bundle.contents import INDEX, BundleWrong, changed
from tailback.fitting import too_many_flows, within
from tailback.kernel.scratch import scratch
from tailback.limits import trust
from tailback.results import ExperimentPlan, Results, RunPlan, RunResult, claim, provenance, soundness
from tailback.results.layout import SOURCE, TABLE, content_of
from tailback.sweep import Outcome, Sweep, Watch, run_all

if TYPE_CHECKING:
    import pandas as pd

State: TypeAlias = Literal["equal", "differs", "missing", "new", "failed", "damaged"]


class TableVerdict(Struct, frozen=True):
    """Whether a table of a run is the same again."""

    run: str
    table: str
    state: State
    where: str = ""
    """The first difference, or the error of a run that failed."""


class Again(Struct, frozen=True):
    """A bundle that was run again."""

    title: str
    runs: int
    verdicts: Sequence[TableVerdict]
    made_by: Mapping[str, str]
    """The versions of the programs that made the bundle."""
    here: Mapping[str, str]
    """Those of this installation."""
    other_build: bool
    """Whether the backend of this installation is another build than the one that made the bundle."""

    @property
    def different(self) -> list[TableVerdict]:
        """The tables that are not the same."""
        return [each for each in self.verdicts if each.state != "equal"]

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "tailback": provenance.tailback_version(),
            "title": self.title,
            "runs": self.runs,
            "tables": len(self.verdicts),
            "equal": not self.different,
            "made_by": dict(self.made_by),
            "here": dict(self.here),
            "other_build": self.other_build,
            "different": [
                {"run": each.run, "table": each.table, "state": each.state, "where": each.where}
                for each in self.different
            ],
        }


class How(Struct, frozen=True):
    """How to run a bundle again."""

    jobs: int = 1
    out: Path | None = None
    """Where the new results stay; default: nowhere."""


def rerun(found: Results, how: How, watch: Watch) -> Again:
    """Runs all runs of `found` again from the scenarios in their manifests, on the backend that they had.

    Raises `BundleWrong` if they would execute code of the bundle and the user has not said that it may be.
    """
    _check_code(found)
    names = {run.backend for run in found.runs}
    if len(names) != 1:
        raise BundleWrong(f"`{found.path}` has runs of {', '.join(sorted(names))}\n  hint: select those of one backend")
    _check_machines(found, *names)
    backend = within(open_backend(names.pop()), how.jobs)
    _check_scenarios(found, backend, how.jobs)
    plans = [_plan(run, fingerprint_of(backend_for(backend, run.scenario), run.scenario)) for run in found.runs]
    plan = ExperimentPlan(found.title, _source(found), (), backend.name, plans)
    with _place(how.out) as folder, claim(folder, plan) as store:
        outcomes = run_all(Sweep(store, backend, how.jobs), watch)
        verdicts = [
            verdict for run, outcome in zip(found.runs, outcomes, strict=True) for verdict in _verdicts(run, outcome)
        ]
    verdicts = [*_damage(found), *verdicts]
    other = any(run.manifest["fingerprint"] != each.fingerprint for run, each in zip(found.runs, plans, strict=True))
    made_by = found.runs[0].manifest.get("versions", {})
    return Again(found.title, len(plans), verdicts, made_by, provenance.versions(), other)


def _damage(found: Results) -> Iterator[TableVerdict]:
    """The runs that are no longer what they were, and the files that are not those of the bundle."""
    for each in found.damaged:
        yield TableVerdict(each.folder.name, "", "damaged", each.what)
    for name in changed(found.path):
        yield TableVerdict("", name, "damaged", f"its SHA-256 is not that of `{INDEX}`")


def _check_code(found: Results) -> None:
    controls = {name for run in found.runs for name in run.scenario.code}
    controls |= {each.argv[0] for run in found.runs for each in run.scenario.programs}
    if controls and not trust.is_given():
        names = ", ".join(f"`{name}`" for name in sorted(controls))
        hint = "it is in `controls`, `endpoints` and `programs` of each manifest; if you trust it: --trust"
        raise BundleWrong(f"`{found.path}` would execute code that it contains: {names}\n  hint: {hint}")


def _check_machines(found: Results, backend: str) -> None:
    """A testbed file names machines, and programs of ssh that reach them: it is the user's, or it is not opened."""
    if backend.partition(":")[0] == "ssh" and not trust.is_given():
        hint = "if that is a testbed of yours: --trust"
        raise BundleWrong(f"`{found.path}` would run on the machines of `{backend}`\n  hint: {hint}")


def _check_scenarios(found: Results, backend: Backend, jobs: int) -> None:
    """Refuses scenarios that Tailback does not write, which the backend cannot run, or which need too much memory."""
    for run in found.runs:
        try:
            backend_for(backend, run.scenario).check(run.scenario)
        except Unsuitable as error:
            raise BundleWrong(f"the run `{run.name}` of `{found.path}`: {error}") from error
        if (why := too_many_flows(run.scenario, jobs)) is not None:
            raise BundleWrong(f"the run `{run.name}` of `{found.path}`: {why}")


def _source(found: Results) -> str:
    try:
        return content_of(found.path / SOURCE).decode("utf-8", "replace")
    except OSError:
        return ""


def _plan(run: RunResult, fingerprint: str) -> RunPlan:
    measure = run.manifest["measure"]
    return RunPlan(
        name=run.name,
        axes=run.axes,
        repetition=run.repetition,
        seed=run.seed,
        scenario=run.scenario,
        fingerprint=fingerprint,
        window_ns=run.window_ns,
        directions=dict(measure.get("directions", {})),
        groups=dict(measure.get("groups", {})),
    )


@contextlib.contextmanager
def _place(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with scratch("tailback-rerun-", Path(tempfile.gettempdir())) as folder:
        yield folder / "results"


def _verdicts(before: RunResult, outcome: Outcome) -> Iterator[TableVerdict]:
    """A verdict for each table of a run."""
    if outcome.folder is None:
        yield TableVerdict(before.name, "", "failed", outcome.error or "")
        return
    after = soundness.read(outcome.folder, "sizes").manifest["tables"]
    for table in sorted({*before.manifest["tables"], *after}):
        if table not in after:
            yield TableVerdict(before.name, table, "missing", "the run has no such table any more")
        elif table not in before.manifest["tables"]:
            yield TableVerdict(before.name, table, "new", "the run had no such table")
        else:
            yield _verdict(before, outcome.folder, table)


def _verdict(before: RunResult, folder: Path, table: str) -> TableVerdict:
    name = f"{table}{TABLE}"
    if soundness.content(before.path, name) == soundness.content(folder, name):
        return TableVerdict(before.name, table, "equal")
    from tailback.results import open_results

    where = first_difference(before.table(table), open_results(folder).runs[0].table(table))
    return TableVerdict(before.name, table, "differs", where)


def first_difference(before: pd.DataFrame, after: pd.DataFrame) -> str:
    """Where two tables first differ, in words: the row, the column, both values."""
    if list(before.columns) != list(after.columns):
        apart = sorted({*before.columns} ^ {*after.columns}) or ["their order"]
        return f"columns: {', '.join(apart)}"
    rows = min(len(before), len(after))
    first: dict[str, int] = {}
    for column in before.columns:
        one, other = before[column].iloc[:rows], after[column].iloc[:rows]
        unlike = ~((one == other) | (one.isna() & other.isna()))
        if unlike.any():
            first[column] = int(unlike.to_numpy().argmax())
    if first:
        column = min(first, key=lambda name: first[name])
        row = first[column]
        at = f", t = {before['t'].iloc[row]:g} s" if "t" in before.columns else ""
        return f"row {row + 1}{at}, {column}: {before[column].iloc[row]} before, {after[column].iloc[row]} now"
    if len(before) != len(after):
        return f"rows: {len(before)} before, {len(after)} now"
    return "the same values, written otherwise"

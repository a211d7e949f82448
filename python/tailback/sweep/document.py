"""The JSON document of `run --json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from tailback.analysis import sentences
from tailback.analysis.identical import identical
from tailback.results.provenance import tailback_version
from tailback.scenario import LintWarning
from tailback.sweep.expectations import entry
from tailback.sweep.local import Outcome
from tailback.sweep.session import SweepResult
from tailback.sweep.warned import entries, of_files


def report_of(
    done: Sequence[SweepResult],
    findings: Sequence[LintWarning] = (),
    notes: Sequence[Mapping[str, Any]] = (),
    extent: sentences.Extent = "few",
) -> dict[str, Any]:
    """The JSON document of `--json` for these experiments: one entry per run, in the order of the plans. `findings` are
    those about their files, `notes` further warnings, `extent` is how many findings there are of the results.
    """
    runs = [_entry(outcome, carried) for carried in done for outcome in carried.outcomes]
    judged = [entry(verdict) for carried in done for verdict in carried.verdicts]
    said = of_files(findings) + [each for carried in done for each in entries(carried)] + list(notes)
    changed = [
        {"dir": str(carried.folder.resolve()), **each}
        for carried in done
        for each in sentences.document(carried.findings, extent)
    ]
    further = {"expectations": judged, "findings": changed, "identical": _identical(done), "warnings": said}
    return {"tailback": tailback_version(), "runs": runs, **{key: value for key, value in further.items() if value}}


def _entry(outcome: Outcome, carried: SweepResult) -> dict[str, Any]:
    """The entry of a run; unknown values, such as the folder of a failed run, are absent."""
    run = outcome.run
    entry = {
        "axes": dict(run.axes),
        "seed": run.seed,
        "backend": carried.backend,
        # Absolute, because a script may use another working directory.
        "dir": None if outcome.folder is None else str(outcome.folder.resolve()),
        "status": outcome.status,
        "error": outcome.error,
        "summary": outcome.summary,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _identical(done: Sequence[SweepResult]) -> list[dict[str, Any]]:
    """The values of axes that gave the same results to the last digit."""
    rows = [
        [(outcome.run.axes, outcome.summary) for outcome in carried.outcomes if outcome.summary is not None]
        for carried in done
    ]
    return [to_builtins(each) for of_one in rows for each in identical(of_one)]

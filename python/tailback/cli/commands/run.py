"""`tailback run`: runs all configurations and repetitions of an experiment."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

from tailback.cli import testbeds
from tailback.cli.found import Extent, Findings
from tailback.cli.options import Changes, Columns, Files, Jobs, Part, Printed, Trust, backend_name, out_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tailback.scenario import Experiment
    from tailback.sweep import Request, SweepResult
    from tailback.validation import Twin


class Place(Struct, frozen=True):
    """The backend and machines of the runs."""

    backend: Annotated[str, backend_name("The backend: sim, uml, uml:KERNEL, netns or ssh.")] = "sim"
    testbed: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Testbed file: run on these machines over SSH.", show_default=False),
    ] = None
    jobs: Jobs = None
    trust: Trust = False
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: tcp://scheduler:8786.", show_default=False),
    ] = None


class Kept(Struct, frozen=True):
    """The results folder, and folders to reuse."""

    out: Annotated[Path | None, out_folder("Results folder; with several files, DIR/FILE.", default="results/FILE")] = (
        None
    )
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Reuse complete runs of this results folder.",
            show_default="all in results, unless --out is given",
        ),
    ] = None


class Shown(Printed, frozen=True):
    """The output."""

    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="List the runs, whether they are complete, and estimated times; on a testbed, every command.",
        ),
    ] = False
    columns: Columns = None
    show_qdiscs: Annotated[
        bool, typer.Option("--show-qdiscs", help="Print the disciplines at the end of each run, as `tc -s qdisc` does.")
    ] = False
    twin: Annotated[
        bool,
        typer.Option(
            "--twin", help="Also run each configuration once on a real kernel (uml), and print how far the numbers are."
        ),
    ] = False
    findings: Findings = Extent.FEW
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect",
            help="The status for `git bisect run`: 0 if what the file expects holds, 1 if not, 125 if nothing tells.",
        ),
    ] = False
    by: Annotated[
        Part | None,
        typer.Option(
            help="Also print a table with a row for each flow and ping, direction, group (entry of `traffic`), host of "
            "a user (above Wi-Fi: station), or ping.",
            show_default=False,
        ),
    ] = None


def run(files: Files, changes: Changes, place: Place, kept: Kept, shown: Shown) -> None:
    """Run all configurations and repetitions of an experiment. Complete runs are not repeated."""
    from tailback import scenario
    from tailback.cli import failures, progress, show

    failures.not_both({"--bisect": shown.bisect, "--dry-run": shown.dry_run})
    # Read all files before running the first one, and before the slow import, so that errors are reported at once.
    with progress.reading(", ".join(map(str, files))):
        experiments = [scenario.load(file, changes.settings) for file in files]
    backend = testbeds.backend_name(place.backend, place.testbed)
    if shown.columns is not None:
        from tailback.analysis import choosing

        # Before the first run: a wrong name is not worth waiting for.
        choosing.named(shown.columns)
    from tailback import sweep

    if shown.twin:
        from tailback.validation import twin_backend

        # Before the first run: without a kernel, the user would have waited for nothing.
        twin_backend()
    done, findings = [], []
    notes: list[Mapping[str, Any]] = []
    for folder, experiment in zip(sweep.folders_for(files, kept.out), experiments, strict=True):
        found = scenario.lint(experiment)
        findings += found
        show.warnings(found)
        request = sweep.Request(backend, place.jobs, folder, changes.settings, place.cluster, kept.reuse or ())
        if shown.dry_run:
            _look_ahead(experiment, request, as_json=shown.as_json)
        else:
            carried, beside = _run_one(experiment, request, shown)
            done.append(carried)
            notes += beside
    if shown.as_json and done:
        show.document(sweep.report_of(done, findings, notes, shown.findings.value))
    if shown.bisect:
        _answer(done)
    raise typer.Exit(1 if any(carried.failed or carried.unmet for carried in done) else 0)


def _answer(done: "Sequence[SweepResult]") -> None:
    """Ends with the status for `git bisect run`."""
    from tailback import sweep
    from tailback.cli import bisection, show

    failed = [outcome for carried in done for outcome in carried.failed]
    found, why = sweep.judgement([verdict for carried in done for verdict in carried.verdicts])
    if failed:
        found, why = "cannot tell", f"run {failed[0].run.name} failed"
    show.remark(f"bisect: {found}: {why}")
    bisection.decide({"good": 0, "bad": 1}.get(found, bisection.CANNOT_TELL))


def sweep(files: Files, changes: Changes, place: Place, kept: Kept, shown: Shown) -> None:
    """The same command as `run`."""
    run(files, changes, place, kept, shown)


def _look_ahead(experiment: "Experiment", request: "Request", *, as_json: bool) -> None:
    """Shows what a run would do."""
    from tailback import limits, sweep
    from tailback.cli import show, sweeps
    from tailback.sweep.preview import document

    if testbeds.is_testbed(request.backend):
        testbeds.dry_run(request.backend, experiment)
        return
    preview = sweep.look_ahead(experiment, request, limits.trust.code())
    show.not_executed(preview.not_executed)
    sweeps.will_be_repeated(preview)
    show.result(preview, document, sweeps.ahead, as_json=as_json)


def _beside_a_kernel(experiment: "Experiment", request: "Request", carried: "SweepResult") -> "Twin":
    """Runs each configuration once on a kernel, and reports what failed there."""
    from tailback import validation
    from tailback.cli import progress, sweeps

    with progress.board() as watch:
        found = validation.twin(experiment, carried, request, watch)
    sweeps.failed(found.carried, watch)
    return found


def _run_one(
    experiment: "Experiment", request: "Request", shown: Shown
) -> tuple["SweepResult", Sequence[Mapping[str, Any]]]:
    """Runs one experiment and prints its results, except for `--json`, which prints all experiments at the end. Returns
    them, and the warnings about the runs of `--twin`.
    """
    from tailback import sweep
    from tailback.cli import garbage, progress, sweeps

    garbage.work_begins()
    with testbeds.live_lines(), progress.board() as watch:
        carried = sweep.run_experiment(experiment, request, watch)
    sweeps.set_aside(carried)
    beside = _beside_a_kernel(experiment, request, carried) if shown.twin else None
    if not shown.as_json:
        printing = sweeps.Printing(shown.columns, shown.by and shown.by.value, shown.findings.value)
        sweeps.table(carried, experiment.title, printing)
        if beside is not None:
            # Imported here, because matplotlib comes with it.
            from tailback.cli import verdicts

            verdicts.twin(beside)
        sweeps.expectations(carried)
        if shown.show_qdiscs:
            sweeps.qdiscs_at_end(carried.results)
    sweeps.failed(carried, watch)
    return carried, [] if beside is None else beside.warnings

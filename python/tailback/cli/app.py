"""The commands. Heavy imports happen inside them, so that `tailback --help` answers at once."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tailback.cli import console, failures, interrupts, kernel, testbeds


class _Commands(TyperGroup):
    """Tells of Ctrl-C before `click` does, which says nothing."""

    def invoke(self, ctx: Any) -> Any:
        with interrupts.told():
            return super().invoke(ctx)


app = typer.Typer(
    name="tailback",
    cls=_Commands,
    help="Run TCP experiments on a simulator, a real Linux kernel or a testbed, and analyse the results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(kernel.app, name="kernel")
app.add_typer(testbeds.app, name="testbed")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The experiment file (YAML).", show_default=False)]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A results folder of `tailback run`.", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the file, e.g. cc=bbr or links[0].delay=5ms."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the first repetition.", show_default=False)]
Repeat = Annotated[int | None, typer.Option(min=1, help="Repetitions of each configuration.", show_default=False)]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of parallel runs.", show_default="all cores; netns: 1")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Tolerances = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        metavar="NAME=WORDS",
        help='Tolerance of a metric: goodput=3%, "rtt=10% or 0.5ms", "drops=25% over 50", cwnd=off.',
        show_default=False,
    ),
]
Divergence = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Smallest difference between samples that counts.",
        show_default="10%, at each ACK any difference",
    ),
]


def main() -> None:
    """Runs the command line and exits with its status."""
    with failures.reported():
        app()


def _show_version(wanted: bool) -> None:
    if wanted:
        console.line(f"tailback {version('tailback')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command("sweep", help="The same command as `run`.")
@app.command("run")
def run(  # one argument per option of the command line
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Experiment files (YAML).", show_default=False)
    ],
    sets: Set = None,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="The backend: sim, uml, uml:KERNEL, netns or ssh.")
    ] = "sim",
    testbed: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Testbed file: run on these machines over SSH.", show_default=False),
    ] = None,
    seed: Seed = None,
    repeat: Repeat = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="Results folder; with several files, DIR/FILE.",
            show_default="results/FILE",
        ),
    ] = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Reuse complete runs of these results.",
            show_default="the others in results, without --out",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: tcp://scheduler:8786.", show_default=False),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="List the runs, whether they are complete, and estimated times; on a testbed, every command.",
        ),
    ] = False,
    as_json: Json = False,
    show_qdiscs: Annotated[
        bool, typer.Option("--show-qdiscs", help="Print the disciplines at the end of each run, as `tc -s qdisc` does.")
    ] = False,
) -> None:
    """Run an experiment: every configuration, every repetition. Complete runs are not repeated."""
    from tailback import results, scenario, sweep
    from tailback.cli import live, show

    settings = _settings(sets, seed, repeat)
    # All are read before the first one runs: the last may be wrong.
    experiments = [scenario.load(file, settings) for file in files]
    backend = testbeds.backend_name(backend, testbed)
    done = []
    for file, experiment in zip(files, experiments, strict=True):
        show.warnings(scenario.lint(experiment))
        folder = out / file.stem if out is not None and len(files) > 1 else out
        request = sweep.Request(backend, jobs, folder, settings, cluster, reuse or ())
        if dry_run and testbeds.is_testbed(backend):
            testbeds.dry_run(backend, experiment)
            continue
        if dry_run:
            show.ahead(sweep.look_ahead(experiment, request), as_json=as_json)
            continue
        with failures.interruptible(), testbeds.live_lines(), live.board() as watch:
            carried = sweep.carry_out(experiment, request, watch)
        done.append(carried)
        show.set_aside(carried)
        if not as_json:
            show.carried(carried, experiment.title)
        if show_qdiscs and not as_json:
            show.standing(results.open_results(carried.folder), carried)
        show.failed(carried)
    if as_json and done:
        show.document(sweep.report_of(done))
    raise typer.Exit(1 if any(carried.failed for carried in done) else 0)


@app.command()
def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="access21, wlan18, ton22, teacup14; default: all.")
    ] = None,
    figure: Annotated[str | None, typer.Argument(metavar="FIGURE", help="5, 5a, fig5, …; default: all.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run one shorter repetition of each configuration.")] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Number of parallel runs.", show_default="all cores")
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder of the results.")] = Path("results"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Reproduce papers: run their experiments, check each claim, print a scorecard."""
    from tailback import papers
    from tailback.cli import show

    names = [paper] if paper else papers.papers()
    wanted = [papers.Wanted(name, figure, quick=quick, jobs=jobs, out=out) for name in names]
    with failures.interruptible(), show.progress() as watch:
        found = [papers.reproduce(one, watch) for one in wanted]
    rows = [row for reproduction in found for row in reproduction.rows]
    page = papers.write_page(found, out)
    if as_json:
        show.document(papers.as_document(rows))
    else:
        show.scorecard(rows, papers.in_one_line(rows))
        show.remark(f"figures beside the claims: {page}")
    errors = [error for reproduction in found for error in reproduction.errors]
    show.errors(errors)
    raise typer.Exit(1 if errors else 0)


@app.command()
def drill(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="packetdrill scripts (*.pkt).", show_default=False)
    ],
    tolerance: Annotated[
        int | None,
        typer.Option(
            "--tolerance-usecs",
            metavar="N",
            min=0,
            help="Tolerance of times, in microseconds.",
            show_default="the script's own, or 4000",
        ),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Network stack: linux-6.12, linux-5.10, ...", show_default="the newest"),
    ] = None,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="sim, or a real kernel: uml, uml:NAME.", show_default="sim")
    ] = "sim",
    as_json: Json = False,
) -> None:
    """Run packetdrill scripts against the simulator's TCP or a kernel's. Status 1: one failed; 2: one cannot run."""
    from tailback import drill
    from tailback.cli import drills, show

    reports = drill.run_files(files, drill.Settings(tolerance, stack, backend))
    if as_json:
        show.document(drill.as_document(reports))
    else:
        drills.told(reports)
    raise typer.Exit(drill.status(reports))


@app.command()
def check(file: File, sets: Set = None) -> None:
    """Check an experiment file for errors and likely mistakes, without running it."""
    from tailback import scenario, sweep
    from tailback.cli import show

    experiment = scenario.load(file, sets or [])
    show.findings(scenario.lint(experiment))
    show.checked(file, sweep.check(experiment))


def show_plots(wanted: bool) -> None:
    """`plot --list`, which needs no folder."""
    if wanted:
        from tailback.cli import catalogue, show

        show.names(catalogue.listed("plot"))
        raise typer.Exit


@app.command()
def plot(
    folder: Folder,
    name: Annotated[
        str | None, typer.Option("-p", "--plot", metavar="NAME", help="The plot; see --list.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", "--out", metavar="FILE", help="png, pdf or svg.", show_default="DIR/plots/NAME.png"
        ),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="AXIS=VALUE", help="Select runs.", show_default=False)
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", metavar="DIR", help="Add these results to the figure; the axis `results` distinguishes them."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The metric of bar, heatmap (ping_ms.p90), cdf or band (rtt).", show_default=False
        ),
    ] = None,
    x: Annotated[str | None, typer.Option("--x", metavar="AXIS", help="The axis along x.", show_default=False)] = None,
    colour: Annotated[
        str | None, typer.Option(metavar="AXIS", help="The axis shown by colour; y of a heat map.", show_default=False)
    ] = None,
    facet: Annotated[
        list[str] | None, typer.Option(metavar="AXIS", help="A panel for each value of it.", show_default=False)
    ] = None,
    _list: Annotated[
        bool, typer.Option("--list", help="List the plots and exit.", is_eager=True, callback=show_plots)
    ] = False,
) -> None:
    """Draw a figure from a results folder, and write its data as CSV beside it."""
    from tailback import plots, results
    from tailback.cli import opening, show

    opened = opening.opened(folder)
    if beside:
        opened = results.combined([opened, *map(opening.opened, beside)])
    found = opened.select(**failures.pairs(where or [], "--where"))
    chosen = plots.find_plot(name) if name else plots.default_plot(found)
    target = out if out is not None else folder / "plots" / f"{chosen.name}.png"
    choice = plots.Choice(x, colour, tuple(facet or ()), metric)
    output = plots.Output(target, show.command())
    show.paths(opening.over_sound(found, lambda sound: plots.draw_to(chosen, sound, output, choice)))


@app.command()
def report(
    folder: Folder,
    where: Annotated[
        list[str] | None, typer.Option(metavar="AXIS=VALUE", help="Select runs.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", "--out", metavar="FILE", help="The HTML page.", show_default="DIR/report.html"),
    ] = None,
) -> None:
    """Write an interactive report of a results folder as one HTML page that needs no network."""
    from tailback import report as reports
    from tailback.cli import opening, show

    found = opening.opened(folder).select(**failures.pairs(where or [], "--where"))
    target = out if out is not None else folder / "report.html"
    show.paths([opening.over_sound(found, lambda sound: reports.write(sound, target))])


@app.command()
def compare(
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="Results folder: before.", show_default=False)],
    candidate: Annotated[
        Path, typer.Argument(metavar="CANDIDATE", help="Results folder to compare with it: after.", show_default=False)
    ],
    tolerances: Tolerances = None,
    divergence: Divergence = None,
    out: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write an HTML report with figures there.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two results folders, metric by metric, over their common runs."""
    from tailback import results, validation
    from tailback.cli import criteria, opening, show, verdicts

    by = criteria.of_comparison(tolerances or [], divergence)
    sides = opening.opened(reference), opening.opened(candidate)

    def over(left: results.Results, right: results.Results) -> tuple[validation.Comparison, Path | None]:
        found = validation.compare(results.pair(left, right), by)
        return found, None if out is None else validation.write(found, out)

    compared, report = opening.over_sound(
        sides[0], lambda left: opening.over_sound(sides[1], lambda right: over(left, right))
    )
    if as_json:
        show.document(validation.document(compared))
    else:
        verdicts.comparison(compared)
    verdicts.written(report)


Given = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AXIS", help="Treat this axis as given: one answer for each of its values.", show_default=False
    ),
]
Where = Annotated[list[str] | None, typer.Option(metavar="AXIS=VALUE", help="Select runs.", show_default=False)]


@app.command()
def sensitivity(
    folder: Folder,
    metric: Annotated[str, typer.Option(metavar="NAME", help="goodput, ping p99, tcp_rtt_up_ms.p90, ...")] = "goodput",
    where: Where = None,
    log: Annotated[bool, typer.Option("--log", help="Use the logarithm, for metrics that span decades.")] = False,
    as_json: Json = False,
) -> None:
    """Show how much each axis of a sweep matters: Sobol' indices with 95 % intervals."""
    from tailback import advice
    from tailback.cli import advised, opening, show

    found = opening.opened(folder).select(**failures.pairs(where or [], "--where"))
    indices = advice.sensitivities(found, metric, logarithmic=log)
    if as_json:
        show.document(advice.sensitivity_document(indices))
    else:
        advised.sensitivity(indices)


@app.command()
def pareto(
    folder: Folder,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The latency: ping p99, rtt p50, ...", show_default="ping p99"),
    ] = None,
    where: Where = None,
    given: Given = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The figure.", show_default="DIR/plots/pareto.png"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show and draw the settings that no other setting beats in both goodput and latency."""
    from tailback import advice, plots
    from tailback.cli import advised, opening, show

    found = opening.opened(folder).select(**failures.pairs(where or [], "--where"))
    fronts = advice.fronts(found, metric, given or ())
    if as_json:
        show.document(advice.front_document(fronts))
        return
    advised.fronts(fronts)
    target = plots.Output(out if out is not None else folder / "plots" / "pareto.png", show.command())
    choice = plots.Choice(metric=metric, facet=tuple(given or ()))
    show.paths(plots.draw_to(plots.find_plot("pareto"), found, target, choice))


@app.command()
def recommend(
    source: Annotated[
        Path, typer.Argument(metavar="FILE|DIR", help="An experiment to run, or its results.", show_default=False)
    ],
    asked: Annotated[
        str, typer.Option("--for", metavar="BOUNDS", help='"ping p99 < 10ms and jain > 0.9"', show_default=False)
    ],
    best: Annotated[str, typer.Option(metavar="NAME", help="The metric to maximise.")] = "goodput",
    sets: Set = None,
    where: Where = None,
    given: Given = None,
    repeat: Repeat = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Find the setting with the most goodput under a bound on latency."""
    from tailback import advice, scenario, sweep
    from tailback.cli import advised, live, opening, show

    folder = source
    if source.is_file():
        settings = _settings(sets, None, repeat)
        experiment = scenario.load(source, settings)
        with failures.interruptible(), live.board() as watch:
            carried = sweep.carry_out(experiment, sweep.Request(jobs=jobs, settings=settings), watch)
        show.failed(carried)
        folder = carried.folder
    found = opening.opened(folder).select(**failures.pairs(where or [], "--where"))
    answers = advice.recommend(found, asked, best, given or ())
    if as_json:
        show.document(advice.recommendation_document(answers))
    else:
        advised.recommendations(answers)


@app.command()
def validate(  # one argument per option of the command line
    file: File,
    sets: Set = None,
    candidate: Annotated[str, typer.Option("--backend", metavar="NAME", help="The backend to judge.")] = "sim",
    reference: Annotated[
        str, typer.Option("--against", metavar="NAME", help="The backend to compare it with.")
    ] = "uml",
    walk: Annotated[
        list[str] | None,
        typer.Option("--every", metavar="AXIS", help="Vary cc or qdisc over all of the registry.", show_default=False),
    ] = None,
    tolerances: Tolerances = None,
    divergence: Divergence = None,
    seed: Seed = None,
    repeat: Repeat = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Results and report.", show_default="results/FILE-validation"),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if a metric is out of tolerance.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment on two backends, report how far they differ, and judge it by tolerances."""
    from tailback import scenario, validation
    from tailback.cli import criteria, show, verdicts

    settings = [*validation.every(walk or []), *_settings(sets, seed, repeat)]
    experiment = scenario.load(file, settings)
    show.warnings(scenario.lint(experiment))
    by = criteria.of_validation(tolerances or [], divergence)
    request = validation.Request(candidate, reference, by, jobs, out, settings)
    with failures.interruptible(), show.progress() as watch:
        done = validation.validate(experiment, request, watch)
    report = validation.write_validation(done)
    if as_json:
        show.document(validation.validation_document(done))
    else:
        verdicts.validated(done)
    for carried in done.carried:
        show.failed(carried)
    verdicts.written(report)
    raise typer.Exit(1 if done.failed or (strict and done.off) else 0)


@app.command()
def export(
    folder: Folder,
    flent: Annotated[bool, typer.Option("--flent", help="Data files of Flent, one per run.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="All tables and summaries as CSV.")] = False,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The Flent test to name in the files, e.g. rrul.",
            show_default="the one with these flows",
        ),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="AXIS=VALUE", help="Select runs.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Output folder.", show_default="DIR/flent, DIR/csv"),
    ] = None,
) -> None:
    """Export results as Flent or CSV files."""
    from tailback import formats
    from tailback.cli import opening, show

    failures.one_of({"--flent": flent, "--csv": csv})
    found = opening.opened(folder).select(**failures.pairs(where or [], "--where"))
    if flent:
        flents = out or folder / "flent"
        show.paths(opening.over_sound(found, lambda sound: formats.export_flent(sound, flents, test)))
    else:
        show.paths(opening.over_sound(found, lambda sound: formats.export_csv(sound, out or folder / "csv")))


@app.command("import")
def import_(
    kind: Annotated[
        str, typer.Argument(metavar="flent|pcap|teacup", help="The kind of the files.", show_default=False)
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The files.", show_default=False)],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder of the results.")] = Path(
        "results/imported"
    ),
    axes: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="AXIS=VALUE", help="Label of these results.", show_default=False),
    ] = None,
) -> None:
    """Import Flent files or captures as results, or a TEACUP configuration as an experiment."""
    from tailback import formats
    from tailback.cli import imports, show

    if kind == "teacup":
        imports.teacup(files, out)
        return
    show.paths([formats.import_files(kind, files, out, failures.pairs(axes or [], "--axis"))])


@app.command("list")
def list_names(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="cc|qdisc|driver|stack|metric|plot|experiment", help="What to list.", show_default=False
        ),
    ],
) -> None:
    """List congestion controls, queue disciplines, drivers, stacks, metrics, plots or ready experiments."""
    from tailback.cli import catalogue, show

    show.names(catalogue.listed(kind))


@app.command()
def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help='cubic, fq_codel, linux-5.4, or with options: "fq_codel limit 180".',
            show_default=False,
        ),
    ],
) -> None:
    """Explain an algorithm: its idea, source and parameters; or how a network stack differs from the newest."""
    from tailback.cli import catalogue, show

    show.explanations(catalogue.explained(name))


@app.command()
def schema() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    from tailback import scenario
    from tailback.cli import show

    show.document(scenario.json_schema())


def _settings(sets: list[str] | None, seed: int | None, repeat: int | None) -> list[str]:
    """The options of the command line that change the file, as `key=value`; the special ones win over `--set`."""
    special = {"seed": seed, "repeat": repeat}
    return [*(sets or []), *(f"{key}={value}" for key, value in special.items() if value is not None)]


if __name__ == "__main__":
    main()

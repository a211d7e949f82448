"""`tailback duel`: congestion controls against each other."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli import completions
from tailback.cli.options import Jobs, Printed, Set, backend_name, once, out_folder


class Bottleneck(Struct, frozen=True):
    """The path of all duels, and their length."""

    rate: Annotated[str, typer.Option(metavar="RATE", help="Rate of the bottleneck.")] = "50mbit"
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Round-trip time without a queue.")] = "20ms"
    buffer: Annotated[
        float, typer.Option(metavar="BDP", min=0, help="Length of the FIFO, in bandwidth-delay products.")
    ] = 1.0
    qdisc: Annotated[
        str | None, typer.Option(metavar="WORDS", help="A discipline instead of the FIFO.", show_default=False)
    ] = None
    duration: Annotated[str, typer.Option(metavar="TIME", help="Duration of a run.")] = "40s"
    warmup: Annotated[str, typer.Option(metavar="TIME", help="Time to leave out at the start.")] = "10s"
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="Repetitions of each duel.")] = 3


class Runs(Printed, frozen=True):
    """Where and how the runs are made."""

    sets: Set = None
    backend: Annotated[str, backend_name("The backend: sim, uml, uml:KERNEL or netns.")] = "sim"
    jobs: Jobs = None
    out: Annotated[
        Path | None, out_folder("Results folder; the figure is in plots/duel.png.", default="results/duel")
    ] = None


def duel(
    controls: Annotated[
        list[str],
        typer.Argument(
            metavar="CC...",
            help="Controls, or files: cubic bbr ./tcp_mine.c 'mine.py beta 0.7'.",
            show_default=False,
            autocompletion=completions.of("cc"),
        ),
    ],
    path: Bottleneck,
    runs: Runs,
) -> None:
    """Run each congestion control against each other and itself at one bottleneck, and show who gets which share."""
    from tailback import extras

    extras.need("matplotlib")
    from tailback import duels, plots, scenario, sweep
    from tailback.cli import progress, show, sweeps, verdicts

    bottleneck = duels.Bottleneck(path.rate, path.rtt, path.buffer, path.qdisc)
    length = duels.Length(path.duration, path.warmup, path.repeat)
    experiment = duels.experiment(controls, bottleneck, length, once(runs.sets or ()))
    show.warnings(scenario.lint(experiment))
    with progress.board() as watch:
        carried = sweep.run_experiment(experiment, sweep.Request(runs.backend, runs.jobs, runs.out), watch)
    sweeps.failed(carried, watch)
    if carried.failed:
        raise typer.Exit(1)
    found = carried.results
    output = plots.Output(carried.folder / "plots" / "duel.png", show.command())
    drawn = plots.draw_to(duels.PLOT, found, output)
    if runs.as_json:
        show.document(duels.document(found, experiment.title))
        return
    verdicts.duels(duels.matrix(found), experiment.title)
    show.paths(drawn)

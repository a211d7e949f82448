"""`tailback import`: measurements of other programs as results, and their configurations as experiments."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct, structs

from tailback.cli import failures
from tailback.cli.options import Printed, out_folder


class Capture(Struct, frozen=True):
    """Options of `pcap`."""

    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="FROM:TO",
            help="pcap: the time to measure, from the first packet on: 3s:9s.",
            show_default="first to last data of the bulk flows",
        ),
    ] = None
    flows: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            metavar="FLOW",
            help="pcap: take this flow: its name, one end (10.0.0.1 or 10.0.0.1:5201), or a pattern with *.",
            show_default=False,
        ),
    ] = None
    ports: Annotated[
        list[int] | None,
        typer.Option(
            "--port", metavar="N", min=1, max=65535, help="pcap: take flows of this port.", show_default=False
        ),
    ] = None


class Configuration(Struct, frozen=True):
    """Options of `teacup`."""

    delay_first: Annotated[
        bool,
        typer.Option(
            "--delay-first",
            help="teacup: delay and loss before the bottleneck, as CAIA's report 140630A has it; TEACUP 1.x: after it.",
        ),
    ] = False


class Written(Printed, frozen=True):
    """Where the results go, and how the command answers."""

    out: Annotated[Path, out_folder("Folder of the results.")] = Path("results/imported")
    axes: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="AXIS=VALUE", help="Label of these results.", show_default=False),
    ] = None


OF_KIND = {"window": "pcap", "flows": "pcap", "ports": "pcap", "delay_first": "teacup"}
NAMES = {"window": "--window", "flows": "--flow", "ports": "--port", "delay_first": "--delay-first"}


def import_(
    kind: Annotated[
        str, typer.Argument(metavar="flent|pcap|qlog|teacup", help="The kind of the files.", show_default=False)
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The files.", show_default=False)],
    written: Written,
    capture: Capture,
    configuration: Configuration,
) -> None:
    """Import Flent files, captures or qlogs as results, or a TEACUP configuration as an experiment.

    flent FILE...: each data file becomes a run. qlog FILE...: each file of a QUIC stack becomes a run. pcap A [B]: a
    capture, or two from both ends of a path, the sender's first; prints what was found, taken and left out.
    teacup config.py: an experiment and a testbed file.
    """
    from tailback import formats
    from tailback.cli import captured, show

    _refuse_others(kind, capture, configuration)
    labels = failures.pairs(written.axes or [], "--axis")
    if kind == "teacup":
        _teacup(files, written.out, configuration, as_json=written.as_json)
    elif kind == "pcap":
        choice = formats.choice_of(capture.flows or (), capture.ports or (), capture.window)
        found = formats.import_captures(files, written.out, labels, choice)
        show.result(found, captured.document, captured.text, as_json=written.as_json)
    else:
        folder = formats.import_files(kind, files, written.out, labels)
        show.result(
            folder, lambda path: {"folder": str(path)}, lambda path: show.paths([path]), as_json=written.as_json
        )


def _refuse_others(kind: str, *groups: Struct) -> None:
    """Options of another kind are errors."""
    for group in groups:
        for name, value in structs.asdict(group).items():
            if value and OF_KIND[name] != kind:
                what = f"{NAMES[name]} is an option of `import {OF_KIND[name]}`, not of `import {kind[:20]}`"
                raise failures.WrongInput(f"{what}\n  hint: leave it out")


def _teacup(files: Sequence[Path], folder: Path, configuration: Configuration, *, as_json: bool) -> None:
    """Imports a configuration as an experiment file and a testbed file."""
    from tailback import formats, scenario, testbed
    from tailback.cli import show

    if len(files) != 1:
        raise failures.WrongInput("give one configuration\n  hint: tailback import teacup config.py --out DIR")
    written, notes = formats.import_teacup(files[0], folder, delay_first=configuration.delay_first)
    experiment, machines = written
    by_hand = []
    for read in (lambda: scenario.load(experiment), lambda: testbed.load(machines)):
        try:
            read()
        except scenario.ScenarioError as wrong:
            by_hand.append(str(wrong))
    if as_json:
        show.document({"files": [str(path) for path in written], "notes": notes, "by_hand": by_hand})
        return
    show.paths(written)
    show.errors(notes)
    show.errors(f"correct this by hand:\n{wrong}" for wrong in by_hand)

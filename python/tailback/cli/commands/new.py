"""`tailback new`: files to start with."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tailback import starters
from tailback.cli.groups import App, Listed

app = App(cls=Listed, help="Write files to start with.", no_args_is_help=True)


@app.callback()
def new() -> None:
    """Write files to start with."""


@app.command()
def cc(
    python: Annotated[
        str | None,
        typer.Option("--python", metavar="NAME", help="A control in Python, for the simulator.", show_default=False),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("--module", metavar="NAME", help="A kernel module, tcp_NAME.c.", show_default=False),
    ] = None,
    bpf: Annotated[
        str | None,
        typer.Option("--bpf", metavar="NAME", help="A BPF program, NAME.bpf.c.", show_default=False),
    ] = None,
) -> None:
    """Write a congestion control of your own (Reno, to be changed), an experiment with it and CUBIC, and a test."""
    from tailback.cli import show

    kinds = [(python, starters.control), (module, starters.module), (bpf, starters.program)]
    named = [(name, write) for name, write in kinds if name is not None]
    if len(named) != 1:
        raise starters.NotStarted(
            "name one control\n  hint: tailback new cc --python mine, --module mine or --bpf mine"
        )
    name, write = named[0]
    show.paths(write(name, Path()))


def _experiment(kind: str) -> Callable[..., None]:
    def write(
        file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The file to write.", show_default=True)] = Path(
            f"{kind}.yaml"
        ),
    ) -> None:
        from tailback.cli import show

        show.paths(starters.experiment(kind, file))

    write.__doc__ = f"Write an experiment: {starters.EXPERIMENTS[kind]}."
    return write


for _kind in starters.EXPERIMENTS:
    app.command(_kind)(_experiment(_kind))

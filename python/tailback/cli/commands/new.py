"""`tailback new`: files to start with."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tailback import starters
from tailback.cli.failures import WrongInput
from tailback.cli.groups import App, Listed, Once

app = App(cls=Listed, help="Write files to start with.", no_args_is_help=True)


@app.callback()
def new() -> None:
    """Write files to start with."""


def _kinds(name: str) -> str:
    return f"tailback new cc --python {name}, --module {name} or --bpf {name}"


class OfControl(Once):
    """A command that names a control by an option, which says what the file is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """[click Command.parse_args]"""
        _, bare, _ = self.make_parser(ctx).parse_args(args=list(args))
        if bare:
            raise WrongInput(f"`{bare[0]}` may be in Python or in C\n  hint: {_kinds(bare[0])}")
        return super().parse_args(ctx, args)


@app.command(cls=OfControl)
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
        raise starters.NotStarted(f"name one control\n  hint: {_kinds('mine')}")
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

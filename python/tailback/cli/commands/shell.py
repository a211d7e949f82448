"""`tailback shell`: a shell on a host of an experiment."""

from typing import Annotated

import typer
from msgspec import Struct

from tailback.cli.groups import COMMAND
from tailback.cli.options import File, Seed, Set, backend_name, once


class Asked(Struct, frozen=True):
    """The experiment as the shell finds it."""

    backend: Annotated[str, backend_name("The backend: uml, uml:KERNEL or netns.")] = "uml"
    sets: Set = None
    seed: Seed = None
    at: Annotated[str, typer.Option(metavar="TIME", help="The time of the run at which it starts, such as 5s.")] = "0s"
    idle: Annotated[bool, typer.Option("--idle", help="Leave out the traffic of the file.")] = False

    @property
    def settings(self) -> list[str]:
        """The changes of the file."""
        return [*once(self.sets or ()), *([] if self.seed is None else [f"seed={self.seed}"])]


class Pace(Struct, frozen=True):
    """How virtual time passes for somebody at a terminal."""

    still: Annotated[
        bool, typer.Option("--still", help="Let time stand still while the shell waits for a command.")
    ] = False
    speed: Annotated[
        float, typer.Option(min=0.001, metavar="N", help="Seconds of virtual time in a second, at a terminal.")
    ] = 1.0


def shell(
    file: File,
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host of the experiment.", show_default=False)],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar=COMMAND,
            help="A command in place of a shell, as fast as virtual time can; {HOST} is the address of a host.",
            show_default=False,
        ),
    ] = None,
    *,
    asked: Asked,
    pace: Pace,
) -> None:
    """Open a shell on a host of an experiment, while it runs on a kernel: with ss, tc, ping, tcpdump."""
    from tailback import backends, scenario
    from tailback.backends.linux.shell import Wanted
    from tailback.cli import progress

    with progress.reading(file):
        run = scenario.load(file, asked.settings).runs()[0].scenario
    wanted = Wanted(host, tuple(command or ()), _time(asked.at), asked.idle, pace.still, pace.speed)
    raise typer.Exit(backends.shell(asked.backend, run, wanted))


def _time(word: str) -> int:
    from tailback.cli.failures import WrongInput
    from tailback.tc import units
    from tailback.tc.errors import WordError

    try:
        return units.time(word)
    except WordError as error:
        raise WrongInput(f"--at: {error}\n  hint: write a time: --at 5s") from None

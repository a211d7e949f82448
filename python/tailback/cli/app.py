"""The command line: one row per command, whose file is in `commands`.

A command starts quickly: only its own file is imported, and slow imports are inside its function.
"""

import contextlib
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from tailback.cli import bisection, failures, interrupts, streams
from tailback.cli.groups import Listed, OnDemand
from tailback.limits import trust

_UsageError: Any = typer.BadParameter.__base__
"""The base class of all usage errors: click's `UsageError`, or typer's copy of it, which typer does not export."""


class _Commands(Listed):
    """Imports the commands that are needed, handles Ctrl-C, and makes usage errors safe to print."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.commands = OnDemand("tailback.cli.commands", COMMANDS)

    def make_context(self, *words: Any, **named: Any) -> Any:
        with _usage_visible():
            return super().make_context(*words, **named)

    def invoke(self, ctx: Any) -> Any:
        # Handled here, because click ends silently on Ctrl-C.
        with interrupts.handled(), _usage_visible():
            return super().invoke(ctx)


@contextlib.contextmanager
def _usage_visible() -> Iterator[None]:
    """Makes the message of a usage error, which quotes the command line, safe to print."""
    try:
        yield
    except _UsageError as error:
        from tailback import plain

        # The library that checks values says what kind of exception it caught, which nobody asked.
        error.message = plain.visible(plain.brief(error.message.removeprefix("Value error, "))) + _beside(error)
        raise


def _beside(error: Any) -> str:
    """The hint for a second folder after a command that takes it as an option."""
    options = [] if error.ctx is None else [option for each in error.ctx.command.params for option in each.opts]
    if "--with" not in options or not error.message.startswith("Got unexpected extra argument"):
        return ""
    return f"\n  hint: further results are added with an option: tailback {error.ctx.info_name} DIR --with DIR"


app = typer.Typer(
    name="tailback",
    cls=_Commands,
    help="Run TCP experiments on a simulator, a real Linux kernel or a testbed, and analyse the results.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain text: the same output in a pipe, and no slow import of a Markdown renderer.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS = {
    "run": "run.run",
    "sweep": "run.sweep",
    "reproduce": "reproduce.reproduce",
    "drill": "drill.drill",
    "duel": "duel.duel",
    "assess": "assess.assess",
    "search": "search.search",
    "check": "check.check",
    "lab": "lab.lab",
    "shell": "shell.shell",
    "plot": "plot.plot",
    "report": "report.report",
    "compare": "compare.compare",
    "sensitivity": "sensitivity.sensitivity",
    "pareto": "pareto.pareto",
    "recommend": "recommend.recommend",
    "validate": "validate.validate",
    "export": "export.export",
    "bundle": "bundle.bundle",
    "rerun": "rerun.rerun",
    "import": "import_.import_",
    "list": "list_.list_",
    "explain": "explain.explain",
    "schema": "schema.schema",
    "kernel": "kernel.app",
    "testbed": "testbed.app",
    "new": "new.app",
}
"""The commands in the order of `--help`: where in `commands` each is. The docstring of a function is its help text; a
group of commands is a `typer.Typer`.
"""


def main() -> None:
    """Runs the command line and exits with its status."""
    with bisection.answered(sys.argv), failures.reported(), trust.trusting(False):
        streams.check_words(sys.argv[1:])
        app()


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from tailback.cli import console

        console.line(f"tailback {version('tailback')}")
        # A callback sees nothing of the options that come after it.
        if "--verbose" in sys.argv:
            from tailback.cli import installation

            for line in installation.lines():
                console.line(line)
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    _verbose: Annotated[
        bool, typer.Option("--verbose", help="With --version: also those of kernel, libraries, programs.")
    ] = False,
) -> None:
    from tailback.cli import console

    console.give(None)


if __name__ == "__main__":
    main()

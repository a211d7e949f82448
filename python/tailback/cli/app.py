"""The command line: one row per command, whose file is in `commands`.

Slow imports are inside the commands, so that `tailback --help` starts quickly.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from tailback.cli import failures, interrupts
from tailback.cli.commands import (
    check,
    compare,
    drill,
    duel,
    explain,
    export,
    import_,
    kernel,
    list_,
    new,
    pareto,
    plot,
    recommend,
    report,
    reproduce,
    run,
    schema,
    sensitivity,
    testbed,
    validate,
)
from tailback.cli.groups import Listed
from tailback.cli.options import grouped

_UsageError: Any = typer.BadParameter.__base__
"""The base class of all usage errors: click's `UsageError`, or typer's copy of it, which typer does not export."""


class _Commands(Listed):
    """Handles Ctrl-C, and makes usage errors safe to print."""

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

        error.message = plain.visible(plain.brief(error.message))
        raise


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

COMMANDS: dict[str, Callable[..., None]] = {
    "run": run.run,
    "sweep": run.sweep,
    "reproduce": reproduce.reproduce,
    "drill": drill.drill,
    "duel": duel.duel,
    "check": check.check,
    "plot": plot.plot,
    "report": report.report,
    "compare": compare.compare,
    "sensitivity": sensitivity.sensitivity,
    "pareto": pareto.pareto,
    "recommend": recommend.recommend,
    "validate": validate.validate,
    "export": export.export,
    "import": import_.import_,
    "list": list_.list_,
    "explain": explain.explain,
    "schema": schema.schema,
}
"""The commands in the order of `--help`; the docstring of each is its help text."""

for _name, _command in COMMANDS.items():
    app.command(_name)(grouped(_command))
app.add_typer(kernel.app, name="kernel")
app.add_typer(testbed.app, name="testbed")
app.add_typer(new.app, name="new")


def main() -> None:
    """Runs the command line and exits with its status."""
    with failures.reported():
        app()


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from tailback.cli import console

        console.line(f"tailback {version('tailback')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    main()

"""`tailback lab`: an experiment with knobs, in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli import completions
from tailback.cli.options import Trust


def lab(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="[FILE]",
            help="An experiment file (YAML), or the name of an included experiment.",
            autocompletion=completions.experiments,
        ),
    ] = Path("demo"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1.", show_default="any that is free")
    ] = 0,
    *,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE.html",
            help="Write a page instead that runs in any browser by itself, with knobs and without an installation.",
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    trust: Trust = False,
) -> None:
    """Turn knobs of an experiment in the browser and see goodput, RTT, windows, queues and drops at once."""
    from tailback import extras, scenario
    from tailback.cli import console
    from tailback.scenario.reader import read_file
    from tailback.scenario.ready import similar

    path = scenario.file_of(file)
    text = read_file(path, lambda: similar(path))
    if save is not None:
        from tailback.lab import saving

        if why := saving.write(save, text, saving.Place(path.resolve().parent, path.name, trust)):
            console.aside(f"{save}: its knobs cannot be turned: {why}")
        console.line(save)
        return
    for library in ("starlette", "uvicorn", "websockets"):
        extras.need(library)
    from tailback import lab as labs

    def ready(address: str) -> None:
        console.line(address)
        console.line("Ctrl-C ends the lab. Whoever has this address can use it, on this machine only.")
        if browser:
            import webbrowser

            webbrowser.open(address)

    labs.serve(labs.Asked(path, text, trust, port), ready)

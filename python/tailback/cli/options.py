"""Options that several commands share, and groups of options.

The parameters of a command are its options. A parameter that is a `Struct` is a group: each of its fields becomes an
option of the command (`grouped`), so that related options are declared and passed together.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from msgspec import NODEFAULT, Struct, structs

from tailback.cli import completions, console
from tailback.cli.failures import WrongInput
from tailback.limits import trust


class Part(StrEnum):
    """The parts of a run that have rows of their own."""

    FLOW = "flow"
    DIRECTION = "direction"
    GROUP = "group"
    HOST = "host"
    STATION = "station"
    PING = "ping"


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="An experiment file (YAML), or the name of an included experiment.",
        show_default=False,
        autocompletion=completions.experiments,
    ),
]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Experiment files (YAML), or names of included experiments.",
        show_default=False,
        autocompletion=completions.experiments,
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A results folder of `tailback run`.", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a key of the experiment, e.g. cc=bbr or links[0].delay=5ms."
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the first repetition.", show_default=False)]
Repeat = Annotated[int | None, typer.Option(min=1, help="Repetitions of each configuration.", show_default=False)]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Execute the code that the file names (`cc: x.py`, kernel modules, BPF programs).",
        callback=lambda given: trust.give(bool(given)),
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


class Form(StrEnum):
    """The forms of a table for other programs."""

    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def _give(form: Form | None) -> Form | None:
    """Has the tables of this command printed in a form."""
    console.give(None if form is None else form.value)
    return form


InForm = Annotated[
    Form | None,
    typer.Option("--table", help="Print the table in this form, alone on stdout.", callback=_give, show_default=False),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help='The numbers of the table: "ping p99, mos"; all. `tailback list metric` has the names.',
        show_default="what the experiment is about first",
    ),
]


class Printed(Struct, frozen=True):
    """How a result is printed."""

    as_json: Json = False
    table: InForm = None

    def __post_init__(self) -> None:
        """Refuses two forms at once."""
        one_form(self.as_json, self.table)


def one_form(as_json: bool, form: Form | None) -> None:  # noqa: FBT001
    """Refuses two forms of output at once."""
    if as_json and form is not None:
        raise WrongInput("--json and --table exclude each other\n  hint: give one of them")


Where = Annotated[list[str] | None, typer.Option(metavar="AXIS=VALUE", help="Select runs.", show_default=False)]
Given = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AXIS", help="Treat this axis as a condition: one answer for each of its values.", show_default=False
    ),
]
Choose = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AXIS",
        help="Choose among the values of this axis, although it would be taken as given.",
        show_default=False,
    ),
]


def parallel(default: str) -> Any:
    """`--jobs`; `default` is the default as the help text shows it."""
    return typer.Option("--jobs", "-j", min=1, help="Number of parallel runs.", show_default=default)


Jobs = Annotated[int | None, parallel("all cores; netns: 1")]


def backend_name(help_: str, name: str = "--backend", default: str | None = None) -> Any:
    """An option that names a backend; `default` is the default as the help text shows it."""
    shown = default or True
    return typer.Option(name, metavar="NAME", help=help_, autocompletion=completions.backends, show_default=shown)


def out_folder(help_: str, default: str | None = None) -> Any:
    """`--out`: the output folder; `default` is the default as the help text shows it."""
    return typer.Option("-o", "--out", metavar="DIR", help=help_, show_default=default or True)


def out_file(help_: str, default: str) -> Any:
    """`--output`: the output file; `default` is the default as the help text shows it."""
    return typer.Option("-o", "--output", "--out", metavar="FILE", help=help_, show_default=default)


def once(sets: Sequence[str]) -> Sequence[str]:
    """The settings of `--set`; raises `WrongInput` if one key has two values, of which the last would win."""
    keys = [word.partition("=")[0].strip() for word in sets]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise WrongInput(
            f"--set: `{twice}` is given twice\n  hint: leave one out, or vary it: --set 'vary.{twice}=[ONE, OTHER]'"
        )
    return sets


class Selection(Struct, frozen=True):
    """The runs that a command uses."""

    folder: Folder
    where: Where = None


class Changes(Struct, frozen=True):
    """The changes of the experiment file from the command line."""

    sets: Set = None
    seed: Seed = None
    repeat: Repeat = None

    @property
    def settings(self) -> list[str]:
        """The changes as `key=value`; `--seed` and `--repeat` take precedence over `--set`."""
        special = {"seed": self.seed, "repeat": self.repeat}
        return [*once(self.sets or ()), *(f"{key}={value}" for key, value in special.items() if value is not None)]


class Judgement(Struct, frozen=True):
    """The criteria of a comparison."""

    tolerances: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="NAME=WORDS",
            help='Tolerance of a metric: goodput=3%, "rtt=10% or 0.5ms", "drops=25% over 50", cwnd=off.',
            show_default=False,
        ),
    ] = None
    divergence: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Smallest relevant difference between samples.",
            show_default="10%; for samples at each ACK, any difference",
        ),
    ] = None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with an option for each field of its groups, in order; typer reads its signature."""
    parameters = inspect.signature(command).parameters
    kinds = get_type_hints(command, include_extras=True)
    groups = {name: kinds[name] for name in parameters if _is_group(kinds[name])}
    options = [option for name in parameters for option in _options(parameters[name], kinds[name])]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in structs.fields(kind)})
        command(**given)

    called.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in options}
    return called


def _options(parameter: inspect.Parameter, kind: Any) -> Iterator[inspect.Parameter]:
    """The options of a parameter of a command, which may be a group."""
    if not _is_group(kind):
        yield inspect.Parameter(
            parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default, annotation=kind
        )
        return
    for field in structs.fields(kind):
        default = inspect.Parameter.empty if field.default is NODEFAULT else field.default
        yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)

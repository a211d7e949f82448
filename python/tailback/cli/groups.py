"""Groups of commands: their list in `--help`, and commands that are imported when they are needed."""

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from tailback import plain
from tailback.cli.failures import WrongInput
from tailback.cli.options import grouped

Function = TypeVar("Function", bound=Callable[..., Any])


class Once(TyperCommand):
    """Refuses an option that is given twice, of which click would silently use the last. Options that take several
    values accumulate, and a switch that is set twice is set.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """[click Command.parse_args]"""
        args = _with_dashes(self.params, args)
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        options: list[Any] = [each for each in order if each.param_type_name == "option"]
        valued = [each for each in options if not each.multiple and not each.is_flag]
        twice = next((each for each in valued if valued.count(each) > 1), None)
        if twice is not None and not ctx.resilient_parsing:
            name = twice.opts[-1]
            raise WrongInput(
                f"{name} is given {_times(valued.count(twice))}\n  hint: it takes one value; leave the others out"
            )
        return super().parse_args(ctx, args)


COMMAND = "[-- COMMAND...]"
"""The metavar of an argument that is the command line of another program."""


def _with_dashes(params: Sequence[Any], args: list[str]) -> list[str]:
    """The words with `--` before the command line of another program, whose options are that program's."""
    arguments = [each for each in params if each.param_type_name == "argument"]
    valued = {name for each in params if not getattr(each, "is_flag", True) for name in each.opts}
    before, place = len(arguments) - 1, 0
    if not arguments or arguments[-1].metavar != COMMAND:
        return args
    while place < len(args) and args[place] != "--":
        if args[place].startswith("-"):
            place += 1 + (args[place] in valued)
        elif before:
            before, place = before - 1, place + 1
        else:
            return [*args[:place], "--", *args[place:]]
    return args


def _times(count: int) -> str:
    return "twice" if count == TWICE else f"{count} times"


TWICE = 2


class App(typer.Typer):
    """A command line whose commands refuse an option that is given twice."""

    def command(self, name: str | None = None, **named: Any) -> Callable[[Function], Function]:
        """[typer Typer.command]"""
        return super().command(name, **{"cls": Once, **named})


class Listed(TyperGroup):
    """Makes `--help` list the commands with their first paragraphs, which click would truncate."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """[click Group.format_commands]"""
        rows = [(name, _first(self.commands[name])) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """[click Group.resolve_command] The answer to an unknown name lists the commands that there are."""
        # Not `list_commands`, which imports every command.
        known = list(self.commands)
        if args[0] not in known and not args[0].startswith("-"):
            hint = f"{plain.meant(args[0], known)}it has {plain.listed(known)}"
            raise WrongInput(f"`{ctx.command_path}` has no command `{args[0]}`\n  hint: {hint}")
        return super().resolve_command(ctx, args)


class OnDemand(MutableMapping[str, Any]):
    """Commands by name. The file of one is imported when it is used."""

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package = package
        self._places = dict(places)
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _command(name, loaded(self._package, self._places[name]))
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._places.setdefault(name, name)
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def loaded(package: str, place: str) -> Any:
    """What `place`, a file and a name in it, is in `package`."""
    file, _, name = place.rpartition(".")
    return getattr(importlib.import_module(f"{package}.{file}"), name)


def _command(name: str, found: Any) -> Any:
    """The command of a function, or of a `typer.Typer`."""
    above = App(pretty_exceptions_enable=False, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        above.add_typer(found, name=name)
    else:
        above.command(name)(grouped(found))
    return typer.main.get_group(above).commands[name]


def _first(command: Any) -> str:
    """The first paragraph of the help text of a command, as one line."""
    paragraph = (command.help or "").partition("\n\n")[0]
    return " ".join(paragraph.split())

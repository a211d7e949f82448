"""Makes `--help` list the commands of a group with their first paragraphs, which click would truncate."""

from typing import Any

from typer.core import TyperGroup


class Listed(TyperGroup):
    """A group of commands."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """[click Group.format_commands]"""
        rows = [(name, _first(self.commands[name])) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _first(command: Any) -> str:
    """The first paragraph of the help text of a command, as one line."""
    paragraph = (command.help or "").partition("\n\n")[0]
    return " ".join(paragraph.split())

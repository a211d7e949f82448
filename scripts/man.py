"""Writes manual pages of the command and its subcommands, from the command line: `python scripts/man.py FOLDER`."""

import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer
import typer.main

from tailback.cli.app import app

NAME = "tailback"


def main(folder: Path) -> None:
    """Writes `man1/NAME.1` for each command below `folder`."""
    target = folder / "man1"
    target.mkdir(parents=True, exist_ok=True)
    root = typer.main.get_command(app)
    for words, command in _commands((NAME,), root):
        context = typer.Context(command, info_name=words[-1])
        (target / f"{'-'.join(words)}.1").write_text(page(words, command, context), encoding="utf-8")


def _commands(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and all commands below it, each with the words that call it."""
    yield words, command
    for name, each in getattr(command, "commands", {}).items():
        yield from _commands((*words, name), each)


def page(words: tuple[str, ...], command: Any, context: Any) -> str:
    """The manual page of one command, in the language of man(7)."""
    title, _, rest = _line((command.help or "").partition("\n\n")[0]).partition(". ")
    further = (command.help or "").partition("\n\n")[2]
    parts = [
        f'.TH "{"-".join(words).upper()}" 1 "" "{NAME} {version(NAME)}"',
        f".SH NAME\n{_text('-'.join(words))} \\- {_text(title.rstrip('.'))}",
        f".SH SYNOPSIS\n.B {_text(' '.join(words))}\n{_text(' '.join(command.collect_usage_pieces(context)))}",
    ]
    if rest or further:
        parts.append(f".SH DESCRIPTION\n{_paragraphs(f'{rest}{SEPARATOR}{further}')}")
    parameters = [_parameter(record) for record in _records(command, context)]
    if parameters:
        parts.append(".SH OPTIONS\n" + "\n".join(parameters))
    below = [_entry(name, _line((each.help or "").partition("\n\n")[0])) for name, each in _below(command)]
    if below:
        parts.append(".SH COMMANDS\n" + "\n".join(below))
    others = [f"\\fB{_text('-'.join((*words, name)))}\\fR(1)" for name, _ in _below(command)]
    above = [f"\\fB{_text('-'.join(words[:-1]))}\\fR(1)"] if len(words) > 1 else []
    parts.append(".SH SEE ALSO\n" + ",\n".join([*above, *others]))
    parts.append(f".SH EXIT STATUS\n{EXIT_STATUS}")
    return "\n".join(parts) + "\n"


SEPARATOR = "\n\n"

NOTHING = "\\&"
"""An empty paragraph."""

EXIT_STATUS = "0: success. 1: a run failed, or output cannot be written. 2: the input is wrong. 130: interrupted."


def _below(command: Any) -> list[tuple[str, Any]]:
    return list(getattr(command, "commands", {}).items())


def _records(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield record


def _parameter(record: tuple[str, str]) -> str:
    name, help_ = record
    return _entry(name, help_)


def _entry(name: str, help_: str) -> str:
    return f".TP\n.B {_text(name)}\n{_text(_line(help_)) or NOTHING}"


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(_text(_line(part)) for part in text.split(SEPARATOR) if part.strip())


def _line(text: str) -> str:
    return " ".join(text.split())


def _text(text: str) -> str:
    """Text with the characters escaped that roff would interpret."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in escaped)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    main(Path(sys.argv[1]))

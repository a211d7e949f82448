"""Output of commands: results go to stdout, everything else to stderr.

Longer output has its own module (`sweeps`, `verdicts`, `advised`, ...).
"""

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tailback import plain
from tailback.cli.console import aside, counted, emit, form, line

if TYPE_CHECKING:
    from tailback.scenario import LintWarning

Answer = TypeVar("Answer")


def result(
    answer: Answer, document_of: Callable[[Answer], Mapping[str, Any]], text: Callable[[Answer], None], *, as_json: bool
) -> None:
    """Prints a result: its document with `--json`, else as text."""
    if as_json:
        document(document_of(answer))
    else:
        text(answer)


def document(content: Mapping[str, Any]) -> None:
    """Prints a JSON document to stdout; to one that is not UTF-8 with escapes, so that nothing is lost."""
    escaped = not (sys.stdout.encoding or "").lower().startswith("utf")
    line(_indented(plain.visible_json(json.dumps(content, ensure_ascii=escaped))))


def _indented(document: str) -> str:
    # Python's own writer takes ten times as long to indent as it takes to write.
    try:
        return msgspec.json.format(document, indent=2)
    except msgspec.DecodeError:
        return json.dumps(json.loads(document), indent=2)


def file(text: str) -> None:
    """Prints the content of a file."""
    for each in text.splitlines():
        line(each)


def findings(found: "Iterable[LintWarning]") -> None:
    """Prints warnings and remarks to stderr, one for each kind."""
    from tailback.scenario import alike

    for each in alike(found):
        aside(each)


def remark(text: str) -> None:
    """Prints a remark to stderr."""
    aside(text)


def warnings(found: "Iterable[LintWarning]") -> None:
    """Prints warnings, but not remarks, to stderr."""
    findings(finding for finding in found if finding.severity == "warning")


def errors(found: Iterable[str]) -> None:
    """Prints errors to stderr."""
    for error in found:
        aside(error)


def duration(seconds: float) -> str:
    """A duration as text: `0.3 s`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60) if seconds >= 3600 else int(seconds // 60)
    if seconds >= 3600:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {seconds % 60:.0f} s"


def found_in_file(found: "Iterable[LintWarning]") -> None:
    """Prints warnings and remarks as a table, in the form that was asked for."""
    from tailback.cli import sheets, tables
    from tailback.cli.sheets import Cell, Field, Sheet

    fields = [*(Field(name, "name") for name in ("code", "severity", "file")), Field("line"), Field("key", "name"),
              Field("text", "text"), Field("hint", "text")]  # fmt: skip
    rows = [
        [
            *sheets.words(each.code, each.severity, each.where.file),
            Cell("", math.nan) if each.where.line is None else Cell(str(each.where.line), each.where.line),
            *sheets.words(each.path, each.text, each.remedy),
        ]
        for each in found
    ]
    tables.show(Sheet("", fields, rows))


def time_span(low: float, high: float) -> str:
    """A range of durations as text: `32 s`, or `20 s to 1 min 10 s` if its ends are apart."""
    if high <= CLEAR * low:
        return duration((low + high) / 2)
    return f"{duration(low)} to {duration(high)}"


CLEAR = 1.25
"""The ends of a range are printed as one number up to this ratio."""


def checked(file: Path, runs: int, programs: Sequence[str] = ()) -> None:
    """Prints that a file is valid, and of one with programs, which the simulator does not run, what runs it."""
    line(f"{file}: ok, {counted(runs, 'run')}")
    if programs:
        named = ", ".join(f"`{program}`" for program in programs)
        aside(f"{named} {'needs' if len(programs) == 1 else 'need'} a kernel: --backend uml, or as root netns")


def not_executed(files: Iterable[str]) -> None:
    """Prints that the code of files was not executed, and what does it."""
    for file in files:
        aside(f"the code of {file} was not executed: add --trust to check it, too")


def check_document(
    file: Path, runs: int, found: "Iterable[LintWarning]", untouched: Sequence[str] = ()
) -> dict[str, Any]:
    """`{"tailback", "file", "runs", "findings": [{"code", "severity", "file", "line", "key", "text", "hint"}]}`; an
    unknown line is absent.
    """
    from tailback.results.provenance import tailback_version

    return {
        "tailback": tailback_version(),
        "file": str(file),
        "runs": runs,
        "findings": [
            {
                "code": each.code,
                "severity": each.severity,
                "file": each.where.file,
                **({} if each.where.line is None else {"line": each.where.line}),
                "key": each.path,
                "text": each.text,
                "hint": each.remedy,
            }
            for each in found
        ]
        + [
            {"code": "code-not-executed", "severity": "info", "file": each, "key": "cc",
             "text": f"the code of `{each}` was not executed", "hint": "add --trust to check it, too"}
            for each in untouched
        ],
    }  # fmt: skip


def names(rows: Iterable[tuple[str, str]]) -> None:
    """Prints names with one line of description each."""
    if form() is not None:
        _names_in_form(rows)
        return
    # Imported here, because `tailback check` prints no table and starts more quickly without.
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for row in rows:
        table.add_row(*map(Text, row))
    emit(table)


def _names_in_form(rows: Iterable[tuple[str, str]]) -> None:
    from tailback.cli import sheets, tables

    fields = [sheets.Field("name", "name"), sheets.Field("text", "text")]
    tables.show(sheets.Sheet("", fields, [sheets.words(*row) for row in rows]))


def command() -> str:
    """The command line of this process."""
    return shlex.join(["tailback", *sys.argv[1:]])


def paths(written: Iterable[Path]) -> None:
    """Prints paths, one per line."""
    for path in written:
        line(path)

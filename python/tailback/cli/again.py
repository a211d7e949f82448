"""Prints what `tailback rerun` found."""

from tailback.bundle import Again
from tailback.cli import sheets, tables
from tailback.cli.console import aside, counted, line
from tailback.cli.sheets import Field, Sheet


def told(done: Again) -> None:
    """Says whether all tables are equal, and of those that are not where they first differ."""
    tables_ = counted(len(done.verdicts), "table")
    if not done.different:
        line(f"{done.title}: all {tables_} of {counted(done.runs, 'run')} are equal to the byte")
        return
    fields = [Field("run", "name"), Field("table", "name"), Field("state", "name"), Field("first difference", "text")]
    rows = [sheets.words(each.run, each.table, each.state, each.where) for each in done.different]
    tables.show(Sheet(done.title, fields, rows))
    line(f"{len(done.different)} of {tables_} differ")
    if done.other_build:
        made = ", ".join(f"{name} {version}" for name, version in done.made_by.items())
        here = ", ".join(f"{name} {version}" for name, version in done.here.items())
        aside(f"the bundle was made by another build of Tailback ({made}; here: {here})")

"""Writes the page `docs/tables.md` from the data dictionary; a test compares the two."""

from tailback.results import data_dictionary

HEAD = """# Tables of a run

A run leaves its tables as `runs/NAME/TABLE.parquet`; `RunResult.table("ping")` reads one
([contracts.md](contracts.md#what-a-run-returns)). This page is made from the
[data dictionary](../python/tailback/results/data_dictionary.toml), as are `tailback list table` and
`tailback explain tcp_info.held_by`.

The column `t` is always in seconds since the start of the run. A run has a table only if it has
rows there. *Simulator* marks what a kernel does not show.
"""


def as_markdown() -> str:
    """The page `docs/tables.md`."""
    return HEAD + "".join(map(_section, data_dictionary.tables().values()))


def _section(table: data_dictionary.DataTable) -> str:
    rows = "\n".join(map(_row, table.columns))
    return f"\n## {table.name}\n\nOne row: {table.row}.\n\n| column | unit | meaning |\n|---|---|---|\n{rows}\n"


def _row(column: data_dictionary.DataColumn) -> str:
    only = f" *{column.only.capitalize()}.*" if column.only else ""
    return f"| `{column.name}` | {column.unit} | {column.text}{only} |"


def main() -> None:
    """Prints the page."""
    print(as_markdown(), end="")


if __name__ == "__main__":
    main()

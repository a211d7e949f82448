"""The process with the air: serves the driver that connects to its socket, in the current folder.

`air` starts this file by its path. It imports the core and nothing else: each run with radios waits for it to start.
"""

import sys
from pathlib import Path

from tailback import _core


def main(scenario: str, socket: str, *tables: str) -> None:
    """Takes the names of its files; the last are those of the tables that it writes."""
    found = _core.serve_air(Path(scenario).read_text(encoding="utf-8"), socket)
    for name, table in zip(tables, found, strict=True):
        Path(name).write_bytes(table.stream)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Runs docs/notebook.ipynb in a kernel of this Python and writes it with what it printed and drew.

`python scripts/notebook.py [TARGET]`; without a target the notebook itself.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

PATIENCE_S = 900
"""For a cell, and for the kernel to start: on a busy machine both take a while."""

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


def main(target: Path) -> None:
    """Raises if a cell does."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=PATIENCE_S, startup_timeout=PATIENCE_S, record_timing=False).execute()
    nbformat.write(notebook, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK)

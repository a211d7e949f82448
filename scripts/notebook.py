"""Runs docs/notebook.ipynb in a kernel of this Python and writes it with what it printed and drew.

`python scripts/notebook.py [TARGET]`; without a target the notebook itself.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


def main(target: Path) -> None:
    """Raises if a cell does."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, record_timing=False).execute()
    nbformat.write(notebook, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK)

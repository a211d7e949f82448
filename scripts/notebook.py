"""Executes docs/notebook.ipynb with this Python and writes it with its output.

`python scripts/notebook.py [TARGET]`; without a target the notebook itself.
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

TIMEOUT_S = 900
"""Time limit for a cell, and for the start of the kernel."""

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


def main(target: Path) -> None:
    """Executes the notebook; raises an exception if a cell does."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    # Sockets with names: somebody may take free ports of this machine before the kernel has started.
    with tempfile.TemporaryDirectory() as folder:
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(Path(folder) / "kernel"))
        limits = {"timeout": TIMEOUT_S, "startup_timeout": TIMEOUT_S}
        # The results are written beside the notebook; here into a folder that goes.
        place = {"metadata": {"path": folder}}
        NotebookClient(notebook, km=manager, record_timing=False, resources=place, **limits).execute()
    nbformat.write(notebook, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK)

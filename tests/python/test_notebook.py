"""The notebook of the documentation runs, and its results agree with its text."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from waiting import GENEROUS_S

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The cells of code after running all of them."""
    folder = tmp_path_factory.mktemp("notebook")
    temporary = folder / "tmp"
    temporary.mkdir()
    # All files of the Jupyter kernel go into the folder of the test.
    environment = {**os.environ, "HOME": str(folder), "IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder)}
    environment["TMPDIR"] = str(temporary)
    command = [sys.executable, str(ROOT / "scripts" / "notebook.py"), str(folder / "run.ipynb")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=GENEROUS_S, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert not list(temporary.glob("*/")), "it leaves its results"
    found: list[dict[str, Any]] = json.loads((folder / "run.ipynb").read_text())["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def shown(cell: dict[str, Any]) -> dict[str, str]:
    """The outputs of a cell, by kind."""
    data = {kind: value for output in cell["outputs"] for kind, value in output.get("data", {}).items()}
    return {kind: "".join(value) for kind, value in data.items()}


def test_every_cell_that_ends_in_a_value_shows_it(cells: list[dict[str, Any]]) -> None:
    assert len(cells) >= 9
    assert all(shown(cell) for cell in cells)
    assert shown(cells[0])["text/plain"] == "20"


def test_its_figures_are_drawn(cells: list[dict[str, Any]]) -> None:
    pictures = [shown(cell)["image/png"] for cell in cells if "image/png" in shown(cell)]
    assert len(pictures) == 2
    assert all(len(picture) > 10_000 for picture in pictures)


def test_the_comparison_finds_what_small_queues_do(cells: list[dict[str, Any]]) -> None:
    (table,) = [shown(cell)["text/html"] for cell in cells if "compared" in "".join(cell["source"])]
    (ping,) = [row for row in table.split("<tr>") if "ping p50" in row]
    assert "lower" in ping


def test_the_notebook_in_the_documentation_shows_what_it_prints(cells: list[dict[str, Any]]) -> None:
    """`make notebook` writes its outputs anew."""
    found = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())["cells"]
    documented = [cell for cell in found if cell["cell_type"] == "code"]
    assert [shown(cell)["text/plain"] for cell in documented] == [shown(cell)["text/plain"] for cell in cells]

"""Prints the requirements of an extra of pyproject.toml (`extra.py dev`), one per line, for pip."""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"

print("\n".join(tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"][sys.argv[1]]))

"""Prints requirements of pyproject.toml, one per line, for pip: of an extra (`extra.py dev`), or of the package."""

import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

print("\n".join(PROJECT["optional-dependencies"][sys.argv[1]] if sys.argv[1:] else PROJECT["dependencies"]))

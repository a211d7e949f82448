"""Prints requirements of pyproject.toml, one per line, for pip: of extras (`extra.py dev`), or of the package."""

import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

EXTRAS = [requirement for extra in sys.argv[1:] for requirement in PROJECT["optional-dependencies"][extra]]

print("\n".join(EXTRAS if sys.argv[1:] else PROJECT["dependencies"]))

"""A results folder as one file that others can check: `write` makes it, `rerun` runs it again and compares tables."""

from tailback.bundle.contents import BundleWrong, opened
from tailback.bundle.rerun import Again, TableVerdict, rerun
from tailback.bundle.writing import write

__all__ = ["Again", "BundleWrong", "TableVerdict", "opened", "rerun", "write"]

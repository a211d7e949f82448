"""Reads and writes Flent's data files, format version 4 [flent flent/resultset.py].

A file is one gzipped JSON object: `x_values` (the time grid), `results` (series on the grid), `raw_values` (the
samples), `metadata`. The name of the Flent test in the metadata determines the available series and plots.
"""

from tailback.formats.flent.export import TESTS, export, file_name
from tailback.formats.flent.importing import import_files
from tailback.formats.flent.reader import FlentFile, read, write

__all__ = ["TESTS", "FlentFile", "export", "file_name", "import_files", "read", "write"]

"""Reads and writes Flent's data files, format version 4 [flent flent/resultset.py].

A file is one JSON object, gzipped: `x_values` (the time grid), `results` (series on it), `raw_values` (the samples
themselves), `metadata`. The name of a Flent test in the metadata decides which series and plots there are.
"""

from tailback.formats.flent.export import TESTS, export, file_name
from tailback.formats.flent.importing import import_files
from tailback.formats.flent.reader import FlentFile, read, write

__all__ = ["TESTS", "FlentFile", "export", "file_name", "import_files", "read", "write"]

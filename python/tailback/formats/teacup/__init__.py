"""Configurations of TEACUP (2014–2018): Python 2 files of TPCONF_* names, read and never run."""

from tailback.formats.teacup.importing import Imported, convert
from tailback.formats.teacup.writing import write

__all__ = ["Imported", "convert", "write"]

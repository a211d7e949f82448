"""Configurations of TEACUP (2014–2018): Python 2 files with TPCONF_* variables, which are parsed but never executed."""

from tailback.formats.teacup.evaluate import NotEvaluated
from tailback.formats.teacup.importing import Imported, convert
from tailback.formats.teacup.queues import Order
from tailback.formats.teacup.writing import write

__all__ = ["Imported", "NotEvaluated", "Order", "convert", "write"]

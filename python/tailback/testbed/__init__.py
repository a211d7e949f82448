"""The testbed file, which assigns a machine to each host of an experiment (`docs/testbed.md`). This package only
reads it and contacts no machine.
"""

from tailback.testbed.file import Testbed, load, loads
from tailback.testbed.schema import DEVICE, Interface, Machine, json_schema

__all__ = ["DEVICE", "Interface", "Machine", "Testbed", "json_schema", "load", "loads"]

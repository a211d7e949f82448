"""The testbed file: which machine each host of an experiment is (`docs/testbed.md`). Only read, nobody is contacted."""

from tailback.testbed.file import Testbed, load, loads
from tailback.testbed.schema import DEVICE, Interface, Machine, json_schema

__all__ = ["DEVICE", "Interface", "Machine", "Testbed", "json_schema", "load", "loads"]

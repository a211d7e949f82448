"""The schema of an experiment file, as pydantic models with the type, unit and description of every key.

Values are stored in base units (ns, bit/s, bytes). `check.py` has the checks that involve several keys. The JSON Schema
for editors is generated from the same models (`json_schema`). Unknown keys are errors everywhere.

The modules of classes whose annotations pydantic reads have no `from __future__ import annotations` where they can do
without: pydantic would compile each annotation when a command starts.
"""

from tailback.scenario.schema.hosts import Host, Nic
from tailback.scenario.schema.keys import Keys, Measure, json_schema, keys_at
from tailback.scenario.schema.links import Change, Lan, Link
from tailback.scenario.schema.traffic import Preset, traffic_tags
from tailback.scenario.schema.wifi import CellHosts, SignalChange, Wifi

__all__ = [
    "CellHosts",
    "Change",
    "Host",
    "Keys",
    "Lan",
    "Link",
    "Measure",
    "Nic",
    "Preset",
    "SignalChange",
    "Wifi",
    "json_schema",
    "keys_at",
    "traffic_tags",
]

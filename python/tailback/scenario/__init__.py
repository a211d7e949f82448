"""From an experiment file to resolved scenarios, one per run. The file is described in `docs/experiment-file.md`.

experiment = load("demo", ["cc=bbr"])
print(*lint(experiment), sep="\n")
scenarios = [run.scenario for run in experiment.runs()]
"""

from tailback.algorithms import CoreRegistry, Registry
from tailback.scenario.alike import Alike, alike
from tailback.scenario.errors import Finding, ScenarioError, Where
from tailback.scenario.experiment import Configuration, Experiment, Run, expanded, load, loads
from tailback.scenario.lint import LintWarning, lint
from tailback.scenario.ready import file_of, ready, title_of
from tailback.scenario.schema import json_schema
from tailback.scenario.sets import labels
from tailback.scenario.size import Size, refuse_larger, size_of
from tailback.scenario.sysctl import SYSCTLS, Sysctl
from tailback.tc.rows import Parameter, Row, rows

__all__ = [
    "SYSCTLS",
    "Alike",
    "Configuration",
    "CoreRegistry",
    "Experiment",
    "Finding",
    "LintWarning",
    "Parameter",
    "Registry",
    "Row",
    "Run",
    "ScenarioError",
    "Size",
    "Sysctl",
    "Where",
    "alike",
    "expanded",
    "file_of",
    "json_schema",
    "labels",
    "lint",
    "load",
    "loads",
    "ready",
    "refuse_larger",
    "rows",
    "size_of",
    "title_of",
]

"""Results folders: writes, locks and reads them.

    results/fig5/                   an experiment
      experiment.yaml               the experiment file, unchanged
      experiment.json               title, axes, backend, settings, the list of runs
      runs/<axes>-r<repetition>-<hash>/   a complete run (folders are renamed into place when they are complete)
        manifest.json               the resolved scenario, and everything else that is needed to repeat the run
        summary.json                the metrics over the measurement window
        qdiscs.json                 the disciplines at the end, as in `tc -s -j qdisc show`
        client.pcapng …             captures, if requested
        flows.parquet tcp_info.parquet …  the tables of `docs/tables.md`, with units in the column metadata
      failures/<run>.json           the errors of failed runs
      set-aside/                    damaged folders of runs that were repeated

The tables of a run depend only on its scenario: they have the same bytes with any number of jobs and on any machine.
The same holds for `summary.json`, except for `cost`. Facts about the execution (when, where, how long) are in
`manifest.json`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from tailback.results.errors import FolderTaken, NotComparable, NotResults, ResultsUnwritable, RunDamaged, left_out
from tailback.results.identity import RunPlan, digest, run_name
from tailback.results.reusable import ReusableRuns, neighbours, reusable_runs
from tailback.results.store import ExperimentPlan, Store, claim, default_folder

if TYPE_CHECKING:
    from tailback.results.folder import RunFolder
    from tailback.results.pairing import Pairing, RunPair, pair
    from tailback.results.reading import Results, combined, open_results
    from tailback.results.run import RunResult

__all__ = [
    "ExperimentPlan",
    "FolderTaken",
    "NotComparable",
    "NotResults",
    "Pairing",
    "Results",
    "ResultsUnwritable",
    "ReusableRuns",
    "RunDamaged",
    "RunFolder",
    "RunPair",
    "RunPlan",
    "RunResult",
    "Store",
    "claim",
    "combined",
    "default_folder",
    "digest",
    "left_out",
    "neighbours",
    "open_results",
    "pair",
    "reusable_runs",
    "run_name",
]

_MODULES = {
    "Pairing": "pairing",
    "Results": "reading",
    "RunFolder": "folder",
    "RunPair": "pairing",
    "RunResult": "run",
    "combined": "reading",
    "open_results": "reading",
    "pair": "pairing",
}


def __getattr__(name: str) -> Any:
    # Imported on demand, because `tailback run` only writes results.
    if name not in _MODULES:
        raise AttributeError(f"module `tailback.results` has no attribute `{name}`")
    return getattr(importlib.import_module(f"tailback.results.{_MODULES[name]}"), name)

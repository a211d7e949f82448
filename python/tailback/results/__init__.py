"""Results folders: their layout on disk, and how they are written, locked and read.

    results/fig5/                   an experiment
      experiment.yaml               the file it was made from, byte for byte
      experiment.json               what was asked: title, axes, backend, settings, the list of runs
      runs/<axes>-r<repetition>-<hash>/   a run, complete by construction: it was renamed into place
        manifest.json               the resolved scenario and all that is needed to repeat it
        summary.json                the numbers of design §4, over the measurement window
        qdiscs.json                 the disciplines at the end, as `tc -s -j qdisc show` has them
        client.pcapng …             captures, where they were asked for
        flows.parquet tcp_info.parquet …  the tables of `docs/contracts.md`, units in the column metadata
      failures/<run>.json           runs that ended badly, with their message
      set-aside/                    what lay in the place of a run and was damaged

The tables of a run depend on its scenario alone: they are the same bytes with any number of jobs and on any
machine. So is `summary.json` but for `cost`. Facts of one occasion (when, where, how long) are in `manifest.json`.
"""

from tailback.results.errors import FolderTaken, NotComparable, NotResults, ResultsUnwritable, RunDamaged
from tailback.results.identity import RunPlan, digest, run_name
from tailback.results.pairing import Pairing, RunPair, pair
from tailback.results.reading import Results, RunFolder, combined, open_results
from tailback.results.shelf import Shelf, beside, shelf
from tailback.results.store import ExperimentPlan, Store, claim, default_folder

__all__ = [
    "ExperimentPlan",
    "FolderTaken",
    "NotComparable",
    "NotResults",
    "Pairing",
    "Results",
    "ResultsUnwritable",
    "RunDamaged",
    "RunFolder",
    "RunPair",
    "RunPlan",
    "Shelf",
    "Store",
    "beside",
    "claim",
    "combined",
    "default_folder",
    "digest",
    "open_results",
    "pair",
    "run_name",
    "shelf",
]

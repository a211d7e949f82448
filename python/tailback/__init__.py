"""Tailback: describe a TCP experiment once, and run it on a simulator, a real kernel or a testbed.

import tailback

results = tailback.run("papers/access21/fig5", settings=["repeat=1"])
results.summary                                               # a pandas frame, one row per run
results.tcp_info                                              # the samples of all runs, with the axes as columns
results.select(cc="bbr").runs[0].flows
results.polars("tcp_info")                                    # the same as a polars frame
tailback.tabulate(results)                                    # means with 95 % intervals
tailback.cautions(results)                                    # runs that were never steady, flows without data
tailback.plot(results, "cdf").savefig("cdf.pdf")
tailback.simulate("demo", jobs=2).flows                       # the same in memory: no file is written or read
tailback.write_report(results, "report.html")

tailback.compare("results/before", "results/after").differences
tailback.validate("demo", against="uml").comparison.share_within
tailback.drill_script("conformance/drill/slow-start.pkt").verdict
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailback.api import (
        RunsFailed,
        cautions,
        compare,
        drill_script,
        load,
        open,
        pareto,
        plot,
        recommend,
        run,
        sensitivity,
        simulate,
        tabulate,
        validate,
        write_report,
    )
    from tailback.results import Results, RunFolder, RunResult, combined
    from tailback.scenario import Experiment, ScenarioError

__all__ = [
    "Experiment",
    "Results",
    "RunFolder",
    "RunResult",
    "RunsFailed",
    "ScenarioError",
    "cautions",
    "combined",
    "compare",
    "drill_script",
    "load",
    "open",
    "pareto",
    "plot",
    "recommend",
    "run",
    "sensitivity",
    "simulate",
    "tabulate",
    "validate",
    "write_report",
]

_MODULES = {
    "cautions": "tailback.api",
    "compare": "tailback.api",
    "validate": "tailback.api",
    "drill_script": "tailback.api",
    "load": "tailback.api",
    "open": "tailback.api",
    "pareto": "tailback.api",
    "plot": "tailback.api",
    "recommend": "tailback.api",
    "run": "tailback.api",
    "sensitivity": "tailback.api",
    "simulate": "tailback.api",
    "tabulate": "tailback.api",
    "write_report": "tailback.api",
    "combined": "tailback.results",
    "RunsFailed": "tailback.api",
    "Results": "tailback.results",
    "RunFolder": "tailback.results",
    "RunResult": "tailback.results",
    "Experiment": "tailback.scenario",
    "ScenarioError": "tailback.scenario",
}


def __getattr__(name: str) -> Any:
    # Imported on demand, because pandas is slow to load.
    if name == "__version__":
        from tailback.results.provenance import tailback_version

        return tailback_version()
    if name not in _MODULES:
        raise AttributeError(f"module `tailback` has no attribute `{name}`")
    return getattr(importlib.import_module(_MODULES[name]), name)

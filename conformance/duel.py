"""Runs every control alone and against CUBIC on four paths, and writes conformance/results/duels.md.

    python -m conformance.duel                  runs experiments/cc/duel.yaml and writes the page
    python -m conformance.duel path=10mbit-20ms prints the tables of some runs; arguments as for `--set`

The figures cover the measurement window, 10 s to 60 s: goodput of the flow and of its rival, median TCP RTT of the
flow, segments that the flow retransmitted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import tailback
from conformance.page import RESULTS, write_tables
from tailback.results import RunResult

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENT = ROOT / "experiments" / "cc" / "duel.yaml"
PAGE = RESULTS / "duels.md"
HEAD = (
    "| control | alone: Mbit/s | RTT ms | retransmissions | against CUBIC: Mbit/s | CUBIC Mbit/s | share | RTT ms |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
)


@dataclass(frozen=True)
class Figures:
    """The figures of one run: those of the flow, and of its rival if there is one."""

    goodput_mbps: float
    rival_mbps: float | None
    rtt_ms: float
    retransmits: int


def figures(run: RunResult) -> Figures:
    """The figures of a run."""
    goodput = run.summary["goodput_mbps"]["flows"]
    info = run.table("tcp_info")
    begin, end = (edge / 1e9 for edge in run.window_ns)
    own = info[(info["flow"] == "one") & (info["t"] >= begin) & (info["t"] <= end)]
    again = int(own["total_retrans"].max() - own["total_retrans"].min())
    return Figures(goodput["one"], goodput.get("two"), float(own["rtt"].median()) / 1000, again)


def row(control: str, alone: Figures, duel: Figures) -> str:
    """A row of a table."""
    rival = duel.rival_mbps or 0.0
    share = duel.goodput_mbps / (duel.goodput_mbps + rival)
    cells = [f"`{control}`", f"{alone.goodput_mbps:.4g}", f"{alone.rtt_ms:.4g}", f"{alone.retransmits}"]
    cells += [f"{duel.goodput_mbps:.4g}", f"{rival:.4g}", f"{share:.0%}", f"{duel.rtt_ms:.4g}"]
    return f"| {' | '.join(cells)} |"


def rows(runs: Iterable[RunResult]) -> dict[str, list[str]]:
    """The rows of each path's table, in the order of the experiment."""
    found: dict[tuple[str, str], dict[str, Figures]] = {}
    for run in runs:
        found.setdefault((run.axes["path"], run.axes["control"]), {})[run.axes["rival"]] = figures(run)
    tables: dict[str, list[str]] = {}
    for (path, control), both in found.items():
        tables.setdefault(path, []).append(row(control, both["alone"], both["cubic"]))
    return tables


def simulated(settings: Sequence[str] = ()) -> dict[str, list[str]]:
    """Runs the experiment, or the part that `settings` select."""
    with TemporaryDirectory() as folder:
        return rows(tailback.run(EXPERIMENT, settings=settings, out=Path(folder) / "duel").runs)


def page(tables: dict[str, list[str]]) -> str:
    """The tables of the page."""
    return "\n\n".join("\n".join([f"### {path}", "", *HEAD, *table]) for path, table in tables.items())


def main() -> None:
    """Writes the page, or prints some tables."""
    settings = sys.argv[1:]
    text = page(simulated(settings))
    if settings:
        print(text)
        return
    write_tables({"duels": [text]}, PAGE, "python -m conformance.duel")


if __name__ == "__main__":
    main()

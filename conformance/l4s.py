"""Prague beside other controls, compared with what was published (conformance/l4s.yaml): the tables of docs/l4s.md.

python -m conformance.l4s                        runs all cells and writes the page
python -m conformance.l4s heist-fq-20 bbr3-20    prints some
python -m conformance.l4s --backend uml:linux-7.3 --module tcp_prague.c c2-cubic-20
                                                 the same cells on a kernel, with Prague as a module
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

import tailback
from conformance.page import DOCS, rows, write_tables
from tailback.results import RunResult

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENT = ROOT / "experiments" / "l4s" / "coexistence.yaml"
DATA = Path(__file__).with_suffix(".yaml")
PAGE = DOCS / "l4s.md"
COMMAND = "python -m conformance.l4s"
FACTOR = 1.5
"""A ratio within this factor of the mean of the published ones holds."""


ECN = {"sysctl": {"net.ipv4.tcp_ecn": 1}}
"""A host whose other flow has ECN."""


@dataclass(frozen=True)
class Cell:
    """One setting of the experiment, and the figure that was published about it, if one was."""

    id: str
    rtt: float
    """The base RTT in ms."""
    queue: str
    rate: str
    other: str
    prague: str
    ecn: bool
    """The other flow has ECN."""
    window: tuple[float, float]
    """What is measured, in s; the run ends with it."""
    source: str | None = None
    ratios: tuple[float, ...] = ()
    """The published ratio in each run."""
    p99: float | None = None
    shaped: bool = False
    """The rate is that of an HTB, on links without one, as between namespaces; else that of the link."""

    @property
    def ratio(self) -> float | None:
        """The mean of the published ratios; None without one."""
        return geometric_mean(self.ratios) if self.ratios else None

    def experiment(self) -> str:
        """The file of `EXPERIMENT` for this cell alone."""
        keys = yaml.safe_load(EXPERIMENT.read_text(encoding="utf-8"))
        del keys["vary"]
        keys["let"] = {"delay": f"{self.rtt / 2:g}ms"}
        keys["duration"], keys["measure"] = f"{self.window[1]:g}s", {"warmup": f"{self.window[0]:g}s"}
        if self.shaped:
            for link in keys["links"]:
                del link["rate"]
        else:
            keys["links"][1]["rate"] = self.rate
        shaper = f"htb rate {self.rate} | " if self.shaped else ""
        keys["qdiscs"] = {"router -> server": shaper + self.queue}
        for flow, control in zip(keys["traffic"], (self.prague, self.other), strict=True):
            flow["cc"] = control
        if self.ecn:
            keys["hosts"] = {"client": ECN, "server": ECN, "router": {}}
        written: str = yaml.safe_dump(keys, sort_keys=False)
        return written

    def holds(self, found: Found) -> bool | None:
        """Whether the published figure is met; None without one."""
        if self.ratio is not None:
            return self.ratio / FACTOR <= found.ratio <= self.ratio * FACTOR
        return None if self.p99 is None else found.p99 <= self.p99


@dataclass(frozen=True)
class Found:
    """What the runs of a cell have, as means over repetitions."""

    prague: float
    """Goodput in Mbit/s."""
    other: float
    p99: float
    """The 99th percentile of Prague's RTT above the base, in ms."""
    ratios: tuple[float, ...] = ()
    """The ratio in each run."""

    @property
    def ratio(self) -> float:
        return self.prague / self.other


def cells(data: Mapping[str, Any]) -> list[Cell]:
    """All cells of the data, the published ones first."""
    of_source = {name: one.get("cells", {}) for name, one in data["sources"].items()}
    given = (*data["claims"], *data["cells"])
    return [_cell({**data["defaults"], **of_source.get(each.get("source"), {}), **each}) for each in given]


def _cell(keys: dict[str, Any]) -> Cell:
    ratio = keys.pop("ratio", [])
    ratios = tuple(ratio) if isinstance(ratio, list) else (ratio,)
    return Cell(**{**keys, "window": tuple(keys["window"]), "ratios": ratios})


def load() -> dict[str, Any]:
    """The data."""
    found: dict[str, Any] = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return found


def found_in(runs: Sequence[RunResult], cell: Cell) -> Found:
    """The means over the runs of a cell."""
    flows = [run.summary["goodput_mbps"]["flows"] for run in runs]
    own, other = (float(np.mean([each[name] for each in flows])) for name in ("prague", "other"))
    ratios = tuple(each["prague"] / each["other"] for each in flows)
    return Found(own, other, float(np.mean([_tail(run) - cell.rtt for run in runs])), ratios)


def _tail(run: RunResult) -> float:
    """The 99th percentile of the RTT of the flow `prague` in the window, in ms."""
    info = run.table("tcp_info")
    begin, end = (edge / 1e9 for edge in run.window_ns)
    own = info[(info["flow"] == "prague") & (info["t"] >= begin) & (info["t"] <= end)]
    return float(own["rtt"].quantile(0.99)) / 1000


@contextmanager
def ran(
    cell: Cell, settings: Sequence[str] = (), backend: str = "sim", repetitions: int = 1
) -> Iterator[Sequence[RunResult]]:
    """The runs of a cell, while the block lasts."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{cell.id}.yaml"
        file.write_text(cell.experiment(), encoding="utf-8")
        repeated = [f"repeat={repetitions}", *settings]
        yield tailback.run(file, settings=repeated, backend=backend, out=Path(folder) / "results").runs


def measured(cell: Cell, more: Sequence[str] = (), backend: str = "sim", repetitions: int = 1) -> Found:
    """Runs a cell."""
    with ran(cell, more, backend, repetitions) as runs:
        return found_in(runs, cell)


PARAMETERS = {"rtt_target_us": "prague_rtt_target"}
"""Options of our control, as parameters of the module."""


def as_module(cell: Cell, file: Path) -> list[str]:
    """Settings with which the module in `file` is Prague, for each flow that has it."""
    found = []
    for place, control in enumerate((cell.prague, cell.other)):
        name, *options = control.split()
        if name == "prague":
            given = zip(options[::2], options[1::2], strict=True)
            parameters = "".join(f", {PARAMETERS[option]}: {value}" for option, value in given)
            found.append(f"traffic[{place}].cc={{module: {file}{parameters}}}")
    return found


def row(cell: Cell, found: Found) -> list[str]:
    """One row of a table."""
    setting = [f"`{cell.id}`", f"`{cell.queue}`", cell.rate, f"{cell.rtt:g} ms", f"`{cell.prague}`", f"`{cell.other}`"]
    ratios = ", ".join(f"{each:g}" for each in cell.ratios)
    published = f"{ratios} : 1" if ratios else "–" if cell.p99 is None else f"{cell.p99:g} ms"
    between = f" ({min(found.ratios):.2g} to {max(found.ratios):.2g})" if len(found.ratios) > 1 else ""
    ours = [f"{found.prague:.1f} / {found.other:.1f}", f"{found.ratio:.2g} : 1{between}", f"{found.p99:.1f} ms"]
    verdict = {True: "holds", False: "**does not**", None: "–"}[cell.holds(found)]
    return [*setting, published, *ours, verdict]


HEAD = (
    "cell",
    "queue",
    "rate",
    "RTT",
    "Prague",
    "other",
    "published",
    "goodput, Mbit/s",
    "ratio",
    "p99 above the base",
    "",
)


def tables(found: Mapping[Cell, Found]) -> dict[str, list[str]]:
    """The tables of the page: what was published, and what was not."""
    published = [row(cell, one) for cell, one in found.items() if cell.source is not None]
    others = [row(cell, one) for cell, one in found.items() if cell.source is None]
    return {"l4s-claims": rows(HEAD, published), "l4s-cells": rows(HEAD, others)}


def main() -> None:
    """Runs cells, and writes the page or prints."""
    parser = argparse.ArgumentParser(prog=COMMAND)
    parser.add_argument("ids", nargs="*", metavar="CELL", help="only these cells")
    parser.add_argument("--backend", default="sim", help="as for tailback run")
    parser.add_argument("--repetitions", type=int, default=5, help="runs of a cell (default: 5)")
    parser.add_argument("--module", type=Path, help="the file of Prague as a kernel module")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="as for tailback run")
    given = parser.parse_args()
    found: dict[Cell, Found] = {}
    for cell in cells(load()):
        if not given.ids or cell.id in given.ids:
            own = as_module(cell, given.module.resolve()) if given.module else []
            found[cell] = measured(cell, [*given.settings, *own], given.backend, given.repetitions)
            print("\n".join(rows(HEAD, [row(cell, found[cell])])[2:]), flush=True)
    holding = [cell.holds(one) for cell, one in found.items() if cell.source is not None]
    print(f"{holding.count(True)} of {len(holding)} published figures hold")
    if not given.ids and given.backend == "sim" and not given.module:
        write_tables(tables(found), PAGE, COMMAND)


if __name__ == "__main__":
    main()

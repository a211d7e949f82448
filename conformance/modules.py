"""Runs the congestion controls of the kernel's own source in the simulator, beside ours, and compares them ACK by ACK.

    python -m conformance.modules                     all of them on all paths; writes the table of docs/modules.md
    python -m conformance.modules cubic bbr           prints the differences of some
    python -m conformance.modules --dir ~/linux/net/ipv4 bbr3=tcp_bbr.c --set kernel=google
                                                      another tree, whose headers `tailback kernel headers` prepared

After each ACK, cwnd, ssthresh and the pacing rate have to be the same to the last unit, and the ACKs at the same times.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

import tailback
from conformance.page import DOCS, rows, write_tables
from tailback.kernel import find_headers

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENT = ROOT / "experiments" / "cc" / "modules.yaml"
PAGE = DOCS / "modules.md"
TABLE = "modules"
VALUES = ("t", "snd_cwnd", "snd_ssthresh", "pacing_rate")

CONTROLS = (
    "cubic", "bic", "highspeed", "htcp", "hybla", "illinois", "scalable", "westwood", "veno", "vegas", "nv", "yeah",
    "lp", "cdg", "dctcp", "bbr",
)  # fmt: skip
"""The controls with a file `tcp_NAME.c`. Reno is part of `tcp_cong.c`, which is no module."""


@dataclass(frozen=True)
class Agreement:
    """What a comparison on one path found."""

    path: str
    acks: int
    """ACKs after which all values were the same."""
    difference: str | None
    """The first difference."""


def compared(path: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> Agreement:
    """Compares the samples of two runs up to the first difference."""
    one, other = (_values(frame) for frame in (ours, theirs))
    both = min(len(one), len(other))
    same = (one.iloc[:both] == other.iloc[:both]).all(axis=1)
    if same.all():
        ends = None if len(one) == len(other) else f"{len(one)} samples, {len(other)} of the module"
        return Agreement(path, both, ends)
    first = int(same.to_numpy().argmin())
    left, right = one.iloc[first], other.iloc[first]
    what = [f"{name} {left[name]:.12g}, module {right[name]:.12g}" for name in VALUES if left[name] != right[name]]
    return Agreement(path, first, f"at {left['t']:.6f} s: {'; '.join(what)}")


def _values(frame: pd.DataFrame) -> pd.DataFrame:
    """The compared values of the flow; a value that is missing equals itself."""
    own = frame[frame["flow"] == "one"]
    return own[list(VALUES)].astype(float).fillna(-1.0).reset_index(drop=True)


def agreements(name: str, file: Path, settings: Sequence[str]) -> list[Agreement]:
    """Compares our control `name` with a module on all paths."""
    with TemporaryDirectory() as folder:
        found: dict[str, dict[bool, pd.DataFrame]] = {}
        for control, is_module in ((name, False), (f"{{module: {file}}}", True)):
            out = Path(folder) / ("module" if is_module else "ours")
            for run in tailback.run(EXPERIMENT, settings=[f"cc={control}", *settings], out=out).runs:
                found.setdefault(run.axes["path"], {})[is_module] = run.table("tcp_info")
        return [compared(path, both[False], both[True]) for path, both in found.items()]


def table(found: Mapping[str, Iterable[Agreement]]) -> list[str]:
    """One row for each control."""
    body = []
    for name, all_of_it in found.items():
        each = list(all_of_it)
        differences = [f"{one.path}: {one.difference}" for one in each if one.difference]
        same = len(each) - len(differences)
        cells = [f"`{name}`", f"{same} of {len(each)}", f"{sum(one.acks for one in each):,}"]
        body.append([*cells, "<br>".join(differences) or "none"])
    return rows(("module", "paths identical", "ACKs identical", "first differences"), body)


def main() -> None:
    """Compares, and writes the page or prints."""
    parser = argparse.ArgumentParser(prog="python -m conformance.modules")
    parser.add_argument("names", nargs="*", metavar="NAME[=FILE]", help="ours, and the file of the module")
    parser.add_argument("--dir", type=Path, help="the folder of the modules")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="as for tailback run")
    given = parser.parse_args()
    folder = given.dir or find_headers().controls
    found = {}
    for word in given.names or CONTROLS:
        name, _, file = word.partition("=")
        found[name] = agreements(name, folder / (file or f"tcp_{name}.c"), given.settings)
        print("\n".join(table({name: found[name]})[2:]), flush=True)
    if not (given.names or given.settings or given.dir):
        write_tables({TABLE: table(found)}, PAGE)


if __name__ == "__main__":
    main()

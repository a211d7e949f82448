"""Runs the congestion controls of the kernel's own source in the simulator, beside ours, and compares them ACK by ACK.

    python -m conformance.modules                     all of them on all paths; writes the table of docs/modules.md
    python -m conformance.modules cubic bbr           prints the differences of some
    python -m conformance.modules reno=tcp_cong.c     Reno, whose functions are taken from that file
    python -m conformance.modules --headers google bbr3=tcp_bbr.c
                                                      another tree, whose headers `tailback kernel headers` prepared
    python -m conformance.modules cubic --set repeat=10
                                                      with ten seeds on each path

After each ACK, cwnd, ssthresh and the pacing rate have to be the same to the last unit, and the ACKs at the same times.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

import tailback
from conformance.controls import IN_LINUX
from conformance.page import DOCS, rows, write_tables
from tailback.kernel import STOCK, find_headers
from tailback.results import Results, RunResult

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENT = ROOT / "experiments" / "cc" / "modules.yaml"
PAGE = DOCS / "modules.md"
TABLE = "modules"
VALUES = ("t", "snd_cwnd", "snd_ssthresh", "pacing_rate")

CORE = "tcp_cong.c"
"""The file with the functions of Reno. It is no module: it also registers all controls."""

FILES = {"reno": CORE}
"""Files with another name than `tcp_NAME.c`."""

FUNCTIONS = ("tcp_slow_start", "tcp_cong_avoid_ai", "tcp_reno_cong_avoid", "tcp_reno_ssthresh", "tcp_reno_undo_cwnd")

MODULE = """\
#include <linux/module.h>
#include <net/tcp.h>

{functions}

static struct tcp_congestion_ops witness = {{
	.ssthresh = witness_tcp_reno_ssthresh,
	.cong_avoid = witness_tcp_reno_cong_avoid,
	.undo_cwnd = witness_tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "witness",
}};

static int __init witness_register(void)
{{
	return tcp_register_congestion_control(&witness);
}}

module_init(witness_register);
MODULE_LICENSE("GPL");
"""
"""A module around functions of the kernel, which are under other names than those of `kernel/module/glue.c`."""


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


def reno_of(core: str) -> str:
    """A module with the functions of Reno from the text of the kernel's `tcp_cong.c`."""
    found = [re.search(rf"^[\w ]+ {name}\([^{{]*\)\n\{{.*?^\}}", core, re.MULTILINE | re.DOTALL) for name in FUNCTIONS]
    lost = [name for name, match in zip(FUNCTIONS, found, strict=True) if match is None]
    if lost:
        raise ValueError(f"`{CORE}` has no {', '.join(lost)}\n  hint: use a tree from 5.10 to 6.12")
    functions = "\n\n".join(match[0].removeprefix("__bpf_kfunc ") for match in found if match is not None)
    own = re.sub(rf"\b({'|'.join(FUNCTIONS)})\b", r"witness_\1", functions)
    return MODULE.format(functions=re.sub(r"^(?=\w)(?!static)", "static ", own, flags=re.MULTILINE))


def module_of(file: Path, folder: Path) -> Path:
    """The file of a module; for the file with Reno's functions, one that is made of them."""
    if file.name != CORE:
        return file
    made = folder / "tcp_witness.c"
    made.write_text(reno_of(file.read_text(encoding="utf-8")), encoding="utf-8")
    return made


@dataclass(frozen=True)
class Comparison:
    """What runs are compared."""

    experiment: Path = EXPERIMENT
    settings: Sequence[str] = ()
    headers: str | None = None
    """The kernel whose headers modules are compiled with."""


def agreements(name: str, file: Path, on: Comparison) -> list[Agreement]:
    """Compares our control `name` with a module on all paths and with all seeds."""
    compiled_with = [] if on.headers is None else [f"kernel={on.headers}"]
    with TemporaryDirectory() as folder:
        module = f"{{module: {module_of(file, Path(folder))}}}"
        ours = tailback.run(on.experiment, settings=[f"cc={name}", *on.settings], out=Path(folder) / "ours")
        others = [f"cc={module}", *compiled_with, *on.settings]
        theirs = tailback.run(on.experiment, settings=others, out=Path(folder) / "module")
        pairs = _pairs(ours, theirs)
        return [compared(_place(one), one.table("tcp_info"), other.table("tcp_info")) for one, other in pairs]


def _pairs(ours: Results, theirs: Results) -> Iterator[tuple[RunResult, RunResult]]:
    """The runs of the same path and seed."""
    others = {_place(run): run for run in theirs.runs}
    return ((run, others[_place(run)]) for run in ours.runs)


def _place(run: RunResult) -> str:
    """The path of a run, with the number of its repetition after the first."""
    return run.axes["path"] if run.repetition == 1 else f"{run.axes['path']}, repetition {run.repetition}"


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
    parser.add_argument("--headers", metavar="NAME", help="the kernel whose headers the modules need")
    parser.add_argument("--dir", type=Path, help="the folder of the modules; by default that of the headers")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="as for tailback run")
    parser.add_argument("--experiment", type=Path, default=EXPERIMENT, help="the paths; one flow is called `one`")
    given = parser.parse_args()
    on = Comparison(given.experiment, given.settings, given.headers)
    folder = given.dir or find_headers(given.headers or STOCK).controls
    found = {}
    for word in given.names or IN_LINUX:
        name, _, file = word.partition("=")
        found[name] = agreements(name, folder / (file or FILES.get(name, f"tcp_{name}.c")), on)
        print("\n".join(table({name: found[name]})[2:]), flush=True)
    if not (given.names or given.dir) and on == Comparison(settings=[]):
        write_tables({TABLE: table(found)}, PAGE, "python -m conformance.modules")


if __name__ == "__main__":
    main()

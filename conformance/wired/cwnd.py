"""Draws cwnd of each control of the campaign, in the kernel and in the simulator: `docs/pictures/cwnd/CONTROL.svg`.

    python -m conformance.wired.cwnd                       draws the figures from `tests/data/wired/cwnd.parquet`
    python -m conformance.wired.cwnd CAMPAIGN              makes that file from the campaign first

Each figure has two runs of a control and two flows of each run: the kernel's lines are broad and light, the simulator's
thin and dark.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from conformance.wired import golden
from conformance.wired.campaign import read_tables
from conformance.wired.experiment import Experiment
from conformance.wired.simulate import simulated_tables
from tailback.plots import style

FILE = golden.FOLDER / "cwnd.parquet"
PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "cwnd"
UNITS = {"run": "", "t": "s", "flow": "", "snd_cwnd": "segments"}
FLOWS = (0, 1)
COLOURS = (("#9ecae1", "#08519c"), ("#fdae6b", "#a63603"))
SHOWN: Mapping[str, tuple[str, str]] = {
    "reno": ("R10M-pfifo-std-n1", "R10M-fq_codel-std-n4"),
    "cubic": ("R100M-pfifo-std-n1", "R100M-fq_codel-std-n4"),
    "bic": ("R10M-pfifo-std-n4", "R10M-fq_codel-std-n4"),
    "highspeed": ("R10M-pfifo-std-n4", "R100M-fq_codel-std-n4"),
    "hybla": ("R100M-pfifo-std-n4", "R100M-fq_codel-std-n4"),
    "illinois": ("R10M-pfifo-std-n4", "R100M-fq_codel-std-n4"),
    "scalable": ("R100M-pfifo-std-n4", "R100M-fq_codel-std-n4"),
    "westwood": ("R100M-pfifo-std-n4", "R100M-fq_codel-std-n4"),
    "vegas": ("R100M-pfifo-std-n4", "R100M-fq_codel-std-n4"),
    "nv": ("R10M-pfifo-std-n4", "L10M-fq_codel-std-n4"),
    "yeah": ("L100M-pfifo-no-n4", "R100M-fq_codel-std-n4"),
    "bbr": ("R10M-pfifo-std-n1", "R100M-pfifo-std-n4"),
}


def key(control: str, name: str) -> str:
    """The run of a control in the golden table."""
    return f"wired/{control}-{name}"


def extract(campaign: Path) -> None:
    """Writes the file with the kernel's cwnd."""
    tables = [kernel_window(campaign, key(control, name)) for control, names in SHOWN.items() for name in names]
    table = pa.Table.from_pandas(pd.concat(tables), preserve_index=False)
    described = [field.with_metadata({"unit": UNITS[field.name]}) for field in table.schema]
    pq.write_table(table.cast(pa.schema(described)), FILE, compression="zstd")


def kernel_window(campaign: Path, run: str) -> pd.DataFrame:
    """The kernel's cwnd of the flows shown."""
    info = read_tables(campaign / run).tcp_info
    shown = info[info["flow"].isin(FLOWS) & (info["t"] > 0)]
    return shown.assign(run=run, t=shown["t"].round(1))[list(UNITS)]


def simulated_window(experiment: Experiment) -> pd.DataFrame:
    """The cwnd of the run's twin."""
    info = simulated_tables(experiment)[0].tcp_info
    return info[info["flow"].isin(FLOWS) & (info["t"] > 0)]


def draw(control: str, kernel: pd.DataFrame, experiments: Mapping[str, Experiment]) -> Path:
    """The figure of a control."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
    for axis, name in zip(axes, SHOWN[control], strict=True):
        run = key(control, name)
        experiment = experiments[run]
        lay(axis, kernel[kernel["run"] == run], simulated_window(experiment), experiment.duration_s)
        axis.set_title(name, fontsize=9)
    axes[0].set_ylabel(f"cwnd of {control} (segments)")
    path = PICTURES / f"{control}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return path


def lay(axis: Axes, kernel: pd.DataFrame, simulator: pd.DataFrame, end_s: float) -> None:
    """Draws the simulator's lines over the kernel's."""
    for side, (table, width) in enumerate(((kernel, 3.2), (simulator, 0.9))):
        for flow, samples in table[table["t"] < end_s].groupby("flow"):
            colour = COLOURS[int(str(flow))][side]
            line = style.LINES[int(str(flow)) if side else 0]
            axis.plot(samples["t"], samples["snd_cwnd"], color=colour, linewidth=width, linestyle=line)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("Time (s)")


def main() -> None:
    """Draws the figures; first extracts their data if the folder of the campaign is given."""
    if len(sys.argv) > 1:
        extract(Path(sys.argv[1]))
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "tailback", "svg.fonttype": "none", "font.size": 8})
    kernel = pd.read_parquet(FILE)
    experiments = {run.experiment.key: run.experiment for run in golden.read_runs()}
    for control in SHOWN:
        print(draw(control, kernel, experiments))


if __name__ == "__main__":
    main()

"""The congestion windows of a kernel's runs, stored for the figures of docs/congestion-controls.md."""

from __future__ import annotations

import pandas as pd
import pytest

from conformance.wired import cwnd, golden


@pytest.fixture(scope="module")
def kernel() -> pd.DataFrame:
    return pd.read_parquet(cwnd.FILE)


def test_every_control_of_the_campaign_has_its_two_runs_and_its_figure(kernel: pd.DataFrame) -> None:
    controls = {run.experiment.cc for run in golden.read_runs()}
    assert set(cwnd.SHOWN) == controls
    assert set(kernel["run"]) == {cwnd.key(control, name) for control, names in cwnd.SHOWN.items() for name in names}
    assert all((cwnd.PICTURES / f"{control}.svg").is_file() for control in controls)


@pytest.mark.parametrize("run", ["wired/cubic-R100M-pfifo-std-n1", "wired/bic-R10M-pfifo-std-n4"])
def test_the_congestion_window_of_the_simulator_follows_that_of_the_kernel(kernel: pd.DataFrame, run: str) -> None:
    experiment = next(found.experiment for found in golden.read_runs() if found.experiment.key == run)
    ours = cwnd.simulated_window(experiment)
    sides = [
        table.assign(t=table["t"].round(1)).set_index(["flow", "t"])["snd_cwnd"]
        for table in (kernel[kernel["run"] == run], ours)
    ]
    theirs, own = sides[0].align(sides[1], join="inner")
    assert len(theirs) > 250
    assert ((own - theirs).abs() <= (0.02 * theirs).clip(lower=2)).mean() > 0.97

"""Imports captures as a results folder: one file, or two from both ends of a path (the sender's first).

Tables: `flows` (acknowledged bytes in bins of 100 ms), `ping`, and of two files `one_way_delay` and `passive_rtt`.
Flows are named by their addresses and ports. The measurement window is the whole capture.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from tailback import _core
from tailback.analysis import Measure, Window, passive, summarise
from tailback.formats.errors import NotReadable
from tailback.formats.pcap.frames import MAX_BYTES
from tailback.formats.pcap.packets import packets
from tailback.limits import open_regular
from tailback.resolved import Observed, Record, Scenario
from tailback.results import ExperimentPlan, RunPlan, claim, run_name
from tailback.results.provenance import utc_now
from tailback.results.store import Finished

BIN_NS = 100_000_000
MAX_BINS = 10_000_000
UNITS = {"t": "s", "bytes": "B", "rtt_ms": "ms", "owd_ms": "ms"}

Frames = dict[str, pd.DataFrame]


def import_files(files: Sequence[Path], folder: Path, axes: Mapping[str, str]) -> Path:
    """Imports one or two captures as the results folder `folder`; returns it. Raises `NotReadable`."""
    if not 1 <= len(files) <= 2:
        raise NotReadable(f"{len(files)} captures\n  hint: give one, or two of the same traffic: the sender's first")
    tables = [packets(file).table for file in files]
    start = min(int(table["t_ns"].iloc[0]) for table in tables[:1])
    frames = _frames(tables, start)
    run, measure = _plan(files, frames, axes)
    plan = ExperimentPlan(run.scenario.title, f"# imported captures\ntitle: {run.scenario.title}\n", (), "pcap", [run])
    sent_again = passive.retransmissions(tables[0])
    summary = summarise(frames, {}, measure) | ({"retransmits": sum(sent_again.values())} if sent_again else {})
    with claim(folder, plan) as store:
        if store.complete(run) is None:
            written = {name: _table(frame) for name, frame in frames.items()}
            store.write(run, Finished(written, summary, {}, utc_now(), 0.0))
    return folder


def _frames(tables: Sequence[pd.DataFrame], start: int) -> Frames:
    here = tables[0]
    found = {"flows": _binned(passive.goodput(here, start)), "ping": passive.pings(here, start)}
    if len(tables) == 2:
        found["one_way_delay"] = _seconds(passive.one_way_delay(*tables), start)
        found["passive_rtt"] = _seconds(passive.passive_rtt(*tables), start)
        if not len(found["passive_rtt"]) and not len(found["one_way_delay"]):
            raise NotReadable("the two captures have no packet in common\n  hint: they must be of the same traffic")
    return {name: frame for name, frame in found.items() if len(frame)}


def _binned(flows: pd.DataFrame) -> pd.DataFrame:
    """Bytes per bin, with the end of the bin."""
    places = np.floor(flows["t"].to_numpy(dtype=np.float64) * 1e9 / BIN_NS).astype(np.int64)
    if len(places) and places.max() > MAX_BINS:
        raise NotReadable(f"the capture spans {flows['t'].max():.0f} s\n  hint: its times are wrong")
    sums = flows.groupby(["flow", places], sort=True)["bytes"].sum().rename("bytes").reset_index()
    sums.columns = pd.Index(["flow", "bin", "bytes"])
    ends = np.round((sums["bin"].to_numpy() + 1) * BIN_NS / 1e9, 9)
    table = pd.DataFrame({"t": ends, "flow": sums["flow"], "bytes": sums["bytes"].astype(np.int64)})
    return table.sort_values(["t", "flow"], kind="stable").reset_index(drop=True)


def _seconds(table: pd.DataFrame, start: int) -> pd.DataFrame:
    timed = table.assign(t=(table["t_ns"] - start) / 1e9).drop(columns="t_ns")
    return timed[["t", *(name for name in timed if name != "t")]].sort_values("t", kind="stable").reset_index(drop=True)


def _plan(files: Sequence[Path], frames: Frames, axes: Mapping[str, str]) -> tuple[RunPlan, Measure]:
    if not frames:
        raise NotReadable(f"`{files[0]}` has neither data nor pings\n  hint: it must hold the traffic to be measured")
    flows = [str(name) for name in frames["flows"]["flow"].unique()] if "flows" in frames else []
    last = max(float(frame["t"].max()) for frame in frames.values())
    end = int(np.ceil(last * 1e9 / BIN_NS) + 1) * BIN_NS
    pings = [str(name) for name in (frames["ping"]["ping"].unique() if "ping" in frames else [])]
    traffic = [Observed(kind="tcp", name=name) for name in flows] + [Observed(kind="ping", name=name) for name in pings]
    title = " and ".join(file.name for file in files)
    record = Record(interval_ns=BIN_NS, tcp_info="interval", events=False)
    scenario = Scenario(title=title, seed=0, duration_ns=end, traffic=tuple(traffic), record=record)
    run = RunPlan(run_name(axes, 1, scenario), axes, 1, 0, scenario, _build(files), (0, end), {})
    # The network is unknown; a capture is made where flows share a link.
    return run, Measure(Window(0, end), BIN_NS, tuple(flows), (), {}, (tuple(flows),))


def _build(files: Sequence[Path]) -> str:
    """The fingerprint of the results: a digest of the files."""
    digest = hashlib.sha256()
    for file in files:
        with open_regular(file, MAX_BYTES) as stream:
            for piece in stream.pieces():
                digest.update(piece)
    return digest.hexdigest()[:16]


def _table(frame: pd.DataFrame) -> _core.Table:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    fields = [
        field.with_metadata({"unit": UNITS[field.name]} if field.name in UNITS else None) for field in table.schema
    ]
    return _core.Table.of_arrow(table.cast(pa.schema(fields)))

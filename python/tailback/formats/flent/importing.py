"""Imports Flent files as a results folder, so that figures can combine data of a testbed and of simulations.

TCP throughput (samples of any length) is converted to bytes in bins of the file's step, socket rows to `tcp_info`,
pings to `ping`, qdisc rows to `qdisc`. Time begins at the first sample. The measurement window is the load: Flent's
`LENGTH` after its five idle seconds, or the time span of the flows if that is unknown. A file exported by Tailback gets
its axes, flow names and repetition back; other files have the axis `title`, and files with the same title are
repetitions.
"""

import datetime
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from tailback import columns
from tailback.analysis import Measure, Window, summarise
from tailback.formats.errors import NotReadable
from tailback.formats.flent.reader import FlentFile, Row, content, parse
from tailback.resolved import NamedControl, Observed, Record, Scenario
from tailback.results import ExperimentPlan, RunPlan, claim, run_name
from tailback.results.provenance import utc_now
from tailback.results.store import Finished

FLOW = re.compile(r"(TCP|UDP) (upload|download)(?:(?:::| )(.+))?")
KINDS: Mapping[str, Literal["tcp", "udp"]] = {"TCP": "tcp", "UDP": "udp"}
COMPUTED = re.compile(r".*\b(avg|sum|fairness)$")
PING = re.compile(r"Ping \(ms\)(?:::| )?(.*)")
QDISC = "qdisc_stats_"
REST_S = 5.0
MAX_BINS = 20_000_000
"""Maximum number of bins of all flows of a file: a day of 40 flows, about 1 GB."""
MAX_OVER = 10
"""Maximum mean number of samples of a series that overlap with a bin; samples of one flow should not overlap."""
LARGEST = 1e12
LONGEST_S = 1e7

SOCKET = {
    "tcp_cwnd": ("snd_cwnd", "segments", 1.0),
    "tcp_rtt": ("rtt", "µs", 1e3),
    "tcp_rtt_var": ("rttvar", "µs", 1e3),
    "tcp_pacing_rate": ("pacing_rate", "B/s", 1e6 / 8),
    "tcp_delivery_rate": ("delivery_rate", "B/s", 1e6 / 8),
}
"""Our columns of socket rows, with unit and conversion factor."""

Frames = dict[str, pd.DataFrame]

UNITS = {
    "t": "s", "bytes": "B", "rtt_ms": "ms", "backlog_bytes": "B", "sent_bytes": "B",
    **{ours: unit for ours, unit, _ in SOCKET.values()},
}  # fmt: skip


@dataclass(frozen=True)
class Imported:
    """One file as a run."""

    plan: RunPlan
    frames: Frames
    measure: Measure


def import_files(files: Sequence[Path], folder: Path, axes: Mapping[str, str]) -> Path:
    """Imports `files` as the results folder `folder`, with additional `axes`; returns the folder."""
    seen: dict[tuple[str, ...], int] = {}
    runs = []
    for file in files:
        held = content(file)
        found = parse(held, file)
        places = {**_axes(found, file), **axes}
        repetition = seen[tuple(places.values())] = seen.get(tuple(places.values()), 0) + 1
        runs.append(_imported(found, (places, repetition, _build(held)), file))
    title = _first(runs).scenario.title
    source = f"# imported from Flent\ntitle: {title}\n"
    plan = ExperimentPlan(title, source, (), "flent", [run.plan for run in runs])
    with claim(folder, plan) as store:
        for run in runs:
            tables = {name: columns.as_they_are(frame, UNITS) for name, frame in run.frames.items()}
            summary = summarise(run.frames, {}, run.measure)
            if store.complete(run.plan) is None:
                store.write(run.plan, Finished(tables, summary, {}, utc_now(), 0.0))
    return folder


def _first(runs: Sequence[Imported]) -> RunPlan:
    if not runs:
        raise NotReadable("no file to import\n  hint: give one or more .flent.gz files")
    return runs[0].plan


def _axes(found: FlentFile, file: Path) -> dict[str, str]:
    ours = _ours(found)
    if ours is not None:
        return {str(axis): str(value) for axis, value in ours["manifest"]["axes"].items()}
    title = found.metadata.get("TITLE") or found.metadata.get("NAME") or file.name.split(".")[0]
    return {"title": str(title)}


def _ours(found: FlentFile) -> Mapping[str, Any] | None:
    """The data that `tailback export` has added to the file; `None` if it is from Flent, or was changed."""
    held = found.metadata.get("TAILBACK")
    if not isinstance(held, dict) or not isinstance(held.get("series"), dict):
        return None
    manifest = held.get("manifest")
    return held if isinstance(manifest, dict) and isinstance(manifest.get("axes"), dict) else None


def _imported(found: FlentFile, place: tuple[Mapping[str, str], int, str], file: Path) -> Imported:
    axes, repetition, build = place
    start = _start(found, file)
    last = max(float(row["t"]) for rows in found.raw_values.values() for row in rows)
    if not last - start < LONGEST_S:
        raise NotReadable(f"`{file}` spans {last - start:.3g} s\n  hint: its times are wrong")
    step = _step(found)
    names = _names(found)
    flows = sum(FLOW.fullmatch(series) is not None for series in names)
    if flows * (last - start) / step > MAX_BINS:
        what = f"{flows} flows over {last - start:.0f} s in steps of {step:g} s"
        raise NotReadable(f"`{file}` has {what}, which is too much\n  hint: the times in it are wrong")
    frames = _frames(found, (names, start, step))
    if not frames:
        raise NotReadable(f"`{file}` has neither TCP nor UDP flows nor pings\n  hint: only these can be imported")
    traffic = _traffic(found, names)
    duration = max(float(frame["t"].max()) for frame in frames.values()) + step
    scenario = Scenario(
        title=str(found.metadata.get("NOTE") or found.metadata.get("NAME") or file.name),
        seed=0,
        duration_ns=int(duration * 1e9),
        traffic=tuple(traffic),
        record=Record(interval_ns=int(step * 1e9), tcp_info="interval", events=False),
        imported=file.name,
    )
    directions = {each.name: each.way for each in traffic if each.way}
    window = _window(found, frames, step)
    plan = RunPlan(run_name(axes, repetition, scenario), axes, repetition, 0, scenario, build, window, directions)
    tcp = tuple(each.name for each in traffic if each.kind == "tcp")
    other = tuple(each.name for each in traffic if each.kind == "udp")
    # The network is unknown; in Flent's tests all flows of one direction share a path.
    competing = tuple(tuple(flow for flow in tcp if directions.get(flow) == way) for way in ("up", "down"))
    return Imported(plan, frames, Measure(Window(*window), int(step * 1e9), tcp, other, directions, competing))


def _build(held: bytes) -> str:
    """The fingerprint of the results: a digest of the file."""
    return hashlib.sha256(held).hexdigest()[:16]


def _start(found: FlentFile, file: Path) -> float:
    """The time of the first sample."""
    first = [float(row["t"]) for rows in found.raw_values.values() for row in rows]
    if not first:
        raise NotReadable(
            f"`{file}` has no samples\n  hint: its run may have failed; look at it with `flent -f summary`"
        )
    t0 = _moment(found.metadata.get("T0"))
    # Files exported by Tailback begin at x = 0, which may be before the first sample.
    return t0 if t0 is not None and 0 <= min(first) - t0 < 2 * REST_S else min(first)


def _moment(text: Any) -> float | None:
    try:
        return datetime.datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None


def _step(found: FlentFile) -> float:
    step = found.metadata.get("STEP_SIZE")
    return float(step) if isinstance(step, int | float) and 1e-3 <= step <= 60 else 0.2


def _names(found: FlentFile) -> dict[str, str]:
    """Our name of each series that is a flow or a ping."""
    ours = _ours(found)
    given = {str(series): str(flow) for flow, series in ours["series"].items()} if ours else {}
    names = {}
    for series in found.raw_values:
        flow, ping = FLOW.fullmatch(series), PING.fullmatch(series)
        if COMPUTED.fullmatch(series):
            continue
        if flow:
            names[series] = given.get(series) or f"{flow[2]}.{flow[3]}".removesuffix(".None")
        elif ping:
            names[series] = given.get(series) or (f"ping {ping[1]}".strip() if ping[1] not in ("", "ICMP") else "ping")
    return names


def _traffic(found: FlentFile, names: Mapping[str, str]) -> list[Observed]:
    entries = []
    for series, name in names.items():
        flow = FLOW.fullmatch(series)
        kind = KINDS[flow[1]] if flow else "ping"
        way = {"upload": "up", "download": "down"}[flow[2]] if flow else ""
        meta = found.metadata.get("SERIES_META")
        control = (
            meta.get(series, {}).get("CONG_CONTROL")
            if isinstance(meta, dict) and isinstance(meta.get(series), dict)
            else None
        )
        cc = NamedControl(name=str(control)) if control else None
        entries.append(Observed(kind=kind, name=name, way=way, cc=cc))
    return entries


def _frames(found: FlentFile, reading: tuple[Mapping[str, str], float, float]) -> Frames:
    names, start, step = reading
    flows, sockets, pings, queues = [], [], [], []
    for series, rows in found.raw_values.items():
        if series in names and FLOW.fullmatch(series):
            flows.append(_flow(names[series], rows, (start, step)))
            sockets.append(_socket(names[series], rows, start))
        elif series in names:
            pings.append(_ping(names[series], rows, start))
        elif series.startswith(QDISC):
            queues.append(_queue(series.removeprefix(QDISC), rows, start))
    parts = {"flows": flows, "tcp_info": sockets, "ping": pings, "qdisc": queues}
    joined = {name: pd.concat(each, ignore_index=True) for name, each in parts.items() if each}
    kept = {name: table.sort_values("t", kind="stable").reset_index(drop=True) for name, table in joined.items()}
    return {name: table for name, table in kept.items() if len(table)}


def _no_giant(value: object) -> object:
    """The value, unless it is a whole number that no float holds."""
    return None if isinstance(value, int) and abs(value) > LARGEST else value


def _numbers(rows: Sequence[Row], keys: Sequence[str]) -> pd.DataFrame:
    """The rows that have a number for the first key; others of `keys` may be missing."""
    known = [
        row for row in rows if isinstance(row.get(keys[0]), int | float) and not isinstance(row.get(keys[0]), bool)
    ]
    columns = ["t", *keys]
    table = pd.DataFrame([{key: _no_giant(row.get(key)) for key in columns} for row in known], columns=columns)
    numbers: pd.DataFrame = table.apply(pd.to_numeric, errors="coerce").astype(np.float64)
    # Larger than any measurement; such numbers would overflow our units.
    return numbers.where(numbers.abs() < LARGEST).dropna(subset=["t", keys[0]])


def _flow(name: str, rows: Sequence[Row], reading: tuple[float, float]) -> pd.DataFrame:
    """Bytes per bin."""
    start, step = reading
    table = _numbers(rows, ("val", "dur")).sort_values("t", kind="stable")
    ends = table["t"].to_numpy() - start
    lasted = np.where(
        np.isfinite(table["dur"]) & (table["dur"] > 0), table["dur"], np.diff(ends, prepend=ends[:1] - step)
    )
    lasted = np.maximum(lasted, 1e-9)
    bins = int(np.ceil(ends.max(initial=0.0) / step - 1e-6))
    edges = np.arange(bins + 1) * step
    received = table["val"].to_numpy() * 1e6 / 8 * lasted
    binned = np.zeros(bins)
    lows = np.clip((ends - lasted) // step, 0, bins).astype(np.int64)
    highs = np.clip(np.ceil(ends / step), 0, bins).astype(np.int64)
    if int((highs - lows).sum()) > MAX_OVER * (bins + len(ends)):
        raise NotReadable(
            "the samples of a series last longer than it does\n  hint: the durations in the file are wrong"
        )
    for begin, end, volume, low, high in zip(ends - lasted, ends, received, lows, highs, strict=True):
        overlap = np.clip(np.minimum(edges[low + 1 : high + 1], end) - np.maximum(edges[low:high], begin), 0, None)
        binned[low:high] += volume * overlap / max(end - begin, 1e-9)
    whole = np.rint(np.cumsum(np.maximum(binned, 0))).astype(np.int64)
    counts = np.diff(whole, prepend=0)
    there = counts > 0
    return pd.DataFrame({"t": np.round(edges[1:][there], 9), "flow": name, "bytes": counts[there]})


def _socket(name: str, rows: Sequence[Row], start: float) -> pd.DataFrame:
    table = _numbers(rows, ("tcp_cwnd", *(key for key in SOCKET if key != "tcp_cwnd")))
    found = pd.DataFrame({"t": table["t"] - start, "flow": name})
    for theirs, (ours, _, unit) in SOCKET.items():
        found[ours] = table[theirs] * unit
    return found


def _ping(name: str, rows: Sequence[Row], start: float) -> pd.DataFrame:
    """The pings, at the time of the request; gaps in `seq` are lost ones."""
    table = _numbers(rows, ("val", "seq"))
    sent = table["t"] - start - table["val"] / 1e3
    found = pd.DataFrame(
        {"t": sent.clip(0, LONGEST_S), "ping": name, "seq": table["seq"], "rtt_ms": table["val"].clip(0, LARGEST)}
    )
    return found.assign(seq=found["seq"].fillna(pd.Series(np.arange(len(found)), dtype=np.float64)))


def _queue(host: str, rows: Sequence[Row], start: float) -> pd.DataFrame:
    table = _numbers(rows, ("backlog_bytes", "backlog_pkts", "sent_bytes", "sent_pkts", "dropped", "ecn_mark"))
    device = host.replace("-to-", " -> ")
    return pd.DataFrame(
        {"t": table["t"] - start, "device": device, "kind": "", "depth": 0, "backlog_bytes": table["backlog_bytes"],
         "backlog_packets": table["backlog_pkts"],
         "sent_bytes": table["sent_bytes"], "sent_packets": table["sent_pkts"],
         "dropped": table["dropped"].cumsum(), "marked": table["ecn_mark"].cumsum()}
    )  # fmt: skip


def _window(found: FlentFile, frames: Frames, step: float) -> tuple[int, int]:
    """The time of the load: `LENGTH` after five idle seconds, if consistent with the flows; else their time span."""
    table = frames.get("flows", next(iter(frames.values())))
    first, last = max(0.0, float(table["t"].min()) - step), float(table["t"].max())
    length = found.metadata.get("LENGTH")
    if isinstance(length, int | float) and 0 < length <= last - REST_S + step and first >= REST_S / 2:
        return int(REST_S * 1e9), int((REST_S + length) * 1e9)
    return int(first * 1e9), max(int(last * 1e9), int((first + step) * 1e9))

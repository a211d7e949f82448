"""Imports captures as a results folder: one file, or two from both ends of a path (the sender's first).

Tables: `flows` (acknowledged bytes in bins of 100 ms), `ping`, `tcp_info` (RTT from ACKs, if the sender made the
capture), and of two files `one_way_delay` and `passive_rtt`. Flows are named by their addresses and ports.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tailback import columns
from tailback.analysis import Measure, Window, acks, passive, summarise
from tailback.analysis.acks import Samples
from tailback.analysis.conversations import ACK, SYN, Conversations, conversations
from tailback.formats.errors import NotReadable
from tailback.formats.pcap import choosing, tables
from tailback.formats.pcap.choosing import Choice, Found
from tailback.formats.pcap.frames import MAX_BYTES
from tailback.formats.pcap.packets import packets
from tailback.formats.pcap.report import Captured, Row
from tailback.formats.pcap.tables import BIN_NS, Frames
from tailback.formats.pcap.tap import Tap, forwarding, one_tap, positions
from tailback.limits import open_regular
from tailback.resolved import Observed, Record, Scenario
from tailback.results import ExperimentPlan, RunPlan, claim, run_name
from tailback.results.provenance import utc_now
from tailback.results.store import Finished

MAX_DIRECTIONS = 2_000_000
"""Of the connections of a capture."""

UNITS = {
    "t": "s",
    "bytes": "B",
    "rtt_ms": "ms",
    "owd_ms": "ms",
    "rtt": "µs",
    "min_rtt": "µs",
    "total_retrans": "segments",
}

ALL = Choice()


@dataclass(frozen=True, eq=False)
class _Capture:
    """The packets of the first file, and those of all files as tables."""

    files: Sequence[Path]
    tables: Sequence[pd.DataFrame]
    found: Found
    others: Mapping[str, int]

    @property
    def span_ns(self) -> tuple[int, int]:
        """The first and the last packet of the first file."""
        t_ns = self.tables[0]["t_ns"]
        return int(t_ns.iloc[0]), int(t_ns.iloc[-1])


def import_files(files: Sequence[Path], folder: Path, axes: Mapping[str, str]) -> Path:
    """Imports one or two captures as the results folder `folder`; returns it. Raises `NotReadable`."""
    return import_captures(files, folder, axes).folder


def import_captures(files: Sequence[Path], folder: Path, axes: Mapping[str, str], choice: Choice = ALL) -> Captured:
    """As `import_files`, of chosen flows and times; returns what was found and taken."""
    if not 1 <= len(files) <= 2:
        raise NotReadable(f"{len(files)} captures\n  hint: give one, or two of the same traffic: the sender's first")
    capture = _read(files)
    choosing.chosen(capture.found, choice)
    frames = _frames(capture)
    if not frames:
        raise NotReadable(f"`{files[0]}` has neither data nor pings\n  hint: it must hold the traffic to be measured")
    window, window_is = choosing.window(capture.found, choice.window_ns, capture.span_ns)
    run, measure = _plan(capture, frames, axes, window)
    report = _report(capture, folder, window, window_is)
    plan = ExperimentPlan(run.scenario.title, f"# imported captures\ntitle: {run.scenario.title}\n", (), "pcap", [run])
    summary = summarise(frames, {}, measure) | {"capture": report.summary()}
    said = [*summary.get("warnings", ()), *report.warnings()]
    summary |= {"warnings": said} if said else {}
    with claim(folder, plan) as store:
        if store.complete(run) is None:
            written = {name: columns.as_they_are(frame, UNITS) for name, frame in frames.items()}
            store.write(run, Finished(written, summary, {}, utc_now(), 0.0))
    return report


def _read(files: Sequence[Path]) -> _Capture:
    read = [packets(file) for file in files]
    single = [one_tap(each.table) for each in read]
    forwards = len(single[0]) < len(read[0].table)
    found = _found(conversations(single[0]), forwards=forwards)
    if forwards:
        found.notes.append("captured on several interfaces: each packet counts once")
    return _Capture(files, single, found, read[0].others)


def _found(own: Conversations, *, forwards: bool) -> Found:
    if len(own) > MAX_DIRECTIONS:
        what = f"the capture has more than {MAX_DIRECTIONS // 2:,} connections"
        raise NotReadable(f"{what}\n  hint: `tshark -Y` or `editcap` make a smaller one")
    acked, passed = acks.acknowledged(own), acks.seen(own)
    acked = acked.of(np.arange(len(own)))
    of_acked = np.bincount(acked.directions, weights=acked.values, minlength=len(own)).astype(np.int64)
    alone = passed.of(np.flatnonzero(of_acked == 0))
    data = Samples(
        *(np.concatenate([getattr(acked, name), getattr(alone, name)]) for name in ("rows", "directions", "values"))
    )
    totals = np.bincount(data.directions, weights=data.values, minlength=len(own)).astype(np.int64)
    begins, ends = np.full(len(own), np.iinfo(np.int64).max), np.zeros(len(own), dtype=np.int64)
    for samples in (passed, data):
        np.minimum.at(begins, samples.directions, own.t_ns[samples.rows])
        np.maximum.at(ends, samples.directions, own.t_ns[samples.rows])
    trips = acks.round_trips(own)
    where = forwarding(len(own)) if forwards else positions(own, trips)
    again = acks.sent_again(own)
    return Found(own, data, where, totals, begins, ends, [""] * len(own), trips, again, forwards)


def _frames(capture: _Capture) -> Frames:
    here, found, start = capture.tables[0], capture.found, capture.span_ns[0]
    pings, told = tables.pings(here, found, start)
    found.notes.extend(told)
    frames = {"flows": tables.flows(found, start), "tcp_info": tables.tcp_info(found, start), "ping": pings}
    if len(capture.tables) == 2:
        frames |= _of_both(capture, start)
    return {name: frame for name, frame in frames.items() if len(frame)}


def _of_both(capture: _Capture, start: int) -> Frames:
    """One-way delay and passive RTT of the taken flows."""
    delays = passive.one_way_delay(*capture.tables)
    trips = passive.passive_rtt(*capture.tables)
    if not len(trips) and not len(delays):
        raise NotReadable("the two captures have no packet in common\n  hint: they must be of the same traffic")
    taken = {capture.found.packets.names[each].partition(" (")[0] for each in capture.found.taken}
    if taken:
        delays, trips = (each[each["flow"].isin(taken | {_turned(name) for name in taken})] for each in (delays, trips))
    return {"one_way_delay": _seconds(delays, start), "passive_rtt": _seconds(trips, start)}


def _turned(name: str) -> str:
    source, _, target = name.partition(" > ")
    return f"{target} > {source}"


def _seconds(table: pd.DataFrame, start: int) -> pd.DataFrame:
    timed = table.assign(t=(table["t_ns"] - start) / 1e9).drop(columns="t_ns")
    return timed[["t", *(name for name in timed if name != "t")]].sort_values("t", kind="stable").reset_index(drop=True)


def _plan(
    capture: _Capture, frames: Frames, axes: Mapping[str, str], window: tuple[int, int]
) -> tuple[RunPlan, Measure]:
    found, files = capture.found, capture.files
    taken = found.taken.tolist()
    ways = _ways(found.packets)
    kinds = ["tcp" if found.packets.tcp[each] else "udp" for each in taken]
    traffic = [
        Observed(kind=kind, name=found.packets.names[each], way=ways[each])  # type: ignore[arg-type]
        for kind, each in zip(kinds, taken, strict=True)
    ]
    pings = [str(name) for name in (frames["ping"]["ping"].unique() if "ping" in frames else [])]
    traffic += [Observed(kind="ping", name=name, way="") for name in pings]
    title = " and ".join(file.name for file in files)
    last = max(float(frame["t"].max()) for frame in frames.values())
    end = max(int(np.ceil(last * 1e9 / BIN_NS) + 1) * BIN_NS, window[1])
    record = Record(interval_ns=BIN_NS, tcp_info="interval", events=False)
    scenario = Scenario(title=title, seed=0, duration_ns=end, traffic=tuple(traffic), record=record, imported=title)
    directions = {each.name: each.way for each in traffic if each.way}
    build = _build(files, repr((sorted(taken), window)))
    run = RunPlan(run_name(axes, 1, scenario), axes, 1, 0, scenario, build, window, directions)
    tcp = tuple(each.name for each in traffic if each.kind == "tcp")
    other = tuple(each.name for each in traffic if each.kind == "udp")
    # The network is unknown; a capture is made where the flows of one direction share a link.
    competing = tuple(tuple(flow for flow in tcp if directions.get(flow, "") == way) for way in ("up", "down", ""))
    return run, Measure(Window(*window), BIN_NS, tcp, other, directions, competing)


def _ways(own: Conversations) -> list[str | None]:
    """`up` from the side that opened the connection; by the SYN, else the lower port is the server's."""
    flags, first = own.columns["flags"], own.first
    opening = np.zeros(len(own), dtype=np.int64)
    syn = np.flatnonzero((flags & SYN) > 0)
    opening[own.code[syn]] = np.where((flags[syn] & ACK) > 0, -1, 1)
    other = np.append(opening, 0)[own.back]
    by_syn = np.where(opening != 0, opening, -other) * own.tcp
    by_port = np.sign(own.columns["sport"][first] - own.columns["dport"][first])
    return [{1: "up", -1: "down"}.get(int(way)) for way in np.where(by_syn != 0, by_syn, by_port)]


def _report(capture: _Capture, folder: Path, window: tuple[int, int], window_is: str) -> Captured:
    found = capture.found
    start = capture.span_ns[0]
    middle = _medians(found)
    again = np.bincount(found.again.directions, weights=found.again.values, minlength=len(found.packets))
    rows = [
        Row(
            flow=found.packets.names[each],
            bytes=int(found.totals[each]),
            begins_s=(int(found.begins_ns[each]) - start) / 1e9 if found.totals[each] else None,
            ends_s=(int(found.ends_ns[each]) - start) / 1e9 if found.totals[each] else None,
            reason=found.reasons[each],
            tap=found.positions.taps[each],
            ground=found.positions.grounds[each],
            to_ack_ms=middle.get(each),
            seen_again=int(again[each]) if found.packets.tcp[each] else None,
        )
        for each in np.argsort(-found.totals, kind="stable").tolist()
    ]
    notes = [*found.notes, *_remarks(capture)]
    span = (capture.span_ns[1] - start) / 1e9
    return Captured(folder, span, (window[0] / 1e9, window[1] / 1e9), window_is, rows, notes, capture.others)


def _medians(found: Found) -> dict[int, float]:
    """The median time from data to its ACK in ms."""
    trips = found.trips.of(np.flatnonzero(found.totals > 0))
    if not len(trips.rows):
        return {}
    medians = pd.Series(trips.values / 1e6).groupby(trips.directions).median()
    return {int(each): float(value) for each, value in medians.items()}  # type: ignore[call-overload]


def _remarks(capture: _Capture) -> list[str]:
    """What the capture cannot tell."""
    found = capture.found
    told = []
    taken = [found.positions.taps[each] for each in found.taken if found.packets.tcp[each]]
    if taken and Tap.SENDER not in taken:
        place = "between the ends" if Tap.MIDDLE in taken else "at the receiver" if Tap.RECEIVER in taken else "unknown"
        what = "the RTT and the retransmissions are absent: they are seen at the sender of the data"
        told.append(
            f"the place of the capture is {place}: {what}" if place == "unknown" else f"captured {place}: {what}"
        )
    elif Tap.SENDER in taken:
        told.append("TCP RTT is from the sender's card to the ACK: a queue in the sender itself is not in it")
    udp = [found.packets.names[each] for each in found.taken if not found.packets.tcp[each]]
    if udp:
        told.append(
            f"UDP counts as goodput what passed the capture ({len(udp)} {'flow' if len(udp) == 1 else 'flows'})"
        )
    alone = [each for each in found.taken if found.packets.tcp[each] and found.packets.back[each] < 0]
    if alone:
        told.append(f"{len(alone)} TCP flows have no ACKs in the capture: their data counts as it passed")
    late = _without_syn(found)
    if late:
        told.append(f"{late} of {len(found.taken)} flows have no SYN in the capture: it began later")
    if len(capture.tables) == 2:
        told += _of_clocks(capture)
    return told


def _without_syn(found: Found) -> int:
    own = found.packets
    opened = np.zeros(len(own) + 1, dtype=bool)
    opened[own.code[(own.columns["flags"] & SYN) > 0]] = True
    opened[-1] = False
    taken = found.taken[own.tcp[found.taken]]
    return int((~opened[taken] & ~opened[own.back[taken]]).sum())


def _of_clocks(capture: _Capture) -> list[str]:
    """What two captures say of each other's clocks and places."""
    told = []
    least = passive.least_delays(*capture.tables)
    if least is not None and min(least) < 0:
        delays = f"{least[0]:.3f} and {least[1]:.3f} ms"
        told.append(f"the clocks differ: the shortest one-way delays are {delays}; only their sum is right")
    places = {capture.found.positions.taps[each] for each in capture.found.taken}
    if places == {Tap.RECEIVER}:
        told.append("the first capture was made at the receiver: give the sender's first, for the RTT from its ACKs")
    return told


def _build(files: Sequence[Path], choice: str) -> str:
    """The fingerprint of the results: a digest of the files, and of what was taken of them."""
    digest = hashlib.sha256()
    for file in files:
        with open_regular(file, MAX_BYTES) as stream:
            for piece in stream.pieces():
                digest.update(piece)
    digest.update(choice.encode())
    return digest.hexdigest()[:16]

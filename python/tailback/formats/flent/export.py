"""Converts a run to a Flent data file.

Most of Flent's tests have five idle seconds before and after the load, which some plots leave out (`DELAY`). So x = 0
is five seconds before the first flow starts, and samples before that or more than five seconds after the load are
left out. `T0` and `t` are the time at which the run was started plus simulated time. The grid is interpolated
linearly between samples, except if the next one is more than five steps away [flent flent/aggregators.py]. Throughput
rows (`val`, `dur`) and socket rows (`tcp_cwnd` ...) share a series, as in Flent's own files. Flent's statistics per
host are used for devices: `client -> router` is the host `client-to-router`. `metadata.TAILBACK` contains the
manifest.
"""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct

from tailback.analysis.active import active
from tailback.analysis.table import Places, Table, Values
from tailback.formats.errors import NotExportable
from tailback.formats.flent import applications
from tailback.formats.flent.air import MEASURES, Air, airs
from tailback.formats.flent.names import TESTS, WITHOUT_IDLE, Named, carries_data, named
from tailback.formats.flent.reader import MAX_VALUES, FlentFile
from tailback.resolved import Observed, Page, Tcp, Traffic
from tailback.results import RunResult
from tailback.results.provenance import tailback_version

__all__ = ["TESTS", "export", "file_name"]

DELAY_S = 5.0
FARTHEST_STEPS = 5
MEGABITS = 8 / 1e6
LONGEST_NAME = 200

SOCKET = {
    "snd_cwnd": ("tcp_cwnd", 1.0),
    "rtt": ("tcp_rtt", 1e-3),
    "rttvar": ("tcp_rtt_var", 1e-3),
    "pacing_rate": ("tcp_pacing_rate", MEGABITS),
    "delivery_rate": ("tcp_delivery_rate", MEGABITS),
    "bbr_bw": ("tcp_bbr_bw", MEGABITS),
    "bbr_min_rtt": ("tcp_bbr_mrtt", 1e-3),
    "bbr_pacing_gain": ("tcp_bbr_pacing_gain", 1.0),
    "bbr_cwnd_gain": ("tcp_bbr_cwnd_gain", 1.0),
}
"""Flent's names of columns of `tcp_info`, and factors to its units."""

QUEUE = {
    "backlog_bytes": "backlog_bytes",
    "backlog_packets": "backlog_pkts",
    "sent_bytes": "sent_bytes",
    "sent_packets": "sent_pkts",
    "overlimits": "overlimits",
    "requeues": "requeues",
}
PER_INTERVAL = {"dropped": "dropped", "marked": "ecn_mark"}

Rows = list[dict[str, Any]]


def file_name(run: RunResult, experiment: str, test: str) -> str:
    """The name of a file, such as `tcp_nup-demo-cubic-off-01.flent.gz`; Flent groups files that differ only in the
    number.
    """
    variant = [_word(axis, value) for axis, value in run.axes.items()]
    stem = "-".join([test, _word("x", experiment), *variant])[:LONGEST_NAME]
    return f"{stem}-{run.repetition:02d}.flent.gz"


def _word(axis: str, value: str) -> str:
    """A label without a suffix that Flent would take for the number of a repetition."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", value).strip("_") or "none"
    return plain if re.fullmatch(r"(?!.*(?:^|_)\d+(?:_|$)).+", plain) else re.sub(r"[^A-Za-z0-9]", "", axis + plain)


def export(run: RunResult, experiment: str, test: str | None = None) -> tuple[str, FlentFile]:
    """The name and content of the file for `run`; raises `NotExportable` if Flent has no such test."""
    directions = run.manifest["measure"]["directions"]
    words = named(run.scenario.traffic, directions, test)
    clock = _Clock(run, words)
    if len(words.series) * len(clock.grid) > MAX_VALUES:
        raise NotExportable(
            f"{len(words.series)} series with a value each {clock.step:g} s are too many for a file of Flent\n"
            "  hint: `export --csv` writes all tables"
        )
    raw = {**_flows(run, words, clock), **_pings(run, words, clock), **_samples(run, words, clock)}
    if not any(raw.values()):
        raise NotExportable(f"`{run.path}` has no samples that Flent could draw\n  hint: it needs a flow or a ping")
    queues = _queues(run, clock)
    found = airs(run, clock.step)
    name = file_name(run, experiment, words.test)
    grid = {
        series: _on_grid(rows, clock)
        for series, rows in {**raw, **_shares(found, clock), **_voice(run, words, clock)}.items()
    }
    metadata = _metadata(run, words, (clock, name, [*_queue_parameters(queues), *_radios(found)]))
    return name, FlentFile(clock.grid, grid, {**raw, **queues, **_stations(found, clock)}, metadata)


class _Clock:
    """Converts times to Flent's: x = 0 is five seconds before the load."""

    def __init__(self, run: RunResult, words: Named) -> None:
        traffic = run.scenario.traffic
        load = [flow for flow in traffic if flow.name in words.series and carries_data(flow)] or traffic
        end = run.scenario.duration_ns
        idle = 0.0 if words.test in WITHOUT_IDLE else DELAY_S
        self.start = min(0 if isinstance(flow, Observed) else flow.start_ns for flow in load) / 1e9 - idle
        self.length = max(_stop(flow, end) for flow in load) / 1e9 - self.start - idle
        self.total = self.length + 2 * idle
        self.step = run.scenario.record.interval_ns / 1e9
        self.began = datetime.datetime.fromisoformat(str(run.manifest["started"])).timestamp()
        self.grid = [round(place * self.step, 9) for place in range(round(self.total / self.step) + 1)]

    def inside(self, t: Values) -> Places:
        """The places of the times (s of the run) in the time of the file, in order of time."""
        x = t - self.start
        places = np.flatnonzero((x >= 0) & (x <= self.total))
        return places[np.argsort(t[places], kind="stable")]

    def stamped(self, columns: "Mapping[str, Any] | pd.DataFrame") -> Rows:
        """Rows of these columns (`t` in time of the run) with absolute times, sorted, without unknown values."""
        values = {str(name): np.asarray(column, dtype=np.float64) for name, column in columns.items()}
        inside = self.inside(values["t"])
        return _rows({**{name: each[inside] for name, each in values.items()}, "t": self.stamps(values["t"][inside])})

    def stamps(self, t: Values) -> Values:
        """Absolute times of times of the run."""
        return np.round(t + self.began, 6)

    def at(self, seconds: float) -> str:
        """A time of the run in Flent's format."""
        moment = datetime.datetime.fromtimestamp(self.began + seconds, datetime.UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _rows(columns: Mapping[str, Values]) -> Rows:
    """The rows of these columns; each lacks the values that are unknown."""
    names = list(columns)
    records = zip(*map(_plain, columns.values()), strict=True)
    return [{name: value for name, value in zip(names, record, strict=True) if value is not None} for record in records]


def _plain(values: Values) -> list[int | float | None]:
    """The values of a series for JSON: whole numbers without a fraction, unknown ones as None."""
    whole = ((values == np.floor(values)) & (np.abs(values) < 1e15)).tolist()
    known = (~np.isnan(values)).tolist()
    numbers = zip(values.tolist(), whole, known, strict=True)
    return [None if not here else int(value) if integer else value for value, integer, here in numbers]


def _table(run: RunResult, name: str, columns: Sequence[str]) -> Table:
    """These columns of a table of the run, without a frame of pandas: a sweep has thousands of tables."""
    return Table.of(run.columns(name, columns))


def _flows(run: RunResult, words: Named, clock: _Clock) -> dict[str, Rows]:
    """The throughput and socket rows of each flow."""
    parts = []
    if run.has("flows"):
        parts.append(_throughput(_table(run, "flows", ("t", "flow", "bytes")), words, clock.step))
    if run.has("tcp_info"):
        parts.append(_sockets(_table(run, "tcp_info", ("t", "flow", *SOCKET)), words))
    rows = _joined(parts)
    inside = clock.inside(rows.t)
    columns = {name: values[inside] for name, values in rows.values.items()}
    flows = [flow.name for flow in run.scenario.traffic if flow.name in words.series and carries_data(flow)]
    found: dict[str, Rows] = {flow: [] for flow in flows}
    stamped = _rows({"t": clock.stamps(rows.t[inside]), **columns})
    for place, row in zip(inside.tolist(), stamped, strict=True):
        flow = rows.flows[place]
        if flow in found:
            found[flow].append(row)
    return {words.series[flow]: each for flow, each in found.items()}


class _OfFlows(Struct, frozen=True):
    """Rows of flows: time of the run and flow of each, and their other columns."""

    t: Values
    flows: list[str]
    values: dict[str, Values]


def _joined(parts: Sequence[_OfFlows]) -> _OfFlows:
    """All rows; the columns that a part lacks are unknown there."""
    names = dict.fromkeys(name for part in parts for name in part.values)
    lacking = [np.full(len(part.t), np.nan) for part in parts]
    return _OfFlows(
        np.concatenate([np.empty(0), *(part.t for part in parts)]),
        [flow for part in parts for flow in part.flows],
        {
            name: np.concatenate([part.values.get(name, unknown) for part, unknown in zip(parts, lacking, strict=True)])
            for name in names
        },
    )


def _throughput(received: Table, words: Named, step: float) -> _OfFlows:
    """Throughput of each flow in Mbit/s per bin; empty bins between the first and the last are 0."""
    theirs = received.where(received.words("flow").among(words.series))
    flow = theirs.words("flow")
    places = np.rint(theirs.numbers("t") / step).astype(np.int64)
    found = active(flow.ranks(), places, theirs.numbers("bytes"))
    names = flow.present()
    values = {"val": found.sums * MEGABITS / step, "dur": np.full(len(found.of), step)}
    times = np.asarray(found.bins * step, dtype=np.float64)
    return _OfFlows(times, [names[number] for number in found.of.tolist()], values)


def _sockets(tcp_info: Table, words: Named) -> _OfFlows:
    """The samples of the sockets of each flow."""
    theirs = tcp_info.where(tcp_info.words("flow").among(words.series))
    columns = {ours: named for ours, named in SOCKET.items() if ours in tcp_info}
    values = {name: theirs.numbers(ours) * unit for ours, (name, unit) in columns.items()}
    return _OfFlows(theirs.numbers("t"), [str(flow) for flow in theirs.words("flow").plain()], values)


def _pings(run: RunResult, words: Named, clock: _Clock) -> dict[str, Rows]:
    """The replies, at the time of their arrival; lost ones are missing in `seq`."""
    if not run.has("ping"):
        return {}
    answered = _table(run, "ping", ("t", "ping", "rtt_ms", "seq")).known("rtt_ms")
    found = {}
    for name, replies in _in_turn(answered, "ping"):
        if name in words.series:
            t, rtt_ms = replies.numbers("t"), replies.numbers("rtt_ms")
            back = {"t": t + rtt_ms / 1e3, "val": rtt_ms, "seq": replies.numbers("seq")}
            found[words.series[name]] = clock.stamped(back)
    return found


def _in_turn(table: Table, by: str) -> Iterator[tuple[str, Table]]:
    """The rows of each name in the column `by`, in the order in which the names first appear."""
    words = table.words(by)
    for code in dict.fromkeys(words.codes.tolist()):
        if code >= 0:
            yield words.known[code], table.where(words.codes == code)


def _samples(run: RunResult, words: Named, clock: _Clock) -> dict[str, Rows]:
    """The datagrams of a call, and the pages."""
    found = {}
    if words.call is not None and run.has("datagrams"):
        found[applications.CALL] = clock.stamped(applications.call(run, words.call))
    if words.pages and run.has("objects"):
        found[applications.PAGES] = clock.stamped(applications.pages(run))
    return found


def _voice(run: RunResult, words: Named, clock: _Clock) -> dict[str, Rows]:
    """What Flent shows of a call per interval."""
    if words.call is None or not run.has("datagrams"):
        return {}
    frames = applications.per_interval(run, words.call, clock.step)
    return {series: clock.stamped(rows) for series, rows in frames.items()}


def _queues(run: RunResult, clock: _Clock) -> dict[str, Rows]:
    """Counters of the root discipline of each device."""
    if not run.has("qdisc"):
        return {}
    qdisc = _table(run, "qdisc", ("t", "device", "depth", *QUEUE, *PER_INTERVAL))
    roots = qdisc.where(qdisc.numbers("depth") == 0)
    return {
        f"qdisc_stats_{_host(device)}": clock.stamped(_queue(rows, clock)) for device, rows in _in_turn(roots, "device")
    }


def _queue(rows: Table, clock: _Clock) -> dict[str, Values]:
    kept = {"t": rows.numbers("t"), **{theirs: rows.numbers(ours) for ours, theirs in QUEUE.items()}}
    for ours, theirs in PER_INTERVAL.items():
        counted = rows.numbers(ours)
        grown = _grown(counted)
        kept[theirs] = np.where(np.isnan(grown), counted, grown)
    departed = _grown(kept["sent_bytes"])
    with np.errstate(divide="ignore", invalid="ignore"):
        # Little's law, as in `analysis.queues.sojourn_samples`.
        delay = kept["backlog_bytes"] / departed * clock.step * 1e3
    return {**kept, "delay": np.where(departed > 0, delay, 0.0)}


def _grown(counter: Values) -> Values:
    """By how much a counter grew since the sample before; unknown at the first."""
    return np.diff(counter, prepend=np.nan)


def _shares(found: Sequence[Air], clock: _Clock) -> dict[str, Rows]:
    """A series for each station and measure, with the names of Flent's `null` runners."""
    return {
        f"wifi_stats_{air.access_point}::{measure}::{station}": clock.stamped(
            pd.DataFrame({"t": air.counted["t"], "val": air.counted[station, measure]})
        )
        for air in found
        for station in air.stations
        for measure in MEASURES
    }


def _stations(found: Sequence[Air], clock: _Clock) -> dict[str, Rows]:
    """Rows with all stations of an access point, in the form of Flent's script."""
    return {f"wifi_stats_{air.access_point}": [_nested(row, air) for row in _flat(air, clock)] for air in found}


def _flat(air: Air, clock: _Clock) -> Rows:
    columns = {
        f"{station}::{measure}": air.counted[station, measure] for station in air.stations for measure in MEASURES
    }
    return clock.stamped(pd.DataFrame({"t": air.counted["t"], **columns}))


def _nested(row: Mapping[str, Any], air: Air) -> dict[str, Any]:
    of = {station: {measure: row[f"{station}::{measure}"] for measure in MEASURES} for station in air.stations}
    return {"t": row["t"], "stations": of}


def _host(device: str) -> str:
    return device.replace(" -> ", "-to-")


def _on_grid(rows: Rows, clock: _Clock) -> list[float | None]:
    """Linear interpolation; none before the first sample, or if the next sample is more than five steps away."""
    samples = [(row["t"] - clock.began - clock.start, row["val"]) for row in rows if "val" in row]
    if not samples:
        return [None] * len(clock.grid)
    times, values = (np.array(column, dtype=np.float64) for column in zip(*samples, strict=True))
    grid = np.array(clock.grid)
    following = np.searchsorted(times, grid - 1e-9)
    ahead = times[np.minimum(following, len(times) - 1)] - grid
    known = (following < len(times)) & (ahead <= FARTHEST_STEPS * clock.step) & (grid >= times[0] - clock.step / 2)
    drawn = np.interp(grid, times, values)
    return [round(float(value), 9) if there else None for value, there in zip(drawn, known, strict=True)]


def _queue_parameters(queues: Mapping[str, Rows]) -> list[tuple[str, str]]:
    """The test parameters that tell Flent about the series of queues."""
    stats = [queue.removeprefix("qdisc_stats_") for queue in queues]
    named_so = {"qdisc_stats_hosts": stats, "qdisc_stats_interfaces": ["root"] * len(stats)}
    return [(parameter, ",".join(values)) for parameter, values in named_so.items() if values]


def _radios(found: Sequence[Air]) -> list[tuple[str, str]]:
    """The test parameters that tell Flent about access points and stations."""
    named_so = {
        "wifi_stats_hosts": [air.access_point for air in found],
        "wifi_stats_interfaces": ["wlan0" for _ in found],
        "wifi_stats_stations": sorted({station for air in found for station in air.stations}),
    }
    return [(parameter, ",".join(values)) for parameter, values in named_so.items() if values]


def _metadata(run: RunResult, words: Named, made: tuple[_Clock, str, Sequence[tuple[str, str]]]) -> dict[str, Any]:
    clock, name, beside = made
    known = run.scenario.hosts
    hosts = run.scenario.host_names or ["client", "server"]
    parameters = {**words.parameters, **dict(beside)}
    return {
        "NAME": words.test,
        "TITLE": ", ".join(run.axes.values()) or run.manifest["title"],
        "NOTE": run.manifest["title"],
        "TIME": clock.at(0),
        "T0": clock.at(clock.start),
        "HOST": hosts[-1],
        "HOSTS": [hosts[-1]],
        "LOCAL_HOST": hosts[0],
        "LENGTH": clock.length,
        "TOTAL_LENGTH": clock.total,
        "STEP_SIZE": clock.step,
        "IP_VERSION": 4,
        "TEST_PARAMETERS": parameters,
        "SERIES_META": _series_meta(run, words),
        "DATA_FILENAME": name,
        "BATCH_NAME": None,
        "BATCH_TITLE": run.manifest["title"],
        "FLENT_VERSION": f"tailback {tailback_version()}",
        "KERNEL_NAME": "Linux",
        "KERNEL_RELEASE": known[0].stack if known else "",
        "SYSCTLS": dict(known[0].sysctl) if known else {},
        "TAILBACK": {"manifest": run.manifest, "summary": run.summary, "series": dict(words.series)},
    }


def _stop(flow: Traffic, end_ns: int) -> int:
    return end_ns if isinstance(flow, Observed | Page) else flow.stop_ns or end_ns


def _control(flow: Traffic) -> str | None:
    return flow.cc.name if isinstance(flow, Tcp | Observed) and flow.cc is not None else None


def _series_meta(run: RunResult, words: Named) -> dict[str, Any]:
    controls = {flow.name: _control(flow) for flow in run.scenario.traffic}
    goodput: Mapping[str, float] = run.summary.get("goodput_mbps", {}).get("flows", {})
    found: dict[str, Any] = {}
    for flow, series in words.series.items():
        meta = {"UNITS": "ms" if series.startswith("Ping") else "Mbits/s", "RUNNER": "tailback"}
        control = controls.get(flow)
        if control:
            meta["CONG_CONTROL"] = control
        found[series] = {**meta, "MEAN_VALUE": goodput[flow]} if flow in goodput else meta
    return found

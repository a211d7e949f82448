"""How the claims of `teacup14` are measured: one function for each, from the results of its experiments.

Flow i starts at 20 (i - 1) s and lasts 60 s. Passive RTT is that of packet pairs in captures at both ends, as the
report (`analysis.passive`); fairness is measured in windows of 2 s every 0.5 s. cwnd in kB: segments of 1448 B.
"""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from tailback.analysis import Window, goodput, passive
from tailback.analysis.metrics import Samples
from tailback.analysis.sharing import jain_over_time
from tailback.formats.pcap import packets
from tailback.papers.measuring import (
    Place,
    by_repetition,
    compared,
    drops,
    goodput_mbps,
    ratio,
    tcp_rtt_ms,
    values,
)
from tailback.papers.sample import Evaluator, Sample
from tailback.results import Results, RunResult

STARTS_S = (0.0, 20.0, 40.0)
SETTLING_S = 2.0
BASE_RTT_MS = 20.0
SEGMENT_KB = 1.448
AQMS = ("pie", "codel", "fq_codel")
BIN_NS = 100_000_000
BILLION = 1_000_000_000


def place(aqm: str, rtt: str = "20ms", limit: str = "180p") -> Place:
    """A configuration of `newreno` or `cubic`."""
    return {"rtt": rtt, "aqm": aqm, "limit": limit}


def passive_rtt(run: RunResult) -> pd.DataFrame:
    """Passive RTT of each flow with captures at both ends: `t` (s), `flow`, `rtt_ms`."""
    names = run.scenario.host_names
    flows = [(flow.name, names[flow.source], names[flow.target]) for flow in run.scenario.flows]
    captured = [flow for flow in flows if {*flow[1:]} <= run.captures.keys()]
    return _between(run.path, tuple(captured))


@functools.lru_cache(maxsize=16)
def _between(folder: Path, flows: tuple[tuple[str, str, str], ...]) -> pd.DataFrame:
    """Passive RTT of each flow, given its ends; cached, because several claims use it."""
    parts = []
    for flow, *ends in flows:
        found = passive.passive_rtt(*(packets(folder / f"{end}.pcapng").table for end in ends))
        parts.append(pd.DataFrame({"t": found["t_ns"] / BILLION, "flow": flow, "rtt_ms": found["rtt_ms"]}))
    return pd.concat(parts, ignore_index=True)


def rtt_samples(run: RunResult) -> Samples:
    """Passive RTTs of all flows in ms."""
    return passive_rtt(run)["rtt_ms"].to_numpy(dtype=np.float64)


def settled_rtt_ms(run: RunResult, share: float) -> float:
    """A percentile of passive RTT, without the seconds after the start of each flow."""
    table = passive_rtt(run)
    starting = np.any([table["t"].between(start, start + SETTLING_S) for start in STARTS_S], axis=0)
    return float(np.percentile(table.loc[~starting, "rtt_ms"], share))


def fifo_cycle(results: Results) -> Iterator[Sample]:
    runs = list(by_repetition(results, {"path": "20ms"}).values())
    yield Sample("p99", "pfifo", [float(np.percentile(rtt_samples(run), 99)) for run in runs])
    yield Sample("p5", "pfifo", [float(np.percentile(inner_rtt(run), 5)) for run in runs])
    yield Sample("packets that the full queue drops", "pfifo", [drops(run) for run in runs])


def inner_rtt(run: RunResult) -> Samples:
    """Passive RTTs from 10 to 90 s."""
    table = passive_rtt(run)
    return table.loc[table["t"].between(10, 90), "rtt_ms"].to_numpy(dtype=np.float64)


def beyond_base(*aqms: str) -> Evaluator:
    def measured(results: Results) -> Iterator[Sample]:
        for aqm in aqms:
            place = {"path": "20ms", "aqm": aqm}
            yield Sample("p95 beyond base", aqm, values(results, place, beyond_base_ms))
            yield Sample("packets that the AQM drops", aqm, values(results, place, drops))

    return measured


def beyond_base_ms(run: RunResult) -> float:
    """The 95th percentile of settled passive RTT without the base RTT."""
    return settled_rtt_ms(run, 95) - BASE_RTT_MS


def jain_while_all_run(run: RunResult) -> float:
    """Median of Jain's index while all three flows run."""
    return median_jain(run, (44, 60))


def median_jain(run: RunResult, span_s: tuple[int, int]) -> float:
    """Median of Jain's index over windows of 2 s between these seconds."""
    table = jain_over_time(run.flows, Window(span_s[0] * BILLION, span_s[1] * BILLION), BIN_NS)
    return float(table["jain"].median())


def shared_evenly(results: Results) -> Iterator[Sample]:
    yield Sample("Jain's index", "fq_codel", values(results, place("fq_codel"), jain_while_all_run))


def same_with_more_room(newreno: Results, cubic: Results) -> Iterator[Sample]:
    for name, results in (("NewReno", newreno), ("CUBIC", cubic)):
        for aqm in AQMS:
            pair = (place(aqm, limit="2000p"), place(aqm))
            case = f"{name}, {aqm}"
            yield Sample("goodput ratio", case, compared(results, pair, ratio(goodput_mbps)))
            yield Sample("RTT ratio", case, compared(results, pair, ratio(tcp_rtt_ms)))


def first_flow_mbps(run: RunResult, span_s: tuple[int, int]) -> float:
    """Goodput of flow 1 between these seconds."""
    return goodput(run.flows, Window(span_s[0] * BILLION, span_s[1] * BILLION), BIN_NS)["flow1"]


def slow_over_long_path(results: Results) -> Iterator[Sample]:
    for aqm in AQMS:
        pair = (place(aqm, "200ms"), place("pfifo", "200ms"))
        found = compared(results, pair, ratio(lambda run: first_flow_mbps(run, (5, 20))))
        yield Sample("goodput : pfifo's", aqm, found)
        early = values(results, place(aqm, "200ms"), lambda run: drops_between(run, (0, 20)))
        yield Sample("packets that the AQM drops by 20 s", aqm, early)


def first_cwnd(run: RunResult) -> pd.DataFrame:
    """Samples of flow 1: `t` (s), `kb`, `ca_state`."""
    info = run.tcp_info[run.tcp_info["flow"] == "flow1"]
    return pd.DataFrame({"t": info["t"], "kb": info["snd_cwnd"] * SEGMENT_KB, "ca_state": info["ca_state"]})


def first_cut(run: RunResult) -> tuple[float, float]:
    """The largest cwnd of flow 1 before its first loss, and its cwnd after recovery, in kB."""
    samples = first_cwnd(run)
    calm = samples["ca_state"].isin(["open", "disorder", "cwr"]).to_numpy()
    lost = int(np.argmin(calm)) if not calm.all() else len(calm)
    recovered = lost + int(np.argmax(calm[lost:])) if lost < len(calm) else len(calm) - 1
    kb = samples["kb"].to_numpy(dtype=np.float64)
    return float(kb[: max(lost, 1)].max()), float(kb[recovered])


def window_of_first_flow(results: Results) -> Iterator[Sample]:
    for aqm in ("codel", "fq_codel"):
        cuts = [first_cut(run) for run in by_repetition(results, place(aqm, "200ms")).values()]
        yield Sample("peak", aqm, [peak for peak, _ in cuts])
        yield Sample("after", aqm, [after for _, after in cuts])


def poor_sharing(results: Results, captured: Results) -> Iterator[Sample]:
    yield Sample("Jain's index", "pfifo", values(results, place("pfifo"), lambda run: median_jain(run, (22, 40))))
    runs = by_repetition(captured, {"path": "20ms"}).values()
    yield Sample("p99", "pfifo", [float(np.percentile(rtt_samples(run), 99)) for run in runs])
    yield Sample("packets that the full queue drops", "pfifo", [drops(run) for run in runs])


def held_by_receiver(results: Results) -> Iterator[Sample]:
    at = place("pfifo", "200ms")
    yield Sample("cwnd", "flow 1", values(results, at, standing_cwnd_kb))
    yield Sample("drops", "2 to 20 s", values(results, at, lambda run: drops_between(run, (2, 20))))
    yield Sample("goodput", "flow 1", values(results, at, lambda run: first_flow_mbps(run, (2, 20))))
    yield Sample("held by the receive window", "flow 1", values(results, at, held_by_window_share))


def held_by_window_share(run: RunResult) -> float:
    """Which share of the time from 2 to 20 s, in %, the receive window held flow 1."""
    info = run.tcp_info[(run.tcp_info["flow"] == "flow1") & run.tcp_info["t"].between(2, 20)]
    held, t = info["held_rwnd"].to_numpy(dtype=np.float64), info["t"].to_numpy(dtype=np.float64)
    return float(100 * (held[-1] - held[0]) / 1e6 / (t[-1] - t[0]))


def standing_cwnd_kb(run: RunResult) -> float:
    """Median cwnd of flow 1 from 2 to 20 s."""
    samples = first_cwnd(run)
    return float(samples.loc[samples["t"].between(2, 20), "kb"].median())


def drops_between(run: RunResult, span_s: tuple[float, float]) -> float:
    """Packets dropped on all devices between these seconds."""
    events = run.events
    return float(((events["what"] == "drop") & events["t"].between(*span_s)).sum())


def cubic_through_aqms(results: Results, captured: Results) -> Iterator[Sample]:
    quantities = {"pie": "PIE", "codel": "CoDel", "fq_codel": "CoDel"}
    for sample in beyond_base(*AQMS)(captured):
        named = sample.quantity == "p95 beyond base"
        quantity = f"{sample.quantity}, {quantities[sample.case]}" if named else sample.quantity
        yield Sample(quantity, sample.case, sample.values)
    yield from shared_evenly(results)


EVALUATORS: Mapping[str, Evaluator] = {
    "teacup14-f2-rtt": fifo_cycle,
    "teacup14-f4-pie": beyond_base("pie"),
    "teacup14-f4-codel": beyond_base("codel", "fq_codel"),
    "teacup14-f4-fq": shared_evenly,
    "teacup14-f5": same_with_more_room,
    "teacup14-f6": slow_over_long_path,
    "teacup14-f7-codel": window_of_first_flow,
    "teacup14-f8": poor_sharing,
    "teacup14-f9-cap": held_by_receiver,
    "teacup14-f11": cubic_through_aqms,
}

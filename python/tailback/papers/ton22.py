"""How the claims of `ton22` are measured: one function for each, from the results of its experiments.

Aggregates are those of stations; sizes are means over PPDUs. The model of figure 6 counts packets of 1500 B, so goodput
is scaled to include headers (1500 of 1448).
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from tailback.analysis.aggregation import Cell, Fit, fit, with_measured_overhead
from tailback.papers.measuring import (
    CLIENT,
    Place,
    by_repetition,
    compared,
    difference,
    down_over_up,
    each,
    goodput_down_mbps,
    goodput_mbps,
    goodput_up_mbps,
    held_by,
    mpdus_up,
    named,
    ping_ms,
    places,
    ratio,
    steps,
    tcp_rtt_ms,
    values,
)
from tailback.papers.sample import Evaluator, Sample
from tailback.results import Results, RunResult

STANDARD = "1ms"
SLOW, FAST = "bbr bbr2 nv cubic", "yeah reno highspeed"
TIMES = "1ms 2ms 4ms 8ms 16ms"
BELOW_FULL = "1ms 2ms 4ms 8ms"
"""From 8 ms on aggregates are full, and goodput and ping stay."""
MODEL_CELL = Cell(max_packets=64)
"""Table I, but with 64 frames per aggregate, the window of a block ack, instead of 72; its overhead is measured."""
HEADERS = 1500 / 1448


def both_ways(driver: str) -> Evaluator:
    def measured(results: Results) -> Iterator[Sample]:
        for direction in ("download", "upload"):
            place = {"driver": driver, "direction": direction}
            yield Sample(direction, direction, values(results, place, goodput_mbps))

    return measured


def udp_against_tcp(udp: Results, tcp: Results) -> Iterator[Sample]:
    loads = udp.axes["load"]
    yield Sample("goodput", f"UDP, {loads[-1]}", values(udp, {"load": loads[-1]}, goodput_mbps))
    yield from steps("growth of aggregates", udp, [{"load": load} for load in loads], mpdus_up)
    place = {"driver": "ath9k", "direction": "upload"}
    yield Sample("aggregate, TCP", "TCP", values(tcp, place, mpdus_up))


def goodput_and_ping(names: str) -> Evaluator:
    def measured(results: Results) -> Iterator[Sample]:
        yield from each("goodput", results, places("cc", names, tsq=STANDARD), goodput_mbps)
        yield from each("ping", results, places("cc", names, tsq=STANDARD), ping_ms)
        if names == FAST:
            yield from of_their_own(results)

    return measured


def of_their_own(results: Results) -> Iterator[Sample]:
    """The fast controls are held by TSQ, and cwnd is theirs, not a threshold that they started with."""
    yield from each("held by TSQ", results, places("cc", FAST, tsq=STANDARD), held_by("small_queue"))
    yield from each("cwnd at a given threshold", results, places("cc", FAST, tsq=STANDARD), at_given_threshold)


def at_given_threshold(run: RunResult) -> float:
    """Which share of the time, in %, cwnd stood at the slow-start threshold with which the connection began."""
    given = {host.name: host.ssthresh for host in run.scenario.hosts}.get(CLIENT)
    start, end = (edge / 1e9 for edge in run.window_ns)
    cwnd = run.tcp_info.loc[run.tcp_info["t"].between(start, end), "snd_cwnd"]
    return float(100 * (cwnd == given).mean()) if given else 0.0


def sweep_of(results: Results) -> pd.DataFrame:
    """The sweep of figure 6 in the form that the model needs."""
    rows = [
        {
            "limit": float(run.axes["tsq"].removesuffix("p")),
            "pacing": float(run.axes["pacing"].removesuffix("%")) / 100,
            "repetition": run.repetition,
            "goodput_mbps": goodput_mbps(run) * HEADERS,
            "rtt_ms": tcp_rtt_ms(run),
        }
        for run in results.runs
    ]
    return pd.DataFrame(rows)


def fit_of(sweep: pd.DataFrame) -> Fit:
    """The fit of c, with the overhead per transmission of our cell: Table I has that of the paper's testbed."""
    return fit(sweep, with_measured_overhead(sweep, MODEL_CELL))


def fitted(results: Results) -> dict[tuple[str, int], Fit]:
    """The fit of the model to each repetition, by pacing ratio."""
    return {
        (pacing, number): fit_of(sweep_of(results.select(pacing=pacing, repetition=str(number))))
        for pacing in results.axes["pacing"]
        for number in sorted({run.repetition for run in results.runs})
    }


def model_fits(results: Results) -> Iterator[Sample]:
    found = fitted(results)
    for pacing in results.axes["pacing"]:
        fits = [one for (name, _), one in found.items() if name == pacing]
        yield Sample("R² of throughput", pacing, [one.r2_throughput for one in fits])
        yield Sample("R² of RTT", pacing, [one.r2_rtt for one in fits])
    slow, fast = ({"tsq": "16p", "pacing": pacing} for pacing in ("120%", "160%"))
    yield Sample("goodput at 16 packets, 160 % : 120 %", "16p", compared(results, (fast, slow), ratio(goodput_mbps)))


def grows_with_small_queue(results: Results) -> Iterator[Sample]:
    """The last step of ping is left to `full_aggregates`: there the paper says that the ping does not change."""
    for name in ["cubic", "reno", "highspeed", "yeah"]:
        yield Sample("goodput", f"{name}, TSQ 16ms", values(results, {"cc": name, "tsq": "16ms"}, goodput_mbps))
        yield from steps("goodput growth", results, places("tsq", TIMES, cc=name), goodput_mbps)
        yield from steps("ping growth", results, places("tsq", BELOW_FULL, cc=name), ping_ms)
        yield Sample("held by TSQ", name, values(results, {"cc": name, "tsq": STANDARD}, held_by("small_queue")))


def new_vegas(results: Results) -> Iterator[Sample]:
    low, high = ({"cc": "nv", "tsq": tsq} for tsq in (STANDARD, "16ms"))
    yield Sample("goodput at 1 ms", "nv", values(results, low, goodput_mbps))
    yield Sample("goodput at 16 ms", "nv", values(results, high, goodput_mbps))
    yield from each("ping", results, places("tsq", TIMES, cc="nv"), ping_ms)


def bbr_unmoved(results: Results) -> Iterator[Sample]:
    pair = ({"cc": "bbr", "tsq": "16ms"}, {"cc": "bbr", "tsq": STANDARD})
    yield Sample("goodput ratio", "TSQ 16ms : 1ms", compared(results, pair, ratio(goodput_mbps)))
    yield from each("ping", results, places("tsq", TIMES, cc="bbr"), ping_ms)


def full_aggregates(results: Results) -> Iterator[Sample]:
    eight, sixteen = ({"cc": "reno", "tsq": tsq} for tsq in ("8ms", "16ms"))
    yield Sample("aggregate", "reno, TSQ 8ms", values(results, eight, mpdus_up))
    yield Sample("TCP RTT gained", "reno, 8 to 16 ms", compared(results, (sixteen, eight), difference(tcp_rtt_ms)))
    moved = [abs(found) for found in compared(results, (sixteen, eight), difference(ping_ms))]
    yield Sample("ping moved", "reno, 8 to 16 ms", moved)


def standard_aggregates(results: Results) -> Iterator[Sample]:
    yield from each("aggregate, fast controls", results, places("cc", FAST, tsq=STANDARD), mpdus_up)
    yield from each("aggregate, slow controls", results, places("cc", SLOW, tsq=STANDARD), mpdus_up)
    yield from of_their_own(results)


def above_ath10k(results: Results) -> Iterator[Sample]:
    for name in ("highspeed", "reno"):
        yield Sample("goodput", f"{name}, 16 ms", values(results, {"cc": name, "tsq": "16ms"}, goodput_mbps))
        yield Sample("ping at 16 ms", name, values(results, {"cc": name, "tsq": "16ms"}, ping_ms))
        yield Sample("ping at 32 ms", name, values(results, {"cc": name, "tsq": "32ms"}, ping_ms))
    yield from each("goodput, nv", results, places("tsq", f"{TIMES} 32ms", cc="nv"), goodput_mbps)
    pair = ({"cc": "bbr", "tsq": "32ms"}, {"cc": "bbr", "tsq": STANDARD})
    yield Sample("goodput of bbr, 32 : 1 ms", "bbr", compared(results, pair, ratio(goodput_mbps)))


def cubic_paced(results: Results) -> Iterator[Sample]:
    one, three = ({"cc": "cubic", "tsq": STANDARD, "pacing": pacing} for pacing in ("1p", "3p"))
    yield Sample("goodput, 3p : 1p", "cubic", compared(results, (three, one), ratio(goodput_mbps)))
    yield Sample("ping, 3p - 1p", "cubic", compared(results, (three, one), difference(ping_ms)))
    yield Sample("aggregate at 3p", "cubic", values(results, three, mpdus_up))


def reno_paced(results: Results) -> Iterator[Sample]:
    yield from each("goodput", results, places("cc", "reno highspeed", tsq=STANDARD, pacing="2p"), goodput_mbps)
    yield from each("aggregate", results, places("cc", "reno highspeed", tsq=STANDARD, pacing="2p"), mpdus_up)


def paced_at_four(results: Results) -> Iterator[Sample]:
    def at(cc: str, pacing: str) -> Place:
        return {"cc": cc, "tsq": "4ms", "pacing": pacing}

    yield Sample("goodput, BBR+ at 3p", "bbrplus", values(results, at("bbrplus", "3p"), goodput_mbps))
    yield Sample("goodput, BBR+ at 1p", "bbrplus", values(results, at("bbrplus", "1p"), goodput_mbps))
    yield Sample("TCP RTT, Reno at 3p", "reno", values(results, at("reno", "3p"), tcp_rtt_ms))
    found = compared(results, (at("nv", "3p"), at("nv", "1p")), ratio(goodput_mbps))
    yield Sample("goodput of NV, 3p : 1p", "nv", found)


def standing_windows(results: Results) -> Iterator[Sample]:
    for name in ("cubic", "reno"):
        for tsq, quantity in ((STANDARD, "constant cwnd, TSQ 1 ms"), ("off", "constant cwnd, TSQ off")):
            place = {"cc": name, "tsq": tsq, "pacing": "1p"}
            yield Sample(quantity, name, values(results, place, longest_standstill_s))
        place = {"cc": name, "tsq": STANDARD, "pacing": "1p"}
        yield Sample("held by TSQ, 1 ms", name, values(results, place, held_by("small_queue")))
        ladder = places("pacing", "1p 2p 3p", cc=name, tsq="off")
        yield from steps("goodput by pacing, TSQ off", results, ladder, goodput_mbps)
    pair = ({"cc": "cubic", "tsq": "1ms", "pacing": "1p"}, {"cc": "reno", "tsq": "1ms", "pacing": "1p"})
    yield Sample("cwnd after slow start, CUBIC : Reno", "TSQ 1ms", compared(results, pair, ratio(slow_start_exit_cwnd)))


def longest_standstill_s(run: RunResult) -> float:
    """The longest time in s during which cwnd did not change."""
    start, end = (edge / 1e9 for edge in run.window_ns)
    samples = run.tcp_info[(run.tcp_info["t"] >= start) & (run.tcp_info["t"] < end)]
    t, cwnd = samples["t"].to_numpy(dtype=np.float64), samples["snd_cwnd"].to_numpy(dtype=np.float64)
    changes = [0, *(np.flatnonzero(np.diff(cwnd)) + 1), len(cwnd) - 1]
    return float(max(t[later] - t[earlier] for earlier, later in pairwise(changes)))


def slow_start_exit_cwnd(run: RunResult) -> float:
    """cwnd in segments when ssthresh was first set; the largest one if it never was."""
    samples = run.tcp_info
    known = samples[samples["snd_ssthresh"].notna()]
    return float(known["snd_cwnd"].iloc[0]) if len(known) else float(samples["snd_cwnd"].max())


def ath10k_paced(results: Results) -> Iterator[Sample]:
    for name in ["cubic", "reno", "highspeed"]:
        place = {"cc": name, "pacing": "3p", "tsq": "8ms"}
        yield Sample("goodput", name, values(results, place, goodput_mbps))
        yield Sample("ping", name, values(results, place, ping_ms))
        pair = (place, {**place, "pacing": "1p"})
        yield Sample("goodput, 3p : 1p", name, compared(results, pair, ratio(goodput_mbps)))
    place = {"cc": "nv", "pacing": "3p", "tsq": "8ms"}
    yield Sample("goodput, nv", "nv", values(results, place, goodput_mbps))


def drivers(ath9k: Results, ath10k: Results) -> Iterator[Sample]:
    place = {"cc": "reno", "tsq": "16ms"}
    for results, quantity in ((ath9k, "TCP RTT : ping, ath9k"), (ath10k, "TCP RTT : ping, ath10k")):
        found = [tcp_rtt_ms(run) / ping_ms(run) for run in by_repetition(results, place).values()]
        yield Sample(quantity, named(place), found)


def unfair_under_rrul(results: Results) -> Iterator[Sample]:
    names = ["cubic", "reno", "highspeed", "yeah", "bbr", "bbr2", "nv"]
    yield from each("down : up", results, places("cc", " ".join(names), station_tsq=STANDARD), down_over_up)
    for name in names[:-1]:
        pair = ({"cc": name, "station_tsq": STANDARD}, {"cc": "nv", "station_tsq": STANDARD})
        yield Sample("down : up, over that of nv", name, compared(results, pair, ratio(down_over_up)))
    names_held = places("cc", "cubic reno highspeed yeah", station_tsq=STANDARD)
    yield from each("uploads held by TSQ", results, names_held, held_by("small_queue"))
    pairs = [("cubic", "reno"), ("cubic", "highspeed")]
    pairs += [(one, other) for one in ("reno", "highspeed") for other in ("yeah", "bbr", "bbr2")]
    pairs += [(name, "nv") for name in ("yeah", "bbr", "bbr2")]
    for one, other in pairs:
        pair = ({"cc": one, "station_tsq": STANDARD}, {"cc": other, "station_tsq": STANDARD})
        yield Sample("ping ratio", f"{one} : {other}", compared(results, pair, ratio(ping_ms)))


def fairer_with_more(results: Results) -> Iterator[Sample]:
    names = ["cubic", "reno", "highspeed", "yeah", "bbr", "bbr2", "nv"]
    for name in names:
        pair = ({"cc": name, "station_tsq": "32ms"}, {"cc": name, "station_tsq": STANDARD})
        yield Sample("down : up, 32 : 1 ms", name, compared(results, pair, ratio(down_over_up)))
    yield Sample("gap between directions, nv", "nv", values(results, {"cc": "nv", "station_tsq": "32ms"}, gap_mbps))
    for name in names[:-1]:
        if name != "bbr":
            pair = ({"cc": "bbr", "station_tsq": "32ms"}, {"cc": name, "station_tsq": "32ms"})
            yield Sample("gap of bbr minus that of another", name, compared(results, pair, difference(gap_mbps)))


def gap_mbps(run: RunResult) -> float:
    """The difference in goodput between the directions."""
    return abs(goodput_down_mbps(run) - goodput_up_mbps(run))


EVALUATORS: Mapping[str, Evaluator] = {
    "ton22-f4-htc": both_ways("ath9k_htc"),
    "ton22-f4-9k": both_ways("ath9k"),
    "ton22-f4-udp": udp_against_tcp,
    "ton22-f5a-low": goodput_and_ping(SLOW),
    "ton22-f5a-high": goodput_and_ping(FAST),
    "ton22-f6-model": model_fits,
    "ton22-f7-most": grows_with_small_queue,
    "ton22-f7-nv": new_vegas,
    "ton22-f7-bbr": bbr_unmoved,
    "ton22-f8-agg": full_aggregates,
    "ton22-f8-std": standard_aggregates,
    "ton22-f9": above_ath10k,
    "ton22-f10-cubic": cubic_paced,
    "ton22-f10-reno": reno_paced,
    "ton22-f11": paced_at_four,
    "ton22-f12": standing_windows,
    "ton22-f14": ath10k_paced,
    "ton22-drv": drivers,
    "ton22-f15-std": unfair_under_rrul,
    "ton22-f15-32": fairer_with_more,
}

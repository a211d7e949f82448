"""How the claims of `access21` are measured: one function for each, from the results of its experiment.

A function yields samples: a quantity, the case in which it was measured, and a value per repetition. RTTs and pings are
percentiles of `summary.json`, over the measurement window.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from tailback.papers.measuring import compared, drops, goodput_mbps, held_by, ping_ms, places, ratio, values
from tailback.papers.sample import Evaluator, Sample
from tailback.results import Results, RunResult

OFF, ONE_MS = "off", "1ms"
QUEUE_PACKETS, FRAME_BITS, BASE_RTT_MS = 1000, 1514 * 8, 1.0
"""The queue of pfifo_fast below the shaper of figure 6; the size of frames for HTB; the RTT without a queue."""
RATE_BITS_PER_MS = 100_000.0


def by_repetition(results: Results) -> dict[int, RunResult]:
    """The runs of a single configuration, by repetition."""
    return {run.repetition: run for run in results.runs}


def pairs(one: Results, other: Results) -> list[tuple[RunResult, RunResult]]:
    """Pairs of runs with the same repetition."""
    first, second = by_repetition(one), by_repetition(other)
    return [(first[number], second[number]) for number in sorted(first.keys() & second.keys())]


def median_ping_ms(run: RunResult) -> float:
    return float(run.summary["ping_ms"]["p50"])


def tcp_rtt_ms(run: RunResult, percentile: str) -> float:
    return float(run.summary["tcp_rtt_ms"][percentile])


def full_queue_throughput(results: Results) -> Iterator[Sample]:
    for bottleneck in results.axes["bottleneck"]:
        for tsq in results.axes["tsq"]:
            runs = results.select(bottleneck=bottleneck, tsq=tsq).runs
            yield Sample("goodput", f"{bottleneck}, TSQ {tsq}", [goodput_mbps(run) for run in runs])
    local = {"bottleneck": "L100M", "tsq": ONE_MS}
    yield Sample("held by TSQ, local", "L100M, TSQ 1ms", values(results, local, held_by("small_queue")))


def ping_ratio(bottleneck: str) -> Evaluator:
    def measured(results: Results) -> Iterator[Sample]:
        at = results.select(bottleneck=bottleneck)
        both = pairs(at.select(tsq=OFF), at.select(tsq=ONE_MS))
        yield Sample("ping ratio", bottleneck, [median_ping_ms(off) / median_ping_ms(std) for off, std in both])
        place = {"bottleneck": bottleneck, "tsq": ONE_MS}
        yield Sample("held by TSQ", f"{bottleneck}, TSQ 1ms", values(results, place, held_by("small_queue")))

    return measured


def rtt_without_and_with_tsq(results: Results, bottleneck: str, cc: str) -> list[tuple[float, float]]:
    """Median TCP RTT over pfifo_fast in ms, without and with TSQ."""
    at = results.select(bottleneck=bottleneck, cc=cc, qdisc="pfifo_fast")
    both = pairs(at.select(tsq=OFF), at.select(tsq=ONE_MS))
    return [(tcp_rtt_ms(off, "p50"), tcp_rtt_ms(std, "p50")) for off, std in both]


def rtt_ratio(results: Results) -> Iterator[Sample]:
    found = rtt_without_and_with_tsq(results, "L10M", "cubic")
    yield Sample("TCP RTT ratio", "L10M", [off / std for off, std in found])
    yield held_with_tsq(results, "L10M", "cubic")


def held_with_tsq(results: Results, bottleneck: str, cc: str) -> Sample:
    """How long TSQ held the uploads over pfifo_fast."""
    place = {"bottleneck": bottleneck, "cc": cc, "qdisc": "pfifo_fast", "tsq": ONE_MS}
    return Sample("held by TSQ", f"{bottleneck}, TSQ 1ms", values(results, place, held_by("small_queue")))


def rtt_saved(bottleneck: str) -> Evaluator:
    def measured(results: Results) -> Iterator[Sample]:
        found = rtt_without_and_with_tsq(results, bottleneck, "bbr")
        yield Sample("TCP RTT saved", bottleneck, [off - std for off, std in found])
        yield held_with_tsq(results, bottleneck, "bbr")

    return measured


def bounded_by_fq_codel(results: Results) -> Iterator[Sample]:
    for bottleneck, tsq in (("R10M", ONE_MS), ("R10M", OFF), ("L10M", OFF)):
        runs = results.select(bottleneck=bottleneck, cc="bbr", qdisc="fq_codel", tsq=tsq).runs
        yield Sample("TCP RTT", f"{bottleneck}, TSQ {tsq}", [tcp_rtt_ms(run, "p50") for run in runs])
    remote = {"bottleneck": "R10M", "cc": "bbr", "tsq": ONE_MS}
    fifo, fq = ({**remote, "qdisc": qdisc} for qdisc in ("pfifo_fast", "fq_codel"))
    shorter = compared(results, (fifo, fq), ratio(lambda run: tcp_rtt_ms(run, "p50")))
    yield Sample("TCP RTT over pfifo_fast", "R10M", shorter)


def saw_tooth(results: Results) -> Iterator[Sample]:
    full_ms = QUEUE_PACKETS * FRAME_BITS / RATE_BITS_PER_MS + BASE_RTT_MS
    runs = results.select(cc="cubic", tsq=OFF).runs
    yield Sample("peak", "cubic", [tcp_rtt_ms(run, "p99") / full_ms for run in runs])
    yield Sample("valley", "cubic", [tcp_rtt_ms(run, "p1") / tcp_rtt_ms(run, "p99") for run in runs])
    yield Sample("packets that the full queue drops", "cubic", [drops(run) for run in runs])


def probe_rtt_intervals(results: Results) -> Iterator[Sample]:
    intervals = [found for run in results.select(cc="bbr", tsq=OFF).runs if (found := probe_rtt_intervals_s(run))]
    yield Sample("shortest interval", "bbr", [min(found) for found in intervals])
    yield Sample("longest interval", "bbr", [max(found) for found in intervals])


def probe_rtt_intervals_s(run: RunResult) -> list[float]:
    """Seconds between entries of the same flow into PROBE_RTT."""
    entries = run.events[(run.events["what"] == "cc_state") & (run.events["reason"] == "probe_rtt")]
    return [
        later - earlier for _, flow in entries.groupby("flow", observed=True) for earlier, later in pairwise(flow["t"])
    ]


def ruled_by_small_queue(results: Results) -> Iterator[Sample]:
    cubic, bbr = (results.select(cc=cc, tsq=ONE_MS) for cc in ("cubic", "bbr"))
    excess = [tcp_rtt_ms(one, "p90") - 2 * tcp_rtt_ms(other, "p90") for one, other in pairs(cubic, bbr)]
    yield Sample("RTT beyond twice that of BBR", "L100M", excess)
    yield Sample("drops", "cubic", [drops(run) for run in cubic.runs])
    yield Sample("held by TSQ", "cubic", [held_by("small_queue")(run) for run in cubic.runs])


def raised_by_pacing(results: Results) -> Iterator[Sample]:
    for tsq in ("1ms", "2ms"):
        for lower, upper in pairwise(results.axes["pacing"]):
            pair = ({"tsq": tsq, "pacing": upper}, {"tsq": tsq, "pacing": lower})
            case = f"TSQ {tsq}, {upper} : {lower}"
            yield Sample("goodput ratio", case, compared(results, pair, ratio(goodput_mbps)))
            yield Sample("ping ratio", case, compared(results, pair, ratio(ping_ms)))
        place = {"tsq": tsq, "pacing": "120%"}
        yield Sample("held by TSQ", f"TSQ {tsq}", values(results, place, held_by("small_queue")))


def lowered_by_base_rtt(results: Results) -> Iterator[Sample]:
    for place in places("tsq", "1ms 2ms 3ms 4ms"):
        case, pair = f"TSQ {place['tsq']}", ({**place, "rtt": "10ms"}, {**place, "rtt": "1ms"})
        yield Sample("goodput ratio", case, compared(results, pair, ratio(goodput_mbps)))
        yield Sample("held by TSQ", case, values(results, pair[0], held_by("small_queue")))


EVALUATORS: Mapping[str, Evaluator] = {
    "access21-f4-thr": full_queue_throughput,
    "access21-f4-ping-local": ping_ratio("L100M"),
    "access21-f4-ping-remote": ping_ratio("R100M"),
    "access21-f5a-l10": rtt_ratio,
    "access21-f5b-l10": rtt_saved("L10M"),
    "access21-f5b-l100": rtt_saved("L100M"),
    "access21-f5c": bounded_by_fq_codel,
    "access21-f6-saw": saw_tooth,
    "access21-f6-probertt": probe_rtt_intervals,
    "access21-f7-tsq": ruled_by_small_queue,
    "access21-f8a-up": raised_by_pacing,
    "access21-f8b-10": lowered_by_base_rtt,
}

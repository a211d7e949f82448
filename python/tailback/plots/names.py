"""The plots and what each shows: known without what draws them."""

from msgspec import Struct


class Offered(Struct, frozen=True):
    """A plot as lists show it."""

    summary: str
    takes: str = ""
    """What `--metric` may be, for hints; empty if the plot takes no metric."""


ANY = "any metric by name (goodput, ping p99, jain) or by its path in `summary.json` (ping_ms.p90)"
SAMPLES = "goodput, rtt, ping, page load, request"
SERIES = "goodput, ping, rtt, cwnd, queue"
TRACES = "rtt, cwnd, goodput"

PLOTS: dict[str, Offered] = {
    "candlestick": Offered(
        "10-50-90 % of goodput, TCP RTT, and load times of pages or requests, per configuration", SAMPLES
    ),
    "candlestick_ping": Offered("10-50-90 % of goodput and ping per configuration", SAMPLES),
    "box": Offered("quartiles and 5-95 % of the same", SAMPLES),
    "box_ping": Offered("quartiles and 5-95 % of goodput and ping", SAMPLES),
    "bar": Offered("means of goodput, median TCP RTT and ping, with 95 % intervals; --metric", ANY),
    "cdf": Offered("distribution of TCP RTT, with 95 % bands; --metric ping, page load", SAMPLES),
    "fct": Offered("flow completion time over size: a point per flow, medians by size"),
    "scatter": Offered("goodput against ping, a point per repetition, with ellipses", ANY),
    "pareto": Offered("goodput against latency, or --metric, and the settings that no other beats", ANY),
    "heatmap": Offered("TCP RTT, or --metric, over two axes", ANY),
    "band": Offered("goodput over time as mean with 95 % bands; --metric rtt, cwnd", SERIES),
    "aggregates": Offered("how many MPDUs a PPDU carries, up, or down if only downloads send; --metric", "up, down"),
    "aggregate_rtt": Offered(
        "mean aggregate against median TCP RTT, a point per repetition; --metric down", "up, down"
    ),
    "airtime": Offered("share of each Wi-Fi station in the airtime"),
    "air": Offered("each PPDU on the air over 20 ms, or --metric MS", "a number of milliseconds"),
    "queue": Offered("length of each queue over time, one panel per configuration; --metric kB", "packets, kB"),
    "shares": Offered("share of each group of flows in the goodput over time"),
    "rrul": Offered("download, upload and ping over time, as Flent draws RRUL"),
    "cwnd": Offered("congestion windows over time, one panel per configuration"),
    "held": Offered("what holds each sender over time: cwnd, pacing, small queue, receive window, ..."),
    "timeseries": Offered("RTT, cwnd and goodput over time, one column per run; --metric rtt, cwnd, goodput", TRACES),
}

"""The figures of each paper, with the axes and the grouping of the paper."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tailback.analysis import Window
from tailback.analysis.aggregation import backlog, bandwidth_mbps, rtt_ms
from tailback.analysis.rates import sliding_throughput
from tailback.papers import teacup14, ton22
from tailback.papers.drawing import (
    AGGREGATE,
    TCP_RTT,
    Bars,
    Drawing,
    Line,
    Scale,
    Scatter,
    lines_of,
    panels_over_time,
    plotted,
)
from tailback.papers.measuring import Place, goodput_down_mbps, goodput_up_mbps, mpdus_up
from tailback.plots import Choice, style
from tailback.results import Results, RunFolder

UP_AND_DOWN = {"up": goodput_up_mbps, "down": goodput_down_mbps}
PACKET_MB = 1.2e-2
"""Bits of a packet of 1500 B, in millions."""


def first_run(results: Results, place: Place) -> RunFolder:
    """The first repetition of a configuration, because time series of repetitions have no meaningful average."""
    return results.select(**place).runs[0]


def throughput(run: RunFolder) -> list[Line]:
    """Throughput in windows of 2 s every 0.5 s."""
    span = Window(0, run.scenario.duration_ns)
    table = sliding_throughput(run.flows, span, run.scenario.record.interval_ns)
    return lines_of(table[table["mbps"] > 0], "mbps")


def cwnd_kb(run: RunFolder) -> list[Line]:
    """Congestion windows in kB."""
    info = run.tcp_info
    return lines_of(info.assign(kb=info["snd_cwnd"] * teacup14.SEGMENT_KB), "kb")


def smoothed_rtt(run: RunFolder) -> list[Line]:
    """The smoothed RTT of the sockets."""
    info = run.tcp_info[run.tcp_info["rtt"] > 0]
    return lines_of(info.assign(ms=info["rtt"] / 1e3), "ms")


def passive(run: RunFolder) -> list[Line]:
    """The passive RTT from captures at both ends, of every tenth packet."""
    return lines_of(teacup14.passive_rtt(run).iloc[::10], "rtt_ms", ".")


ROWS: Mapping[str, Callable[[RunFolder], list[Line]]] = {
    "Throughput (Mbit/s)": throughput,
    "cwnd (kB)": cwnd_kb,
    "RTT (ms)": smoothed_rtt,
    "Passive RTT (ms)": passive,
}
SENT, WINDOW, SRTT, PASSIVE = ROWS


def staggered(rows: Sequence[str], *columns: Place) -> Callable[..., Figure]:
    """Quantities of three staggered flows over time; captures are from a second experiment."""

    def draw(results: Results, captured: Results | None = None) -> Figure:
        found = []
        for row in rows:
            runs = [first_run(results, place) for place in columns]
            if row == PASSIVE and captured is not None:
                runs = [first_run(captured, {"aqm": place["aqm"]}) for place in columns]
            found.append((row, [ROWS[row](run) for run in runs]))
        return panels_over_time(found, [", ".join(place.values()) for place in columns], (0, 100))

    return draw


def at(rtt: str, limit: str, *aqms: str) -> list[Place]:
    """Configurations of TEACUP's grid."""
    return [teacup14.place(aqm, rtt, limit) for aqm in aqms]


AQMS = teacup14.AQMS


def of_teacup(name: str, numbers: str) -> tuple[Drawing, ...]:
    """The figures that exist for both stacks, with their numbers for this one."""
    plain, both = (name,), (name, f"{name}-passive")
    forms = (
        (both, "FIFO, base RTT 20 ms", [SENT, WINDOW, PASSIVE], at("20ms", "180p", "pfifo")),
        (plain, "FIFO, base RTT 200 ms", [SENT, WINDOW, SRTT], at("200ms", "180p", "pfifo")),
        (both, "AQMs, base RTT 20 ms, 180 packets", [SENT, PASSIVE], at("20ms", "180p", *AQMS)),
        (plain, "AQMs, base RTT 20 ms, 2000 packets", [SENT, SRTT], at("20ms", "2000p", *AQMS)),
        (plain, "AQMs, base RTT 200 ms, 180 packets", [SENT, SRTT], at("200ms", "180p", *AQMS)),
        (plain, "cwnd through AQMs, base RTT 200 ms, 180 packets", [WINDOW], at("200ms", "180p", *AQMS)),
    )
    return tuple(
        Drawing(number, experiments, caption, staggered(rows, *columns))
        for number, (experiments, caption, rows, columns) in zip(numbers.split(), forms, strict=True)
    )


DEEP_FIFO = Drawing(
    "10", ("cubic",), "FIFO of 2000 packets, base RTT 20 and 200 ms",
    staggered([SENT, WINDOW, SRTT], *at("20ms", "2000p", "pfifo"), *at("200ms", "2000p", "pfifo")),
)  # fmt: skip


def model(results: Results) -> Figure:
    """Throughput and RTT over the static limit: simulator (points) and model (lines)."""
    sweep = ton22.sweep_of(results)
    limits = np.arange(1, 401, dtype=np.float64)
    looks = cycle(zip(style.PALETTE, style.MARKERS, style.LINES, strict=False))
    with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both"}):
        figure = Figure(figsize=(style.PAGE_WIDTH, 2.7), layout="constrained")
        left, right = figure.subplots(1, 2)
        for (pacing, part), (colour, marker, line) in zip(sweep.groupby("pacing"), looks, strict=False):
            found = ton22.fit_of(part)
            packets = backlog(limits, np.full_like(limits, float(str(pacing))), found.cell)
            points = {
                "marker": marker,
                "color": colour,
                "markersize": 3,
                "linestyle": "none",
                "markerfacecolor": "none",
            }
            left.plot(part["limit"], part["goodput_mbps"], **points, label=f"simulator, {pacing:.1f}")
            right.plot(part["limit"], part["rtt_ms"], **points)
            words = f"model, {pacing:.1f}: c = {found.cell.share:.2f}"
            left.plot(limits, bandwidth_mbps(packets, found.cell), line, color=colour, label=words)
            right.plot(limits, rtt_ms(packets, found.cell), line, color=colour)
            left.annotate(f"R² = {found.r2_throughput:.3f}", (0.6, 0.25 if line == "-" else 0.15), color=colour,
                          xycoords="axes fraction")  # fmt: skip
            right.annotate(f"R² = {found.r2_rtt:.3f}", (0.05, 0.85 if line == "-" else 0.75), color=colour,
                           xycoords="axes fraction")  # fmt: skip
        left.set_ylabel("Throughput (Mbit/s)")
        right.set_ylabel("TCP RTT (ms)")
        for axes in (left, right):
            axes.set_xlabel("TCP Small Queues limit (packets)")
            axes.set_ylim(bottom=0)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def of_controls(**wanted: str) -> Callable[[Results], Figure]:
    """Goodput and ping, with an ellipse for each control."""
    return lambda results: Scatter("cc")(results.select(**wanted))


def along(axis: str, x: Scale | None = None, y: Scale | None = None, **wanted: str) -> Callable[[Results], Figure]:
    """Two quantities, with a line for each control along an axis."""
    form = Scatter("cc", axis)
    chosen = Scatter("cc", axis, x or form.x, y or form.y)
    return lambda results: chosen(results.select(**wanted))


def by_load(udp: Results, tcp: Results) -> Figure:
    """Aggregate size over the offered load of UDP, and that of one TCP upload."""
    loads = udp.axes["load"]
    sizes = [float(np.mean([mpdus_up(run) for run in udp.select(load=load).runs])) for load in loads]
    uploads = tcp.select(driver="ath9k", direction="upload").runs
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.COLUMN_WIDTH, 2.4), layout="constrained")
        axes = figure.subplots()
        axes.plot(
            [float(load.removesuffix("mbit")) for load in loads], sizes, "o-", color=style.PALETTE[0], label="UDP"
        )
        axes.axhline(
            float(np.mean([mpdus_up(run) for run in uploads])), color=style.PALETTE[1], label="TCP CUBIC, TSQ 1 ms"
        )
        axes.set_xlabel("Offered load (Mbit/s)")
        axes.set_ylabel(AGGREGATE.label)
        axes.legend()
    return figure


DRAWINGS: Mapping[str, tuple[Drawing, ...]] = {
    "access21": (
        Drawing("4", ("fig4",), "four CUBIC uploads, TSQ and bottleneck", plotted("candlestick_ping")),
        Drawing("5a", ("fig5",), "CUBIC over pfifo_fast", plotted("candlestick", cc="cubic", qdisc="pfifo_fast")),
        Drawing("5b", ("fig5",), "BBR over pfifo_fast", plotted("candlestick", cc="bbr", qdisc="pfifo_fast")),
        Drawing("5c", ("fig5",), "BBR over FQ-CoDel", plotted("candlestick", cc="bbr", qdisc="fq_codel")),
        Drawing("6", ("fig6",), "remote bottleneck over time", plotted("timeseries")),
        Drawing("7", ("fig7",), "local bottleneck over time", plotted("timeseries")),
        Drawing("8a", ("fig8a",), "pacing ratio and TSQ above 802.11n", Scatter("pacing", "tsq")),
        Drawing("8b", ("fig8b",), "base RTT and TSQ above 802.11n", Scatter("rtt", "tsq")),
    ),
    "wlan18": (
        Drawing("3", ("uploads",), "one upload, no TSQ", of_controls(flows="1")),
        Drawing("4", ("uploads",), "four uploads, no TSQ", of_controls(flows="4")),
        Drawing("5", ("rrul",), "RRUL, no TSQ", Bars("cc", UP_AND_DOWN)),
        Drawing("6", ("qdiscs",), "a download through disciplines of the access point", Scatter("qdisc")),
        Drawing(
            "9", ("static-tsq",), "one CUBIC upload, static TSQ", lambda found: Scatter("tsq")(found.select(flows="1"))
        ),
        Drawing(
            "10",
            ("static-tsq",),
            "four CUBIC uploads, static TSQ",
            lambda found: Scatter("tsq")(found.select(flows="4")),
        ),
        Drawing("11", ("rrul-tsq",), "RRUL, CUBIC, static TSQ", Bars("tsq", UP_AND_DOWN)),
        Drawing("13", ("fq_codel",), "one upload over FQ-CoDel, standard TSQ", of_controls()),
    ),
    "ton22": (
        Drawing(
            "4",
            ("both-ways",),
            "one CUBIC flow up or down",
            plotted("band", Choice(colour="direction", facet=("driver",))),
        ),
        Drawing("4e", ("udp", "both-ways"), "aggregates of UDP and TCP", by_load),
        Drawing("5a", ("tsq",), "ath9k, standard TSQ", of_controls(tsq="1ms")),
        Drawing("6", ("model",), "model and simulator over the static limit", model),
        Drawing("7", ("tsq",), "ath9k, TSQ from 1 to 16 ms", along("tsq")),
        Drawing("8", ("tsq",), "ath9k, aggregates and TCP RTT", along("tsq", x=TCP_RTT, y=AGGREGATE)),
        Drawing("9", ("ath10k-tsq",), "ath10k, TSQ from 1 to 32 ms", along("tsq")),
        Drawing("10", ("pacing",), "ath9k, standard TSQ, pacing 1p to 3p", along("pacing", tsq="1ms")),
        Drawing("11", ("pacing",), "ath9k, TSQ 4 ms, pacing 1p to 3p", along("pacing", tsq="4ms")),
        Drawing("12", ("cwnd",), "ath9k, congestion windows", plotted("cwnd", pacing="1p")),
        Drawing("14", ("ath10k-pacing",), "ath10k, TSQ 8 ms, pacing 1p to 3p", along("pacing")),
        Drawing("15", ("rrul",), "RRUL above ath9k, TSQ 1 and 32 ms", Bars("cc", UP_AND_DOWN, "station_tsq")),
    ),
    "teacup14": (*of_teacup("newreno", "2 3 4 5 6 7"), *of_teacup("cubic", "8 9 11 12 13 14"), DEEP_FIFO),
}

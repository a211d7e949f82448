"""The figures of each paper that show data, with the axes and the grouping of the paper."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tailback.analysis import Window
from tailback.analysis.aggregation import Cell, backlog, bandwidth_mbps, rtt_ms
from tailback.analysis.rates import sliding_throughput
from tailback.papers import teacup14, ton22
from tailback.papers.claims import Paper
from tailback.papers.diagrams import diagram, table
from tailback.papers.drawing import (
    AGGREGATE,
    GOODPUT,
    TCP_RTT,
    Bars,
    Beside,
    Drawing,
    Line,
    PingBars,
    Scale,
    Scatter,
    lines_of,
    panels_over_time,
    plotted,
)
from tailback.papers.measuring import Place, goodput_down_mbps, goodput_up_mbps, mpdus_up
from tailback.plots import Choice, style
from tailback.results import Results, RunResult

UP_AND_DOWN = {"up": goodput_up_mbps, "down": goodput_down_mbps}
PACKET_MB = 1.2e-2
"""Bits of a packet of 1500 B, in millions."""


def first_run(results: Results, place: Place) -> RunResult:
    """The first repetition of a configuration, because time series of repetitions have no meaningful average."""
    return results.select(**place).runs[0]


def throughput(run: RunResult) -> list[Line]:
    """Throughput in windows of 2 s every 0.5 s."""
    span = Window(0, run.scenario.duration_ns)
    table = sliding_throughput(run.flows, span, run.scenario.record.interval_ns)
    return lines_of(table[table["mbps"] > 0], "mbps")


def cwnd_kb(run: RunResult) -> list[Line]:
    """Congestion windows in kB."""
    info = run.tcp_info
    return lines_of(info.assign(kb=info["snd_cwnd"] * teacup14.SEGMENT_KB), "kb")


def passive(run: RunResult) -> list[Line]:
    """The passive RTT from captures at both ends, of every tenth packet."""
    return lines_of(teacup14.passive_rtt(run).iloc[::10], "rtt_ms", ".")


ROWS: Mapping[str, Callable[[RunResult], list[Line]]] = {
    "Throughput (Mbit/s)": throughput,
    "cwnd (kB)": cwnd_kb,
    "Passive RTT (ms)": passive,
}
SENT, WINDOW, PASSIVE = ROWS


def panels_of_runs(
    rows: Sequence[str], columns: Sequence[tuple[str, RunResult]], span_s: tuple[float, float]
) -> Figure:
    """Quantities of staggered flows over time: a row for each, a column for each run."""
    found = [(row, [ROWS[row](run) for _, run in columns]) for row in rows]
    return panels_over_time(found, [title for title, _ in columns], span_s)


WHOLE = (0, 100)
"""The seconds of a run of staggered flows."""


def two_runs(path: str) -> Callable[[Results], Figure]:
    """Throughput, cwnd and passive RTT through the FIFO, in two runs."""

    def draw(results: Results) -> Figure:
        runs = results.select(path=path).runs
        return panels_of_runs([SENT, WINDOW, PASSIVE], [(f"run {run.repetition}", run) for run in runs], WHOLE)

    return draw


def aqms(path: str, *rows: str) -> Callable[[Results], Figure]:
    """Quantities of one run through each AQM."""

    def draw(results: Results) -> Figure:
        columns = [(aqm, first_run(results, {"path": path, "aqm": aqm})) for aqm in teacup14.AQMS]
        return panels_of_runs(rows, columns, WHOLE)

    return draw


def of_teacup(name: str, numbers: str) -> tuple[Drawing, ...]:
    """The figures that exist for both stacks, with their numbers for this one."""
    fifo, captured = (f"{name}-fifo",), (f"{name}-passive",)
    forms = (
        (fifo, "FIFO, base RTT 20 ms, two runs", two_runs("20ms")),
        (fifo, "FIFO, base RTT 200 ms, two runs", two_runs("200ms")),
        (captured, "AQMs, base RTT 20 ms, 180 packets", aqms("20ms", SENT, PASSIVE)),
        (captured, "AQMs, base RTT 20 ms, 2000 packets", aqms("20ms, 2000p", SENT, PASSIVE)),
        (captured, "AQMs, base RTT 200 ms, 180 packets", aqms("200ms", SENT, PASSIVE)),
        (captured, "cwnd through AQMs, base RTT 200 ms, 180 packets", aqms("200ms", WINDOW)),
    )
    return tuple(
        Drawing(number, experiments, caption, draw)
        for number, (experiments, caption, draw) in zip(numbers.split(), forms, strict=True)
    )


def close_up(results: Results) -> Figure:
    """Figure 10: passive RTT of the first flow alone, packet by packet, while it starts."""
    run = first_run(results, {"path": "200ms"})
    found = teacup14.passive_rtt(run)
    lines = lines_of(found[(found["flow"] == "flow1") & (found["t"] <= CLOSE_UP_S)], "rtt_ms", ".")
    return panels_over_time([(PASSIVE, [lines])], [""], (0, CLOSE_UP_S))


CLOSE_UP_S = 2.5


def cwnd_by_pacing(results: Results) -> Figure:
    """cwnd over time, a column for each TSQ, lines for control and pacing ratio."""
    columns = results.axes["tsq"]
    lines = [[line for run in _firsts(results.select(tsq=tsq)) for line in _cwnd_line(run)] for tsq in columns]
    return panels_over_time([("cwnd (segments)", lines)], [f"TSQ {tsq}" for tsq in columns], (0, 40))


def _firsts(results: Results) -> list[RunResult]:
    return [run for run in results.runs if run.repetition == 1]


def _cwnd_line(run: RunResult) -> list[Line]:
    info = run.tcp_info
    return [Line(f"{run.axes['cc']} {run.axes['pacing']}", info["t"], info["snd_cwnd"])]


def rates_and_rtt(results: Results) -> Figure:
    """Throughput and TCP RTT over time, a column without TSQ and one with it, lines for the controls."""
    columns = results.axes["tsq"]
    parts = [_firsts(results.select(tsq=tsq)) for tsq in columns]
    rows = [
        ("Throughput (Mbit/s)", [[_total_line(run) for run in part] for part in parts]),
        ("TCP RTT (ms)", [[_rtt_line(run) for run in part] for part in parts]),
    ]
    titles = ["NoTSQ" if tsq == "off" else f"TSQ {tsq}" for tsq in columns]
    return panels_over_time(rows, titles, (0, 40))


def _total_line(run: RunResult) -> Line:
    sums = run.flows.groupby("t", as_index=False)["bytes"].sum()
    bins = (sums["t"] // 1).astype(int)
    rate = sums.groupby(bins)["bytes"].sum() * 8 / 1e6
    return Line(run.axes["cc"], rate.index + 0.5, rate.to_numpy())


def _rtt_line(run: RunResult) -> Line:
    info = run.tcp_info[run.tcp_info["rtt"] > 0]
    mean = info.groupby("t")["rtt"].mean() / 1e3
    return Line(run.axes["cc"], mean.index, mean.to_numpy())


def in_flight() -> Figure:
    """Delivery rate and RTT over the data in flight, by the model: without aggregation, and with it."""
    packets = np.linspace(1, 220, 400)
    with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both"}):
        figure = Figure(figsize=(style.PAGE_WIDTH, 2.5), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, line, points, cell in (
            ("no aggregation: wired", "-", "AC", Cell(max_packets=1)),
            ("aggregation: Wi-Fi", "--", "BD", Cell()),
        ):
            full = np.array([float(cell.max_aggregate)])
            for axes, point, value in ((left, points[0], bandwidth_mbps), (right, points[1], rtt_ms)):
                axes.plot(packets, value(packets, cell), line, color=style.BLACK, label=name)
                axes.plot(full, value(full, cell), "o", color=style.BLACK, markersize=4)
                axes.annotate(point, (full[0], value(full, cell)[0]), xytext=(-9, 3), textcoords="offset points")
        left.set_ylabel("Delivery rate (Mbit/s)")
        right.set_ylabel("RTT (ms)")
        for axes in (left, right):
            axes.set_xlabel("Data in flight (packets)")
            axes.set_ylim(bottom=0)
        right.set_ylim(top=60)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def model(results: Results) -> Figure:
    """Throughput and RTT over the static limit: simulator (points) and model (lines)."""
    sweep = ton22.sweep_of(results)
    limits = np.arange(1, 401, dtype=np.float64)
    looks = cycle(zip(style.PALETTE, style.MARKERS, style.LINES, strict=False))
    with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both"}):
        figure = Figure(figsize=(style.PAGE_WIDTH, 2.7), layout="constrained")
        left, right = figure.subplots(1, 2)
        for (pacing, part), (colour, marker, line), size in zip(sweep.groupby("pacing"), looks, (6, 3), strict=False):
            found = ton22.fit_of(part)
            packets = backlog(limits, np.full_like(limits, float(str(pacing))), found.cell)
            points = {
                "marker": marker,
                "color": colour,
                "markersize": size,
                "linestyle": "none",
                "markerfacecolor": "none",
            }
            left.plot(part["limit"], part["goodput_mbps"], **points, label=f"simulator, {pacing:.1f}")
            right.plot(part["limit"], part["rtt_ms"], **points)
            words = f"model, {pacing:.1f}: c = {found.cell.share:.2f}"
            width = size / 3
            left.plot(limits, bandwidth_mbps(packets, found.cell), line, color=colour, label=words, linewidth=width)
            right.plot(limits, rtt_ms(packets, found.cell), line, color=colour, linewidth=width)
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


def paced(second: tuple[Scale, Scale], **wanted: str) -> Callable[[Results], Figure]:
    """Goodput and ping, and beside them other quantities, with a line for each control along the pacing ratio."""
    forms = Beside([Scatter("cc", "pacing"), Scatter("cc", "pacing", *second)])
    return lambda results: forms(results.select(**wanted))


def qdiscs(case: str) -> Callable[[Results], Figure]:
    """Goodput and ping for each discipline."""
    return lambda results: Scatter("qdisc")(results.select(case=case))


def flows_by_limit(flows: str) -> Callable[[Results], Figure]:
    """Goodput and ping for each TSQ."""
    return lambda results: Scatter("tsq")(results.select(flows=flows))


def by_tsq(colour: str) -> Callable[[Results], Figure]:
    """Candlesticks of goodput and TCP RTT for each TSQ, in the colours of another axis."""
    return plotted("candlestick", Choice(x="tsq", colour=colour))


UPLOADS, TWO = ("uploads",), ("static-tsq",)
RTT_ALONE = Choice(metric="rtt")

DRAWINGS: Mapping[str, tuple[Drawing, ...]] = {
    "access21": (
        Drawing("4", ("fig4",), "four CUBIC uploads, TSQ and bottleneck", plotted("candlestick_ping")),
        Drawing("5a", ("fig5",), "CUBIC over PFIFO", plotted("candlestick", RTT_ALONE, cc="cubic", qdisc="pfifo_fast")),
        Drawing("5b", ("fig5",), "BBR over PFIFO", plotted("candlestick", RTT_ALONE, cc="bbr", qdisc="pfifo_fast")),
        Drawing("5c", ("fig5",), "BBR over FQ-CoDel", plotted("candlestick", RTT_ALONE, cc="bbr", qdisc="fq_codel")),
        Drawing("6", ("fig6",), "remote bottleneck over time, without TSQ and with it", rates_and_rtt),
        Drawing("7", ("fig7",), "local bottleneck over time, without TSQ and with it", rates_and_rtt),
        Drawing("8a", ("fig8a",), "TSQ and pacing above 802.11n", by_tsq("pacing")),
        Drawing("8b", ("fig8b",), "TSQ and base RTT above 802.11n", by_tsq("rtt")),
    ),
    "wlan18": (
        Drawing("3", UPLOADS, "one upload, no TSQ, FIFO", of_controls(flows="1")),
        Drawing("4", UPLOADS, "four uploads, no TSQ, FIFO", of_controls(flows="4")),
        Drawing("5", ("rrul",), "RRUL, no TSQ, FIFO", Bars("cc", UP_AND_DOWN)),
        Drawing("6", ("qdiscs",), "one download through disciplines", qdiscs("one down")),
        Drawing("7", ("qdiscs",), "four downloads through disciplines", qdiscs("four down")),
        Drawing("8", ("qdiscs",), "one upload through disciplines", qdiscs("one up")),
        Drawing("9", TWO, "one CUBIC upload, static TSQ", flows_by_limit("1")),
        Drawing("10", TWO, "four CUBIC uploads, static TSQ", flows_by_limit("4")),
        Drawing("11", ("rrul-tsq",), "RRUL, CUBIC, static TSQ", Bars("tsq", UP_AND_DOWN)),
        Drawing("12", ("fq_codel",), "ping of one upload over FQ-CoDel", PingBars("cc", "tsq")),
        Drawing("13", ("fq_codel",), "one upload over FQ-CoDel, standard TSQ", of_controls(tsq="1ms")),
        Drawing("14", ("rrul-fq_codel",), "RRUL over FQ-CoDel, standard TSQ and 64 kB", Bars("cc", UP_AND_DOWN, "tsq")),
    ),
    "ton22": (
        Drawing("2", (), "delivery rate and RTT by the model", in_flight),
        Drawing(
            "4",
            ("both-ways",),
            "one CUBIC flow up or down",
            plotted("band", Choice(colour="direction", facet=("driver",))),
        ),
        Drawing("4e", ("udp", "both-ways"), "aggregates of UDP and TCP", by_load),
        Drawing("5a", ("tsq",), "ath9k, one upload, standard TSQ", of_controls(tsq="1ms")),
        Drawing("5b", ("four",), "ath9k, four uploads, standard TSQ", of_controls()),
        Drawing("6", ("model",), "model and simulator over the static limit", model),
        Drawing("7", ("tsq",), "ath9k, TSQ from 1 to 16 ms", along("tsq")),
        Drawing("8", ("tsq",), "ath9k, aggregates and TCP RTT", along("tsq", x=TCP_RTT, y=AGGREGATE)),
        Drawing("9", ("ath10k-tsq",), "ath10k, TSQ from 1 to 32 ms", along("tsq")),
        Drawing("10", ("pacing",), "ath9k, standard TSQ, 1p to 3p", paced((TCP_RTT, AGGREGATE), tsq="1ms")),
        Drawing("11", ("pacing",), "ath9k, TSQ 4 ms, 1p to 3p", paced((TCP_RTT, AGGREGATE), tsq="4ms")),
        Drawing("12", ("cwnd",), "ath9k, congestion windows", cwnd_by_pacing),
        Drawing("13", ("ath10k-pacing",), "ath10k, standard TSQ, 1p to 3p", paced((GOODPUT, TCP_RTT), tsq="1ms")),
        Drawing("14", ("ath10k-pacing",), "ath10k, TSQ 8 ms, 1p to 3p", paced((GOODPUT, TCP_RTT), tsq="8ms")),
        Drawing("15", ("rrul",), "RRUL above ath9k, TSQ 1 and 32 ms", Bars("cc", UP_AND_DOWN, "station_tsq")),
        Drawing("16", ("rrul-pacing",), "RRUL above ath9k, TSQ 32 ms, 1p to 3p", Bars("cc", UP_AND_DOWN, "pacing")),
    ),
    "teacup14": (
        *of_teacup("newreno", "2 3 4 5 6 7"),
        *of_teacup("cubic", "8 9 11 12 13 14"),
        Drawing("10", ("cubic-fifo",), "the first flow of figure 9e, from 0 to 2.5 s", close_up),
    ),
}


def drawings_of(paper: Paper) -> tuple[Drawing, ...]:
    """The figures of a paper: those that show data, then its diagrams and tables."""
    still = [*map(diagram, paper.testbed.diagrams), *map(table, paper.testbed.tables)]
    return (*DRAWINGS[paper.paper], *still)

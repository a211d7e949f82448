"""Warnings about likely mistakes in a valid experiment, each with a code, the key, the problem and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from tailback import qdiscs
from tailback.algorithms import Registry
from tailback.resolved import Qdisc
from tailback.scenario import class_guards, marking, reach, unmeasured
from tailback.scenario.bare_numbers import BareNumber, bare_numbers, of_driver
from tailback.scenario.case import Case, Mistake, leaf
from tailback.scenario.defaults import STACK
from tailback.scenario.document import Node, at, nearest
from tailback.scenario.errors import Where
from tailback.scenario.experiment import Experiment
from tailback.scenario.flows import offloads_of
from tailback.scenario.hops import Wire, wires
from tailback.scenario.meanings import MEANINGS
from tailback.scenario.over_time import during
from tailback.scenario.packets import control_of, data_of, draws
from tailback.scenario.paths import Loc, show
from tailback.scenario.schema import Change, SignalChange, Wifi
from tailback.scenario.shell_words import unread
from tailback.scenario.stacks import stacks
from tailback.scenario.traffic.ping import Echo
from tailback.scenario.traffic.tcp import Bulk
from tailback.scenario.traffic.udp import Datagrams
from tailback.scenario.values import direction
from tailback.tc import units
from tailback.tc.units import rate_word, size_word, time_word

#: Fewer pings than this are too few for a 99th percentile.
MIN_PINGS = 100

#: Slow start has ended after this many round trips of the path without a queue, on all paths that we tried. A queue
#: makes round trips longer: by up to 1 s, but on the short paths of a data centre by far less.
SLOW_START_ROUND_TRIPS = 20
SLOW_START_WITH_QUEUE_NS = 10**9
SLOW_START_WITH_QUEUE_ROUND_TRIPS = 1000
#: A path without delay still has cards and cables.
SHORTEST_ROUND_TRIP_NS = 10_000

#: The largest skb [linux-6.12 netdevice.h GSO_LEGACY_MAX_SIZE], and the transmission time above which we warn of it.
LARGEST_SKB = 65_536
LONG_SKB_NS = 5 * 10**6

#: A rate in bytes per second.
BYTES = re.compile(r"(?<![\w.])(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<prefix>[kmgKMG])[bB]ps\b")

#: A queue of this share of the bandwidth-delay product (BDP) counts as one BDP: a limit that was computed in packets of
#: 1500 bytes, or rounded, is a little smaller.
NEARLY_BDP_PERCENT = 95

#: Titles that say where the bottleneck is.
LOCAL = re.compile(r"\blocal\b.*bottleneck|bottleneck at the (sender|client)")
REMOTE = re.compile(r"\bremote\b.*bottleneck|bottleneck at the router|router bottleneck")


WARNINGS: Mapping[str, str] = {code: row.text for code, row in MEANINGS.items()}
"""What each code of a warning means, for `tailback explain`."""


class LintWarning(Struct, frozen=True):
    """A likely mistake. `info` only explains; `warning` suggests a change."""

    code: str
    severity: Literal["warning", "info"]
    where: Where
    path: str
    text: str
    remedy: str
    extent: float = 0.0
    """How bad it is, among the warnings with the same code."""

    def __str__(self) -> str:
        return f"{self.where}: {self.path}: {self.severity}: {self.text} [{self.code}]\n  hint: {self.remedy}"


def lint(experiment: Experiment) -> list[LintWarning]:
    """Warns of common mistakes in all configurations, each once, in the order of the file."""
    found: dict[LintWarning, None] = {}
    for configuration in experiment.configurations:
        case = Case(configuration, experiment.registry)
        for warning in (*_warnings(case), *_written(configuration.tree, experiment.registry)):
            where = nearest(configuration.tree, warning.loc).where
            path = show(warning.loc)
            said = LintWarning(
                warning.code, warning.severity, where, path, warning.text, warning.remedy, warning.extent
            )
            found[said] = None
    found |= dict.fromkeys(_without_effect(experiment))
    return sorted(found, key=lambda warning: (warning.where.file, warning.where.line or 0, warning.code))


def _warnings(case: Case) -> Iterator[Mistake]:
    for device in case.keys.qdiscs:
        root = case.device(device).root
        assert root is not None
        yield from _no_room(case, device, root)
        yield from _short_burst(case, device, root)
        yield from _lossy_netem(case, device, root)
        yield from _short_queue(case, device, root)
        yield from _long_burst(case, device, root)
        yield from marking.ecn_not_requested(case, device, root)
        yield from _large_skbs(case, device, root)
        yield from _idle_adaptation(case, device, root)
        yield from _netem_at_sender(case, device, root)
        yield from _netem_limit(case, device, root)
        yield from _netem_reorders(case, device, root)
        yield from _of_classes(case, device, root)
    yield from _bbr_on_plain_queue(case)
    yield from marking.unmarked(case)
    yield from marking.scalable(case)
    yield from marking.accurate_at_one_end(case)
    yield from _bounded_by_small_queues(case)
    yield from _few_pings(case)
    for missed in unmeasured.completions(case.flows, case.window):
        yield Mistake("completion-unmeasured", "warning", missed.loc, missed.text, missed.remedy, missed.extent)
    # A window that the file gives, or that ends with the last stop of the file, is meant so.
    if case.keys.measure.window is None and case.window[1] == case.keys.duration:
        for silent in unmeasured.silences(case.flows, case.window):
            yield Mistake("silence-measured", "warning", silent.loc, silent.text, silent.remedy, silent.extent)
    yield from _slow_start(case)
    yield from _same_starts(case)
    yield from _bottleneck(case)
    yield from _too_slow(case)
    for each in reach.out_of_reach(case):
        yield Mistake("out-of-reach", each.severity, each.loc, each.text, each.remedy, each.extent)
    for each in (*reach.policed(case.keys), *reach.down(case.keys, case.window)):
        yield Mistake("nothing-passes", "warning", each.loc, each.text, each.remedy, each.extent)
    for wire in wires(case.keys):
        yield from _lossy_link(case, wire)
        yield from _lossy_offloads(case, wire)
        yield from _truncated_jitter(wire)
        yield from _short_trace(case, wire)
        yield from _late_change(case, wire.place, wire.link.schedule)
    for place, link in enumerate(case.keys.links):
        if isinstance(link, Wifi):
            yield from _late_change(case, ("links", place), link.schedule)


def _written(tree: Node, registry: Registry) -> Iterator[Mistake]:
    """Warnings of how values are written."""
    yield from _bytes_per_second(tree)
    qdiscs_node = at(tree, ("qdiscs",))
    for device, root in qdiscs_node.entries().items() if qdiscs_node is not None else ():
        for stage in root.items() or [root]:
            yield from _bare_numbers(("qdiscs", device), bare_numbers(str(stage.value), registry.qdiscs))
    traffic = at(tree, ("traffic",))
    for place, entry in enumerate(traffic.items() if traffic is not None else ()):
        run = entry.entries().get("run")
        found = None if run is None else unread(str(run.value))
        if found is not None:
            text = f"`{found.word}` reaches the program as it is, because no shell reads it: it {found.does}"
            yield Mistake("no-shell", "warning", ("traffic", place, "run"), text, found.remedy)
    links = at(tree, ("links",))
    for place, link in enumerate(links.items() if links is not None else ()):
        driver = link.entries().get("driver")
        for each in () if driver is None else (driver.entries().values() or [driver]):
            yield from _bare_numbers(("links", place, "driver"), of_driver(str(each.value), registry.drivers))


def _without_effect(experiment: Experiment) -> Iterator[LintWarning]:
    """What no configuration uses: variables, and keys of TCP without a flow over TCP."""
    first, *others = experiment.configurations
    for name in (name for name in first.unused if all(name in other.unused for other in others)):
        remedy = f"write ${{{name}}} where it is meant, or remove it"
        where, text = first.unused[name].where, f"`{name}` is used nowhere"
        yield LintWarning("without-effect", "warning", where, f"let.{name}", text, remedy)
    given = [key for key in OF_TCP if key in first.tree.entries()]
    if given and not any(Case(each, experiment.registry).over_tcp for each in experiment.configurations):
        for key in given:
            remedy = "remove it, or add a flow over TCP to `traffic`"
            where, text = nearest(first.tree, (key,)).where, "no flow of the file is over TCP"
            yield LintWarning("without-effect", "warning", where, key, text, remedy)


OF_TCP = ("cc", "tsq")
"""Keys of the file that only flows over TCP have."""


def _bare_numbers(loc: Loc, found: Iterable[BareNumber]) -> Iterator[Mistake]:
    for bare in found:
        reads = f"tc reads a {bare.noun} without a unit in {bare.base}"
        said = f"`{bare.option}` of `{bare.kind}`: `{bare.word}` is {bare.value}, because {reads}"
        other = f", or {bare.value} if you mean that" if bare.value != bare.likely else ""
        yield Mistake("bare-number", "warning", loc, said, f"write {bare.likely}{other}")


def _bytes_per_second(node: Node, loc: Loc = ()) -> Iterator[Mistake]:
    """`100Mbps`, which tc reads as megabytes, is written by people who mean megabits."""
    if isinstance(node.value, dict):
        for key, child in node.value.items():
            yield from _bytes_per_second(child, (*loc, key))
    elif isinstance(node.value, list):
        for place, child in enumerate(node.value):
            yield from _bytes_per_second(child, (*loc, place))
    elif loc[:1] != ("title",) and isinstance(node.value, str) and (found := BYTES.search(node.value)) is not None:
        rate = units.rate(found[0])
        text = f"`{found[0]}` is {rate_word(rate)}: `bps` counts bytes, as in tc"
        bits = f"{found['number']}{found['prefix'].lower()}bit"
        yield Mistake("bytes-per-second", "warning", loc, text, f"write {bits}, or {rate_word(rate)} if you mean that")


def _short_queue(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    rate = case.rate(device)
    capacity = _buffer(case, device, leaf(root))
    limited = [flow for flow in case.through(device) if _is_slowest(case, device, flow)]
    if rate is None or capacity is None or not limited:
        return
    product = rate * max(case.round_trip(flow) for flow in limited) // (8 * 10**9)
    if case.frame(device) <= capacity < product * NEARLY_BDP_PERCENT // 100:
        kind = leaf(root).kind
        text = f"`{kind}` holds {size_word(capacity)}, less than the bandwidth-delay product of {size_word(product)}"
        remedy = f"give it at least {-(-product // case.frame(device))} packets, or expect idle time after each loss"
        yield Mistake("queue-below-bdp", "warning", ("qdiscs", device), text, remedy, product / capacity)


def _no_room(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    capacity, frame = _buffer(case, device, leaf(root)), case.frame(device)
    if capacity is not None and capacity < frame and case.crossing(device):
        text = (
            f"`{leaf(root).kind}` holds {size_word(capacity)}, which is less than one full-sized frame: it drops data"
        )
        remedy = f"give it a limit of at least a frame of {frame} bytes, or one packet"
        yield Mistake("nothing-passes", "warning", ("qdiscs", device), text, remedy)


def _short_burst(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    """A token bucket that a full-sized frame does not fit into. [linux-6.12 sch_tbf.c tbf_enqueue]"""
    for stage in root.tree:
        burst, frame = (case.option(stage, "burst") if stage.kind == "tbf" else None), case.frame(device)
        if burst is not None and burst < frame and case.crossing(device):
            text = f"the bucket of `tbf` holds {size_word(burst)}, less than one full-sized frame: it drops data"
            remedy = f"give it a `burst` of {frame} bytes or more: as its rate times 1 to 10 ms"
            yield Mistake("nothing-passes", "warning", ("qdiscs", device), text, remedy)


def _lossy_netem(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    if case.crossing(device) and any(_loses_all(case, stage.options) for stage in root.tree if stage.kind == "netem"):
        remedy = "give a smaller `loss`; to study an outage, give a link a `schedule`"
        yield Mistake("nothing-passes", "warning", ("qdiscs", device), "`netem` loses every packet", remedy)


def _lossy_link(case: Case, wire: Wire) -> Iterator[Mistake]:
    there, back = wire.link.ends
    ways = (f"{there} -> {back}", f"{back} -> {there}")
    measured = [during(wire.values("loss", end), case.window) for end in (0, 1)]
    lost = [way for way, each in zip(ways, measured, strict=True) if all(_loses_all(case, loss) for _, loss in each)]
    if lost:
        text = f"the link loses every packet ({' and '.join(lost)})"
        remedy = "give a smaller `loss`; to study an outage, change it by a `schedule`"
        key = wire.key("loss", next(iter(measured[ways.index(lost[0])]))[0])
        yield Mistake("nothing-passes", "warning", key, text, remedy)


def _too_slow(case: Case) -> Iterator[Mistake]:
    """A hop on the path of data that fewer than ten full-sized frames pass in the window."""
    start, stop = case.window
    for (link, sender), flows_ in case.by_hop.items():
        device = case.network.device(link, sender)
        wire = case.device(device).wire
        # A trace is a measurement: nobody has written its rate.
        traced = wire is not None and any(trace is not None for trace in wire.trace)
        rate = None if traced else case.rate(device)
        frame_ns = 0 if rate is None else case.frame(device) * 8 * 10**9 // max(rate, 1)
        if reach.FEW_FRAMES * frame_ns > stop - start:
            text = f"{device} takes {time_word(frame_ns)} for a full-sized frame at {rate_word(rate or 0)}"
            remedy = "raise its rate: `kbit` and `mbit` are thousands and millions of bits per second"
            yield Mistake("nothing-passes", "warning", flows_[0].loc, text, remedy, frame_ns)


def _loses_all(case: Case, options: Mapping[str, int] | None) -> bool:
    """Whether options of netem lose every packet."""
    row = next((row for row in case.registry.qdiscs if row.name == "netem"), None)
    parameter = row.parameter("loss") if row is not None else None
    return parameter is not None and (options or {}).get("loss") == parameter.max


def _bounded_by_small_queues(case: Case) -> Iterator[Mistake]:
    """A path of one link, whose only queue is a FIFO at the sender that TCP Small Queues does not let grow."""
    for flow in case.bulk:
        hops = case.network.links_on(*flow.direction)
        kind = case.first_queue(flow)
        # Without a discipline in the file, a link with a rate has pfifo_fast.
        if len(hops) != 1 or (kind is not None and qdiscs.of(kind).queue not in ("one fifo", "fifos")):
            continue
        device = case.network.device(*hops[0])
        rate, capacity = case.rate(device), _capacity_of_first(case, device)
        product = 0 if rate is None else rate * case.round_trip(flow) // (8 * 10**9)
        if rate is not None and flow.tsq.kind in ("time", "check") and (capacity is None or capacity > product):
            text = "TCP Small Queues keeps the only queue of the path, which is the sender's, short"
            remedy = "to see a queue that fills, put a router between the hosts and the bottleneck behind it"
            yield Mistake("queue-bounded-by-tsq", "info", flow.loc, text, remedy)


def _capacity_of_first(case: Case, device: str) -> int | None:
    root = case.devices[device].root
    return None if root is None else _buffer(case, device, root)


def _is_slowest(case: Case, device: str, flow: Bulk) -> bool:
    """No device on the path of the flow is slower than this one."""
    rates = [_hop_rate(case, *hop) for hop in case.network.links_on(*flow.direction)]
    return case.rate(device) == min((rate for rate in rates if rate is not None), default=None)


def _long_burst(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    shapers = [(each.options, each.child) for each in _with_descendants(root)]
    shapers += [(each.options, each.child) for node in _with_descendants(root) for each in node.classes]
    for options, child in shapers:
        burst = options.get("burst")
        capacity = _buffer(case, device, child) if child is not None else None
        if burst is not None and child is not None and capacity is not None and burst > capacity:
            text = f"a burst of {size_word(burst)} exceeds the limit of `{leaf(child).kind}`, {size_word(capacity)}"
            remedy = "give a smaller burst, such as 1600b"
            yield Mistake("burst-above-queue", "warning", ("qdiscs", device), text, remedy, burst / max(capacity, 1))


def _netem_at_sender(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    """netem orphans the packets that it delays. [linux-6.12 sch_netem.c skb_orphan_partial]"""
    sends = direction(device).source in case.senders
    if sends and any(_delays(stage) for stage in root.tree):
        text = (
            "`netem` delays packets of a local sender: TCP Small Queues and the qdisc's feedback have no effect there"
        )
        remedy = "give the link a `delay`, or put netem on another host"
        yield Mistake("netem-at-sender", "warning", ("qdiscs", device), text, remedy)


def _netem_limit(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    rate = _most_through(case, device)
    for stage in root.tree:
        delay, limit = stage.options.get("delay", 0), case.option(stage, "limit")
        if stage.kind != "netem" or not delay or limit is None or rate is None:
            continue
        needed = -(-rate * delay // (8 * 10**9 * case.frame(device)))
        if limit < needed:
            text = f"`netem` holds {limit} packets, but {time_word(delay)} at {rate_word(rate)} need {needed}"
            remedy = f"raise the limit: limit {2 * needed}"
            yield Mistake("netem-limit", "warning", ("qdiscs", device), text, remedy, needed / max(limit, 1))


def _netem_reorders(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    """netem sends packets in the order of their random delays, unless it has a rate. [linux-6.12 sch_netem.c]"""
    rate = _most_through(case, device)
    for stage in root.tree:
        jitter = stage.options.get("jitter", 0)
        if stage.kind != "netem" or stage.options.get("rate") or rate is None:
            continue
        gap = case.frame(device) * 8 * 10**9 // rate
        if jitter > gap:
            text = (
                f"`netem` reorders packets: its jitter of {time_word(jitter)} is longer than the "
                f"{time_word(gap // 1000 * 1000 or gap)} between two packets at {rate_word(rate)}"
            )
            remedy = "give the link a `jitter`, which keeps packets in order, unless you study reordering"
            yield Mistake("netem-reorders", "warning", ("qdiscs", device), text, remedy, jitter / max(gap, 1))


def _bottleneck(case: Case) -> Iterator[Mistake]:
    """Compares the bottleneck that the title mentions with the slowest device."""
    title = (case.keys.title or "").lower()
    local, remote = LOCAL.search(title) is not None, REMOTE.search(title) is not None
    if local == remote:
        return
    for flow in case.flows:
        if isinstance(flow, Echo):
            continue
        hops = case.network.links_on(*data_of(flow))
        rates = [_hop_rate(case, index, sender) for index, sender in hops]
        known = [rate for rate in rates if rate is not None]
        if not known:
            continue
        slowest = [place for place, rate in enumerate(rates) if rate == min(known)]
        if (0 not in slowest) if local else (slowest == [0]):
            titled = "local" if local else "remote"
            where = hops[slowest[0]][1]
            text = f"the title mentions a {titled} bottleneck, but the slowest device on the path is `{where}`"
            remedy = "shape where the bottleneck is meant to be, or change the title"
            yield Mistake("bottleneck-elsewhere", "warning", ("title",), text, remedy)
            return


def _hop_rate(case: Case, link: int, sender: str) -> int | None:
    return case.rate(case.network.device(link, sender))


def _path_rate(case: Case, device: str) -> int | None:
    """The rate of the slowest device on the path of the fastest flow through a device."""
    slowest = []
    for flow in case.through(device):
        rates = [_hop_rate(case, *hop) for hop in case.network.links_on(*flow.direction)]
        slowest.append(min((rate for rate in rates if rate is not None), default=None))
    return max((rate for rate in slowest if rate is not None), default=None)


def _most_through(case: Case, device: str) -> int | None:
    """The rate at which traffic may pass a device: that of the slowest device of its path, or what UDP sends."""
    slowest = _path_rate(case, device)
    sent = [flow.most_bps * flow.opens for flow in case.data_through(device) if isinstance(flow, Datagrams)]
    own = case.rate(device)
    datagrams = min(sum(sent), own) if own is not None else sum(sent)
    return max(slowest or 0, datagrams) or None


def _delays(stage: Qdisc) -> bool:
    return stage.kind == "netem" and any(stage.options.get(name) for name in ("delay", "jitter", "rate"))


def _bbr_on_plain_queue(case: Case) -> Iterator[Mistake]:
    for flow in case.over_tcp:
        kind = case.first_queue(flow)
        if control_of(flow).kind == "bbr" and kind is not None and qdiscs.of(kind).queue in ("one fifo", "fifos"):
            text = f"BBR above `{kind}` is paced by TCP's own timer, one per connection"
            remedy = "nothing to do: Linux has needed no `fq` for this since 4.13"
            yield Mistake("bbr-internal-pacing", "info", flow.loc, text, remedy)


def _lossy_offloads(case: Case, wire: Wire) -> Iterator[Mistake]:
    """A loss drops an skb, which between hosts with offloads is a train of segments."""
    given = [
        (key, begin)
        for key in ("loss", "corrupt")
        for end in (0, 1)
        for begin, each in wire.values(key, end).items()
        if each and each.get(key, 1) > 0
    ]
    key, begin = next(iter(given), ("police" if any(wire.link.police) else None, 0))
    trains = [host not in case.network.switches and offloads_of(case.keys, host) == "on" for host in wire.link.ends]
    if key is not None and all(trains) and case.over_tcp:
        text = f"with offloads on, `{key}` drops whole skbs of up to 64 KB instead of single packets"
        yield Mistake(
            "skbs-lost-whole", "warning", wire.key(key, begin), text, "write `offloads: off` or `offloads: gso`"
        )


def _truncated_jitter(wire: Wire) -> Iterator[Mistake]:
    for end in (0, 1):
        jitters, delays = wire.values("jitter", end), wire.values("delay", end)
        options, delay = jitters[0], delays[0]
        for begin in sorted({*jitters, *delays}):
            options, delay = jitters.get(begin, options), delays.get(begin, delay)
            jitter = (options or {}).get("jitter", 0)
            if jitter > delay:
                text = f"a jitter of {time_word(jitter)} exceeds the delay: it is limited to {time_word(delay)}"
                remedy = f"give a `delay` of {time_word(jitter)} or more, or less jitter"
                yield Mistake("jitter-above-delay", "warning", wire.key("jitter", begin), text, remedy, jitter - delay)
                return


def _short_trace(case: Case, wire: Wire) -> Iterator[Mistake]:
    there, back = wire.link.ends
    ways = ("",) if wire.link.trace[0] == wire.link.trace[1] else (f" {there} -> {back}", f" {back} -> {there}")
    for way, trace in zip(ways, wire.link.trace, strict=False):
        if trace is not None and trace.length_ns < case.keys.duration:
            length, times = time_word(trace.length_ns), case.keys.duration / trace.length_ns
            text = f"the trace{way} lasts {length} and is played {times:.1f} times"
            remedy = f"nothing to do, or make `duration` {length}"
            yield Mistake("trace-repeats", "info", (*wire.place, "trace"), text, remedy, times)


def _late_change(case: Case, place: Loc, schedule: Sequence[Change | SignalChange]) -> Iterator[Mistake]:
    _, stop = case.window
    for number, change in enumerate(schedule):
        if change.at >= stop:
            text = f"this change is after the measurement window, which ends at {time_word(stop)}"
            remedy = "change it earlier, or measure for longer"
            yield Mistake("change-unmeasured", "warning", (*place, "schedule", number, "at"), text, remedy)


def _few_pings(case: Case) -> Iterator[Mistake]:
    start, stop = case.window
    for flow in case.flows:
        if isinstance(flow, Echo) and (stop - start) // flow.interval_ns < MIN_PINGS:
            count = (stop - start) // flow.interval_ns
            text = f"the measurement window has {count} pings of `{flow.name}`, fewer than {MIN_PINGS}"
            remedy = f"measure for {time_word(MIN_PINGS * flow.interval_ns)} or ping more often"
            yield Mistake("few-pings", "warning", (*flow.loc, "interval"), text, remedy, -count)


def _slow_start(case: Case) -> Iterator[Mistake]:
    # What is measured of a flow with a size is its completion, which slow start belongs to.
    lasting = [flow for flow in case.bulk if flow.arrivals is None and flow.bytes is None]
    if not lasting:
        return
    first = min(flow.start_ns for flow in lasting)
    longest = max(case.round_trip(flow) for flow in lasting)
    queued = min(SLOW_START_WITH_QUEUE_NS, SLOW_START_WITH_QUEUE_ROUND_TRIPS * max(longest, SHORTEST_ROUND_TRIP_NS))
    over = first + max(queued, SLOW_START_ROUND_TRIPS * longest)
    start, _ = case.window
    if start < over:
        begins = (
            f"{time_word(start - first)} after the first flow starts, when slow start may not be over"
            if start >= first
            else f"{time_word(first - start)} before the first bulk flow starts"
        )
        measure = case.keys.measure
        remedy = (
            f"set `measure.warmup` to {time_word(over - (start - measure.warmup))} or more"
            if measure.window is None
            else f"begin `measure.window` at {time_word(over)} or later"
        )
        text = f"the measurement window begins {begins}"
        unless = ", unless you study the start of flows"
        hint = remedy + unless
        yield Mistake("slow-start-measured", "warning", ("measure", "window"), text, hint, over - start)


def _same_starts(case: Case) -> Iterator[Mistake]:
    if case.keys.repeat.max > 1 and case.flows and not any(draws(flow) for flow in case.flows):
        text = "repetitions hardly differ, because all flows start at the same times in each"
        remedy = "spread the starts: `jitter: 10ms` in a traffic entry"
        yield Mistake("repetitions-alike", "warning", ("repeat",), text, remedy)


def _idle_adaptation(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    host = (case.keys.hosts or {}).get(direction(device).source)
    name = host.stack if host is not None else STACK
    adapts = next(stack for stack in stacks() if stack.name == name).values["red_timer"] == "Runs"
    if not adapts and any(each.options.get("adaptive") == 1 for each in _with_descendants(root)):
        text = "`adaptive` of `red` changes nothing since Linux 5.7: its probability stays as given"
        remedy = (
            f"leave it out, or simulate an older kernel: `hosts: {{{direction(device).source}: {{stack: linux-5.4}}}}`"
        )
        yield Mistake("adaptive-without-effect", "warning", ("qdiscs", device), text, remedy)


def _with_descendants(root: Qdisc) -> Iterator[Qdisc]:
    """A discipline and all below it."""
    yield root
    for _, child in root.children:
        yield from _with_descendants(child)


def _is_split(case: Case, root: Qdisc) -> bool:
    """Skbs that are too large leave the queue as segments. [linux-6.12 sch_cake.c, sch_tbf.c]"""
    burst = case.option(root, "burst") if root.kind == "tbf" else None
    return case.option(leaf(root), "split_gso") == 1 or (burst is not None and burst < LARGEST_SKB)


def _large_skbs(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    rate = case.rate(device)
    host = direction(device).source
    offloads = offloads_of(case.keys, host)
    flows = case.over_tcp_through(device)
    own = any(data_of(flow).source == host for flow in flows)
    if rate is None or not (offloads == "on" or (offloads == "gso" and own)) or _is_split(case, root):
        return
    time = LARGEST_SKB * 8 * 10**9 // rate
    if flows and time > LONG_SKB_NS:
        text = f"an skb of 64 KB, as TCP with offloads sends on short paths, takes {round(time / 10**6)}ms at "
        text += rate_word(rate)
        remedy = "write `offloads: off`, as is usual in testbeds at such rates, unless you study offloads"
        yield Mistake("large-skbs", "warning", ("offloads",), text, remedy, time)


def _of_classes(case: Case, device: str, root: Qdisc) -> Iterator[Mistake]:
    """What becomes of packets that no filter matches, and how classes share."""
    hosts = case.network.hosts
    crossing = case.crossing(device)
    for node in _with_descendants(root):
        for found in (class_guards.unmatched(node, crossing, hosts), class_guards.clamped(node)):
            if found is not None:
                yield Mistake(found.code, "warning", ("qdiscs", device), found.text, found.remedy)


def _buffer(case: Case, device: str, queue: Qdisc) -> int | None:
    """Bytes of full-sized frames that a FIFO can hold; None if it is no FIFO or its limit is not known."""
    queue = leaf(queue)
    limit = case.option(queue, "limit") if qdiscs.of(queue.kind).queue == "one fifo" else None
    if limit is None:
        return None
    return limit if qdiscs.of(queue.kind).limits_bytes else limit * case.frame(device)

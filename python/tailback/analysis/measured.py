"""A measured run: its tables, and the other facts that the metrics need."""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, field

from tailback.analysis import media, metrics, responsiveness, sharing, sockets, steadiness, warmup, watching, wifi
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import Window
from tailback.resolved import Writes


class Measure(Struct, frozen=True):
    """The facts about a run that a summary needs in addition to its tables."""

    window: Window
    bin_ns: int
    """Width of the bins of `flows`."""
    tcp_flows: tuple[str, ...]
    other_flows: tuple[str, ...]
    """Flows with a goodput that are not TCP (UDP)."""
    directions: Mapping[str, str]
    competing: tuple[tuple[str, ...], ...] = ()
    """The TCP flows in groups that compete, for Jain's index."""
    sized_flows: tuple[str, ...] = ()
    """TCP flows that end after a number of bytes."""
    sizes_bytes: Mapping[str, int] = field(default_factory=dict)
    """The bytes of each of these."""
    writes: Mapping[str, Writes] = field(default_factory=dict)
    """TCP flows whose application has no data at times: when it has."""
    least_s: Mapping[str, float] = field(default_factory=dict)
    """The shortest completion time that the path allows each of these, in s."""
    rates_bps: Mapping[str, float] = field(default_factory=dict)
    """Mean rate over the window of each device that has one: the minimum of its link and its shapers."""
    streams: Mapping[str, media.Stream] = field(default_factory=dict)
    """The directions of calls and games."""
    probes: responsiveness.Probes | None = None
    """The probes of responsiveness; `None` if there are none."""
    videos: Mapping[str, watching.Playback] = field(default_factory=dict)
    """The videos."""
    radios: tuple[wifi.Pair, ...] = ()
    """Pairs of access point and station, one for each station."""
    changes: tuple[str, ...] = ()
    """What the file lets change inside the window."""
    lasting: tuple[str, ...] = ()
    """Flows that send during half of the window or more, and have no size."""
    capacity_bps: float | None = None
    """The rate that the paths of all TCP flows allow, if known."""
    tcp_info: Literal["interval", "ack"] = "interval"
    """When the table of this name has rows."""

    @property
    def flows(self) -> tuple[str, ...]:
        """All flows that have a goodput."""
        return self.tcp_flows + self.other_flows

    def towards(self, direction: str) -> frozenset[str]:
        """The flows in this direction."""
        return frozenset(flow for flow, known in self.directions.items() if known == direction)


class Measured(Struct, dict=True):
    """The input from which the value of a metric is computed."""

    tables: Mapping[str, Table]
    cost: Mapping[str, float]
    measure: Measure
    found: dict[str, Any] = field(default_factory=dict)
    """The values of the metrics before it in the registry, by key."""

    @property
    def window(self) -> Window:
        """The measurement window."""
        return self.measure.window

    @cached_property
    def sockets(self) -> Table | None:
        """The samples of the sending sockets at the ends of intervals; `None` if there are none."""
        return self._samples(sockets.at_intervals) if self.measure.tcp_info == "ack" else self.tables.get("tcp_info")

    @cached_property
    def acks(self) -> Table | None:
        """Those at ACKs."""
        return self._samples(sockets.at_acks) if self.measure.tcp_info == "ack" else None

    def _samples(self, which: Callable[[Mapping[str, Columns], Collection[str], int], Table]) -> Table | None:
        known = "tcp_info" in self.tables
        return which(self.tables, self.measure.tcp_flows, self.measure.bin_ns) if known else None

    @cached_property
    def heard(self) -> dict[str, media.Heard]:
        """The calls and games as their listeners hear them."""
        if not self.measure.streams:
            return {}
        datagrams = self.tables.get("datagrams", Table.of({"t": [], "flow": [], "delay_ms": []}))
        return media.heard(datagrams, self.measure.streams, self.window)

    @cached_property
    def settling(self) -> dict[str, warmup.Settling]:
        """The series whose warm-up is estimated."""
        sampled = {} if self.sockets is None else {"tcp_info": self.sockets}
        return warmup.settling({**self.tables, **sampled}, self.window, self.measure.bin_ns)

    @cached_property
    def courses(self) -> dict[str, steadiness.Course]:
        """The same series in the window, to tell whether they are steady."""
        most = {"goodput_mbps": None if self.measure.capacity_bps is None else self.measure.capacity_bps / 1e6}
        changes = bool(self.measure.changes)
        return {
            name: steadiness.Course(name, each, self.window, changes, most.get(name))
            for name, each in self.settling.items()
        }

    @cached_property
    def _events(self) -> Columns | None:
        """Start and end of the flows with a size; `None` if there are none."""
        return sharing.flow_events(self.tables) if self.measure.sized_flows else None

    @cached_property
    def goodput(self) -> dict[str, float]:
        """Goodput of every flow over the window in Mbit/s; 0 for a flow that received nothing."""
        if "flows" not in self.tables:
            return {}
        sized = sharing.spans(self._events, self.measure.sized_flows) if self._events is not None else None
        seen = metrics.goodput(self.tables["flows"], self.window, self.measure.bin_ns, sized)
        return {flow: seen.get(flow, 0.0) for flow in self.measure.flows}

    @cached_property
    def own_goodput(self) -> dict[str, float]:
        """As `goodput`, but that of a flow with a size over the time for which it was active in the window."""
        if self._events is None:
            return self.goodput
        active = sharing.active_seconds(self._events, self.measure.sized_flows, self.window)
        return {
            flow: mbps * self.window.seconds / active.get(flow, self.window.seconds)
            for flow, mbps in self.goodput.items()
        }

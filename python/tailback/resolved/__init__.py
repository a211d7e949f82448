"""The resolved scenario of one run as frozen records, its JSON, and the rates of its devices.

`tailback.scenario` creates it from an experiment file; backends run it, results store it, analysis reads it.
"""

from tailback.resolved.codec import ScenarioUnreadable, of_json, to_json, to_text
from tailback.resolved.competing import competing
from tailback.resolved.constancy import capacity_bps, changes, lasting
from tailback.resolved.devices import Device, mean_rate, rate_of, rates_of, shaped_rate
from tailback.resolved.links import Change, Link, Policer, Route, Trace
from tailback.resolved.paths import Path, Paths
from tailback.resolved.programs import HOST, BroughtFile, Program
from tailback.resolved.qdiscs import AttachedQdisc, Class, Filter, Fits, Qdisc
from tailback.resolved.scenario import ControlSource, Host, Offloads, Record, Scenario, without_controls
from tailback.resolved.size_table import SizeTable
from tailback.resolved.traffic import (
    FLOWS,
    MILLISECOND_SHIFT,
    Adapt,
    Connection,
    Control,
    Endpoint,
    Flow,
    Media,
    Multiplexing,
    NamedControl,
    Observed,
    Page,
    Ping,
    Protocol,
    Request,
    SmallQueue,
    SocketOptions,
    Tcp,
    Traffic,
    Udp,
    Video,
    VideoRule,
    Writes,
)
from tailback.resolved.wifi import Cell, Driver, Edca, Mode, SignalChange, Station

__all__ = [
    "FLOWS",
    "HOST",
    "MILLISECOND_SHIFT",
    "Adapt",
    "AttachedQdisc",
    "BroughtFile",
    "Cell",
    "Change",
    "Class",
    "Connection",
    "Control",
    "ControlSource",
    "Device",
    "Driver",
    "Edca",
    "Endpoint",
    "Filter",
    "Fits",
    "Flow",
    "Host",
    "Link",
    "Media",
    "Mode",
    "Multiplexing",
    "NamedControl",
    "Observed",
    "Offloads",
    "Page",
    "Path",
    "Paths",
    "Ping",
    "Policer",
    "Program",
    "Protocol",
    "Qdisc",
    "Record",
    "Request",
    "Route",
    "Scenario",
    "ScenarioUnreadable",
    "SignalChange",
    "SizeTable",
    "SmallQueue",
    "SocketOptions",
    "Station",
    "Tcp",
    "Trace",
    "Traffic",
    "Udp",
    "Video",
    "VideoRule",
    "Writes",
    "capacity_bps",
    "changes",
    "competing",
    "lasting",
    "mean_rate",
    "of_json",
    "rate_of",
    "rates_of",
    "shaped_rate",
    "to_json",
    "to_text",
    "without_controls",
]

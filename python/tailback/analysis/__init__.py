"""Computes all numbers that Tailback reports, as pure functions of the tables of a run (`docs/tables.md`)."""

from tailback.analysis.intervals import half_width, t_interval
from tailback.analysis.metric import Column
from tailback.analysis.metrics import (
    bin_width_ns,
    cwnd_samples,
    drops,
    goodput,
    jain_index,
    marks,
    percentiles,
    ping_loss,
    ping_samples,
    retransmits,
    tcp_rtt_samples,
    throughput_bins,
)
from tailback.analysis.repetitions import configurations
from tailback.analysis.stopping import Stopping
from tailback.analysis.summary import Measure, summarise
from tailback.analysis.warmup import mser5, steady_from
from tailback.analysis.window import Window

__all__ = [
    "Column",
    "Measure",
    "Stopping",
    "Window",
    "bin_width_ns",
    "configurations",
    "cwnd_samples",
    "drops",
    "goodput",
    "half_width",
    "jain_index",
    "marks",
    "mser5",
    "percentiles",
    "ping_loss",
    "ping_samples",
    "retransmits",
    "steady_from",
    "summarise",
    "t_interval",
    "tcp_rtt_samples",
    "throughput_bins",
]

"""From tables to tables: every number Tailback reports, as a pure function of the tables of `docs/contracts.md`."""

from tailback.analysis.metrics import (
    cwnd_samples,
    drops,
    goodput,
    jain_index,
    marks,
    percentiles,
    ping_samples,
    retransmits,
    tcp_rtt_samples,
    throughput_bins,
)
from tailback.analysis.repetitions import Column, configurations
from tailback.analysis.summary import Measure, summarise
from tailback.analysis.window import Window

__all__ = [
    "Column",
    "Measure",
    "Window",
    "configurations",
    "cwnd_samples",
    "drops",
    "goodput",
    "jain_index",
    "marks",
    "percentiles",
    "ping_samples",
    "retransmits",
    "summarise",
    "tcp_rtt_samples",
    "throughput_bins",
]

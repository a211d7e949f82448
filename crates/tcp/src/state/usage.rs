//! How much of cwnd was used, and counters of sent data.

use tailback_units::SimTime;

/// How much of cwnd was used. [linux-6.12 tcp_output.c tcp_cwnd_validate]
#[derive(Clone, Debug, Default)]
pub(crate) struct CwndUsage {
    pub(crate) limited: bool,
    pub(crate) max_packets_out: u32,
    pub(crate) usage_seq: u64,
    pub(crate) flight_before_ack: u32,
    pub(crate) used: u32,
    pub(crate) stamp: SimTime,
}

/// Totals of what was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentTotals {
    pub(crate) data_segs_out: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_retrans: u64,
    pub(crate) total_retrans: u64,
}

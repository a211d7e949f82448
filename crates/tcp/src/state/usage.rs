//! How much of cwnd was used, and counters of sent data.

use tailback_cc::{Flow, Window};
use tailback_units::SimTime;

use crate::stack::CwndUse;

/// Segments of cwnd that a flow may leave unused and still be limited by it. [linux-3.10 tcp.h tcp_max_burst]
const BURST: u32 = 3;

/// How much of cwnd was used. [linux-6.12 tcp_output.c tcp_cwnd_validate]
#[derive(Clone, Debug, Default)]
pub(crate) struct CwndUsage {
    pub(crate) limited: bool,
    max_packets_out: u32,
    usage_seq: u64,
    pub(crate) flight_before_ack: u32,
    pub(crate) used: u32,
    pub(crate) stamp: SimTime,
}

impl CwndUsage {
    /// True if cwnd limited the flow, which controls check before they grow it. [linux-6.12 tcp.h tcp_is_cwnd_limited]
    #[inline]
    pub(crate) fn is_limited_by(&self, window: &Window, by: CwndUse) -> bool {
        if by == CwndUse::Flight {
            return self.flight_before_ack + BURST >= window.cwnd.0;
        }
        if !window.in_slow_start() {
            return self.limited;
        }
        let flight = window.cwnd.0 < 2 * self.max_packets_out;
        flight || (by == CwndUse::Limit && self.limited)
    }

    /// After a run of the transmit loop that cwnd limited, or did not. [linux-6.12 tcp_output.c tcp_cwnd_validate]
    #[inline]
    pub(crate) fn note_run(&mut self, limited: bool, packets_out: u32, flow: &Flow, by: CwndUse) {
        let window_passed = flow.snd_una >= self.usage_seq;
        let kept = self.limited && by == CwndUse::Limit;
        let larger = packets_out > self.max_packets_out && !kept;
        let by_limit = limited && by != CwndUse::LargestFlight;
        if window_passed || by_limit || larger {
            self.limited = limited;
            self.max_packets_out = packets_out;
            self.usage_seq = flow.snd_nxt;
        }
    }
}

/// Totals of what was sent.
// A segment counts in the first and in the third: two neighbours would be added up as a vector, which takes longer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentTotals {
    pub(crate) data_segs_out: u64,
    pub(crate) bytes_retrans: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) total_retrans: u64,
}

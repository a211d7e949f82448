//! TCP Small Queues: limits the data of a socket that is queued below TCP.
//!
//! ```text
//! limit = max(2 · truesize, pacing_rate >> shift)           shift 10: about 1 ms of the pacing rate
//! limit = max(2 · truesize, (pacing_rate >> 10) · time / 1 ms)      times that no shift gives
//! limit = min(limit, tcp_limit_output_bytes)                unless the socket is paced (from Linux 5.0 to 6.15)
//! limit × 2 for retransmissions
//! refused:  wmem_alloc > limit,  unless at most one skb is unacknowledged
//! ```
//! `wmem_alloc` is the truesize passed to the device and not yet freed. The counter of the kernel is 1 when idle, so
//! exactly two equal skbs fit into a limit of 2 · truesize. A socket that is refused is throttled: the next credit
//! schedules its handler, which runs the transmit loop. No timer is involved.
//! [linux-6.12 tcp_output.c tcp_small_queue_check, tcp_wfree, tcp_tsq_handler]

use tailback_cc::PacingStatus;
use tailback_units::Span;

use crate::config::SmallQueueLimit;
use crate::sender::Sender;

/// Bytes of the pacing rate in a time, counted as a multiple of the millisecond of shift 10.
fn sent_within(span: Span, rate: u64) -> u64 {
    let bytes = u128::from(rate >> MILLISECOND_SHIFT) * u128::from(span.as_nanos());
    u64::try_from(bytes / u128::from(MILLISECOND)).unwrap_or(u64::MAX)
}

/// Linux's shift, for 1/1024 s. [linux-6.12 sock.c sock_init_data_uid]
const MILLISECOND_SHIFT: u32 = 10;
const MILLISECOND: u64 = 1_000_000;

/// New data, or a retransmission with its doubled limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urgency {
    NewData,
    Retransmission,
}

impl Sender {
    #[inline(always)]
    pub(crate) fn small_queue_limit(&self, truesize: u64, urgency: Urgency) -> u64 {
        let rate = self.window.pacing_rate.bytes_per_sec();
        // Before Linux 5.0 it bounds all sockets.
        let all = self.settings.stack.output_limit.holds_paced();
        let capped = all || self.flow.pacing_status == PacingStatus::None;
        let by_bytes = if capped { self.settings.limit_output_bytes } else { u64::MAX };
        let limit = match self.below.limit {
            SmallQueueLimit::Shift(shift) | SmallQueueLimit::Check(shift) => {
                (2 * truesize).max(rate >> shift).min(by_bytes)
            }
            SmallQueueLimit::Time { span, .. } => (2 * truesize).max(sent_within(span, rate)).min(by_bytes),
            SmallQueueLimit::Off => (2 * truesize).max(rate),
            SmallQueueLimit::Bytes(bytes) => (2 * truesize).max(rate).min(bytes),
            SmallQueueLimit::Packets(packets) => truesize * u64::from(packets),
        };
        match urgency {
            Urgency::NewData => limit,
            Urgency::Retransmission => limit.saturating_mul(2),
        }
    }

    /// True if the segment must wait for a credit; the socket is throttled then.
    pub(crate) fn held_by_small_queue(&mut self, payload: u32, urgency: Urgency) -> bool {
        let limit = self.small_queue_limit(u64::from(self.settings.truesize(payload)), urgency);
        // The idle value of the kernel's counter is 1.
        if self.below.wmem_alloc < limit
            || self.scoreboard.queue().skbs() <= self.settings.stack.always_sends.skbs()
        {
            return false;
        }
        self.below.throttled = true;
        true
    }
}

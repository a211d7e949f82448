//! The delivery rate, and the rate sample of one ACK.

use tailback_units::Span;

use crate::clock::Micros;
use crate::queue::{SentSegment, Tags, sent_after};

/// The state between ACKs.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    /// Send time of the newest segment delivered.
    pub(crate) first_sent_at: Micros,
    /// `flow.delivered_at` on this clock.
    pub(crate) delivered_at: Micros,
    pub(crate) newest: Option<(u64, Span)>,
}

/// What is collected while one ACK is processed.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleInProgress {
    pub(crate) prior_delivered: u64,
    pub(crate) prior_delivered_at: Option<Micros>,
    pub(crate) last_end: u64,
    pub(crate) send_interval: Span,
    pub(crate) app_limited: bool,
    pub(crate) retransmission: bool,
    pub(crate) rtt: Option<Span>,
    pub(crate) prior_in_flight: u32,
    pub(crate) tx_in_flight: u32,
    pub(crate) lost_before: u32,
}

impl SampleInProgress {
    /// An ACK arrived with `prior_in_flight` segments in flight.
    pub(crate) fn new(prior_in_flight: u32) -> Self {
        SampleInProgress { prior_in_flight, ..SampleInProgress::default() }
    }
}

/// The delivery rate that one ACK shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredRate {
    /// Segments delivered in the interval; `None` if the ACK shows no rate.
    pub(crate) delivered: Option<u64>,
    /// The interval, if it is credible.
    pub(crate) interval: Option<Span>,
}

impl DeliveryRate {
    /// A segment was delivered: if it is the newest of this ACK, it spans the sample.
    /// [linux-6.12 tcp_rate.c tcp_rate_skb_delivered]
    #[inline]
    pub(crate) fn take_delivered(&mut self, segment: &SentSegment, sample: &mut SampleInProgress) {
        if segment.delivered_at == Micros::NEVER {
            return;
        }
        let (sent_at, end) = (segment.sent_at, segment.end());
        if sample.prior_delivered == 0 || sent_after((sent_at, end), (self.first_sent_at, sample.last_end)) {
            sample.prior_delivered = segment.delivered;
            sample.prior_delivered_at = Some(segment.delivered_at);
            sample.app_limited = segment.tags.has(Tags::APP_LIMITED);
            sample.retransmission = segment.tags.retransmitted();
            sample.last_end = end;
            (sample.lost_before, sample.tx_in_flight) = (segment.lost, segment.in_flight);
            sample.send_interval = sent_at.since(segment.first_sent_at);
            self.first_sent_at = sent_at;
        }
    }

    /// The newest rate, for `tcp_info`: an application-limited sample counts only if it is higher.
    pub(crate) fn remember(&mut self, count: u64, interval: Span, app_limited: bool) {
        let higher = |(old, over): (u64, Span)| {
            u128::from(count) * u128::from(over.as_nanos())
                >= u128::from(old) * u128::from(interval.as_nanos())
        };
        if !app_limited || self.newest.is_none_or(higher) {
            self.newest = Some((count, interval));
        }
    }
}

/// The properties of an ACK that decide whether its sample is valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckKind {
    pub(crate) maybe_delayed: bool,
    pub(crate) reneging: bool,
}

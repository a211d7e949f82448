//! Delivery-rate samples: how fast were the segments delivered that this ACK tells of?
//!
//! Each segment remembers how many had been delivered when it was sent, and when. The newest segment that an ACK
//! delivers then spans an interval in which `delivered − prior_delivered` segments arrived:
//!
//! ```text
//! interval = max(time over which they were sent, time over which they were acknowledged)
//! rate     = delivered_in_interval / interval
//! ```
//! An interval below the minimum RTT is not credible. [draft-cheng-iccrg-delivery-rate-estimation]
//! [linux-6.12 tcp_rate.c]

use tailback_cc::RateSample;
use tailback_units::{Rate, Segs, SimTime, Span};

use crate::queue::{Index, Tags, sent_after};
use crate::sender::Sender;

/// What the connection keeps between ACKs.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    /// Send time of the newest segment delivered.
    pub(crate) first_sent_at: SimTime,
    newest: Option<(u64, Span)>,
}

/// What is collected while one ACK is processed.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleInProgress {
    pub(crate) prior_delivered: u64,
    prior_delivered_at: Option<SimTime>,
    last_end: u64,
    send_interval: Span,
    app_limited: bool,
    retransmission: bool,
    pub(crate) rtt: Option<Span>,
    pub(crate) prior_in_flight: u32,
    tx_in_flight: u32,
    lost_before: u64,
}

impl SampleInProgress {
    /// An ACK arrived with so many segments in flight.
    pub(crate) fn new(prior_in_flight: u32) -> Self {
        SampleInProgress { prior_in_flight, ..SampleInProgress::default() }
    }
}

/// Difference of two instants on the µs clock that TCP reads.
pub(crate) fn micros_since(now: SimTime, earlier: SimTime) -> Span {
    Span::from_micros(now.as_micros().saturating_sub(earlier.as_micros()))
}

impl Sender {
    /// Stamps a segment that is being sent. [linux-6.12 tcp_rate.c tcp_rate_skb_sent]
    pub(crate) fn stamp_sent(&mut self, index: Index, sent_at: SimTime) {
        if self.flow.packets_out.0 == 0 {
            self.rate.first_sent_at = sent_at;
            self.flow.delivered_at = sent_at;
        }
        let (first, delivered_at, delivered) =
            (self.rate.first_sent_at, self.flow.delivered_at, self.flow.delivered);
        let app_limited = self.flow.app_limited != 0;
        let (lost, in_flight) = (self.flow.lost, self.in_flight() + 1);
        let segment = self.queue.get_mut(index);
        segment.first_sent_at = first;
        segment.delivered_at = delivered_at;
        segment.delivered = delivered;
        (segment.lost, segment.in_flight) = (lost, in_flight);
        segment.tags.clear(Tags::APP_LIMITED);
        if app_limited {
            segment.tags.set(Tags::APP_LIMITED);
        }
    }

    /// A segment was delivered: if it is the newest of this ACK, it spans the sample.
    /// [linux-6.12 tcp_rate.c tcp_rate_skb_delivered]
    pub(crate) fn sample_delivered(&mut self, index: Index, sample: &mut SampleInProgress) {
        let segment = self.queue.get_mut(index);
        if segment.delivered_at == SimTime::NEVER {
            return;
        }
        let (sent_at, end) = (segment.sent_at, segment.end());
        if sample.prior_delivered == 0
            || sent_after((sent_at, end), (self.rate.first_sent_at, sample.last_end))
        {
            sample.prior_delivered = segment.delivered;
            sample.prior_delivered_at = Some(segment.delivered_at);
            sample.app_limited = segment.tags.has(Tags::APP_LIMITED);
            sample.retransmission = segment.tags.retransmitted();
            sample.last_end = end;
            (sample.lost_before, sample.tx_in_flight) = (segment.lost, segment.in_flight);
            sample.send_interval = micros_since(sent_at, segment.first_sent_at);
            self.rate.first_sent_at = sent_at;
        }
        if segment.tags.has(Tags::SACKED) {
            segment.delivered_at = SimTime::NEVER;
        }
    }

    /// The sample of a whole ACK. [linux-6.12 tcp_rate.c tcp_rate_gen]
    pub(crate) fn rate_sample(
        &mut self,
        sample: &SampleInProgress,
        delivered: u32,
        losses: u32,
        ack: AckKind,
    ) -> RateSample {
        if self.flow.app_limited != 0 && self.flow.delivered > self.flow.app_limited {
            self.flow.app_limited = 0;
        }
        if delivered > 0 {
            self.flow.delivered_at = self.flow.now;
        }
        let mut result = RateSample {
            prior_delivered: sample.prior_delivered,
            delivered: None,
            interval: None,
            rtt: sample.rtt,
            losses: Segs(losses),
            acked_sacked: Segs(delivered),
            tx_in_flight: Segs(sample.tx_in_flight),
            lost: self.flow.lost - sample.lost_before,
            prior_in_flight: Segs(sample.prior_in_flight),
            is_app_limited: sample.app_limited,
            is_retrans: sample.retransmission,
            is_ack_delayed: ack.maybe_delayed,
        };
        let Some(since) = sample.prior_delivered_at.filter(|_| !ack.reneging) else { return result };
        let count = self.flow.delivered - sample.prior_delivered;
        result.delivered = Some(count);
        let interval = sample.send_interval.max(micros_since(self.flow.now, since));
        if interval < self.flow.min_rtt.unwrap_or(Span::MAX) {
            return result;
        }
        result.interval = Some(interval);
        self.remember_rate(count, interval, sample.app_limited);
        result
    }

    /// The newest rate, for `tcp_info`: an application-limited sample counts only if it is higher.
    fn remember_rate(&mut self, count: u64, interval: Span, app_limited: bool) {
        let higher = self.rate.newest.is_none_or(|(old, over)| {
            u128::from(count) * u128::from(over.as_nanos())
                >= u128::from(old) * u128::from(interval.as_nanos())
        });
        if !app_limited || higher {
            self.rate.newest = Some((count, interval));
        }
    }

    /// Newest delivery rate. [linux-6.12 tcp.c tcp_compute_delivery_rate]
    pub(crate) fn delivery_rate(&self) -> Rate {
        match self.rate.newest {
            Some((count, interval)) if !interval.is_zero() => {
                let bytes = count * u64::from(self.mss());
                Rate::from_bytes_per_sec(bytes * 1_000_000 / interval.as_micros())
            }
            _ => Rate::ZERO,
        }
    }

    /// Marks the flow as limited by its application if nothing else limits it: nothing waits in TCP or below it,
    /// cwnd is not full, and all losses are repaired. [linux-6.12 tcp_rate.c tcp_rate_check_app_limited]
    pub(crate) fn check_app_limited(&mut self) {
        let idle = self.unsent() < u64::from(self.mss())
            && self.wmem_alloc == 0
            && self.in_flight() < self.window.cwnd.0
            && self.lost_out <= self.retrans_out;
        if idle {
            self.mark_app_limited();
        }
    }

    /// Rate samples are limited by the application until what is in flight now is delivered.
    pub(crate) fn mark_app_limited(&mut self) {
        self.flow.app_limited = (self.flow.delivered + u64::from(self.in_flight())).max(1);
    }
}

/// What of an ACK decides whether its sample is credible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckKind {
    pub(crate) maybe_delayed: bool,
    pub(crate) reneging: bool,
}

//! Delivery-rate samples: how fast the segments that one ACK acknowledges were delivered.
//!
//! Each segment stores how many segments had been delivered when it was sent, and when. The newest segment that an ACK
//! delivers defines an interval in which `delivered − prior_delivered` segments were delivered:
//!
//! ```text
//! interval = max(time over which they were sent, time over which they were acknowledged)
//! rate     = delivered_in_interval / interval
//! ```
//! An interval below the minimum RTT is invalid. [draft-cheng-iccrg-delivery-rate-estimation]
//! [linux-6.12 tcp_rate.c]

use tailback_cc::Flow;
use tailback_units::{Rate, SimTime, Span};

use crate::clock::Micros;
use crate::queue::{SentSegment, Stamp, Tags, sent_after};

/// The state between ACKs.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    /// Send time of the newest segment delivered.
    first_sent_at: Micros,
    /// `flow.delivered_at` on this clock.
    delivered_at: Micros,
    newest: Option<(u64, Span)>,
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
    /// The connection opens.
    pub(crate) fn begin(&mut self, now: SimTime) {
        self.delivered_at = Micros::of(now);
    }

    /// Nothing is outstanding, and something is sent: the next interval begins.
    #[inline]
    pub(crate) fn restart(&mut self, sent_at: SimTime, flow: &mut Flow) {
        flow.delivered_at = sent_at;
        self.first_sent_at = Micros::of(sent_at);
        self.delivered_at = Micros::of(sent_at);
    }

    /// The stamp of what is being sent beside `in_flight` segments, an skb of one or several segments.
    /// [linux-6.12 tcp_rate.c tcp_rate_skb_sent]
    #[inline]
    pub(crate) fn stamp(&self, sent_at: SimTime, in_flight: u32, flow: &Flow) -> Stamp {
        debug_assert_eq!(self.delivered_at, Micros::of(flow.delivered_at));
        Stamp {
            sent_at: Micros::of(sent_at),
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: flow.delivered,
            lost: flow.lost as u32,
            in_flight: in_flight + 1,
            limited: if flow.app_limited != 0 { Tags::APP_LIMITED } else { Tags::default() },
        }
    }

    /// The delivery rate that a whole ACK shows, which delivered so many segments. [linux-6.12 tcp_rate.c tcp_rate_gen]
    #[inline]
    pub(crate) fn measure(
        &mut self,
        sample: &SampleInProgress,
        delivered: u32,
        ack: AckKind,
        now: Micros,
        flow: &mut Flow,
    ) -> MeasuredRate {
        debug_assert_eq!(now, Micros::of(flow.now));
        if flow.app_limited != 0 && flow.delivered > flow.app_limited {
            flow.app_limited = 0;
        }
        if delivered > 0 {
            flow.delivered_at = flow.now;
            self.delivered_at = now;
        }
        let mut measured = MeasuredRate { delivered: None, interval: None };
        let Some(since) = sample.prior_delivered_at.filter(|_| !ack.reneging) else { return measured };
        let count = flow.delivered - sample.prior_delivered;
        measured.delivered = Some(count);
        let interval = sample.send_interval.max(now.since(since));
        if interval < flow.min_rtt.unwrap_or(Span::MAX) {
            return measured;
        }
        measured.interval = Some(interval);
        self.remember(count, interval, sample.app_limited);
        measured
    }

    /// Newest delivery rate. [linux-6.12 tcp.c tcp_compute_delivery_rate]
    pub(crate) fn newest(&self, mss: u32) -> Rate {
        match self.newest {
            Some((count, interval)) if !interval.is_zero() => {
                let bytes = count * u64::from(mss);
                Rate::from_bytes_per_sec(bytes * 1_000_000 / interval.as_micros())
            }
            _ => Rate::ZERO,
        }
    }

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
    fn remember(&mut self, count: u64, interval: Span, app_limited: bool) {
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

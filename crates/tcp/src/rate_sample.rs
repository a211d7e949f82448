//! Delivery-rate samples: how fast the segments that this ACK acknowledges were delivered.
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

use tailback_units::{Rate, SimTime, Span};

use crate::clock::Micros;
use crate::queue::{Stamp, Tags};
use crate::sender::Sender;
use crate::state::rate::{AckKind, MeasuredRate, SampleInProgress};

impl Sender {
    /// The stamp of what is being sent, an skb of one or several segments. [linux-6.12 tcp_rate.c tcp_rate_skb_sent]
    pub(crate) fn stamp(&mut self, sent_at: SimTime) -> Stamp {
        if self.scoreboard.is_empty() {
            self.rate.first_sent_at = Micros::of(sent_at);
            self.flow.delivered_at = sent_at;
            self.rate.delivered_at = Micros::of(sent_at);
        }
        debug_assert_eq!(self.rate.delivered_at, Micros::of(self.flow.delivered_at));
        Stamp {
            sent_at: Micros::of(sent_at),
            first_sent_at: self.rate.first_sent_at,
            delivered_at: self.rate.delivered_at,
            delivered: self.flow.delivered,
            lost: self.flow.lost as u32,
            in_flight: self.in_flight() + 1,
            limited: if self.flow.app_limited != 0 { Tags::APP_LIMITED } else { Tags::default() },
        }
    }

    /// The delivery rate that a whole ACK shows. [linux-6.12 tcp_rate.c tcp_rate_gen]
    #[inline]
    pub(crate) fn measure_rate(
        &mut self,
        sample: &SampleInProgress,
        delivered: u32,
        ack: AckKind,
        now: Micros,
    ) -> MeasuredRate {
        debug_assert_eq!(now, Micros::of(self.flow.now));
        if self.flow.app_limited != 0 && self.flow.delivered > self.flow.app_limited {
            self.flow.app_limited = 0;
        }
        if delivered > 0 {
            self.flow.delivered_at = self.flow.now;
            self.rate.delivered_at = now;
        }
        let mut measured = MeasuredRate { delivered: None, interval: None };
        let Some(since) = sample.prior_delivered_at.filter(|_| !ack.reneging) else { return measured };
        let count = self.flow.delivered - sample.prior_delivered;
        measured.delivered = Some(count);
        let interval = sample.send_interval.max(now.since(since));
        if interval < self.flow.min_rtt.unwrap_or(Span::MAX) {
            return measured;
        }
        measured.interval = Some(interval);
        self.rate.remember(count, interval, sample.app_limited);
        measured
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
            && self.below.wmem_alloc == 0
            && self.in_flight() < self.window.cwnd.0
            && self.scoreboard.lost_out() <= self.scoreboard.retrans_out();
        if idle {
            self.mark_app_limited();
        }
    }

    /// Marks rate samples as application-limited until the data in flight is delivered.
    pub(crate) fn mark_app_limited(&mut self) {
        self.flow.app_limited = (self.flow.delivered + u64::from(self.in_flight())).max(1);
    }
}

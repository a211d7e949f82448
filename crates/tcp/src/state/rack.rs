//! The state of RACK.

use tailback_cc::Flow;
use tailback_units::{SimTime, Span};

use crate::clock::{Micros, micros_since};
use crate::queue::{Tags, sent_after};

/// Recoveries for which a widened reordering window is kept. [linux-6.12 tcp.h TCP_RACK_RECOVERY_THRESH]
const PERSIST: u8 = 16;

/// State of RACK.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Send time and end of the newest delivered segment.
    pub(crate) newest: (Micros, u64),
    /// The round-trip time of the newest delivered segment.
    rtt: Span,
    /// A segment was delivered since the last search for losses.
    pub(crate) advanced: bool,
    pub(crate) dsack_seen: bool,
    /// At most 255. [linux-6.12 tcp_recovery.c tcp_rack_update_reo_wnd]
    pub(crate) steps: u8,
    persist: u8,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            newest: (Micros::default(), 0),
            rtt: Span::ZERO,
            advanced: false,
            dsack_seen: false,
            steps: 1,
            persist: 0,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// Keeps the widened window for the coming recoveries.
    pub(crate) fn renew_persist(&mut self) {
        self.persist = PERSIST.min(self.persist + 1);
    }

    /// Widens the reordering window after DSACKs, once per round trip; narrows it when its time is over.
    /// [rfc8985 §6.2 step 4] [linux-6.12 tcp_recovery.c tcp_rack_update_reo_wnd]
    #[inline]
    pub(crate) fn update_steps(&mut self, prior_delivered: u64, delivered: u64) {
        // Nearly always: no DSACK, and the window is as narrow as it gets.
        let may_change = self.dsack_seen | (self.steps != 1);
        if may_change && prior_delivered > 0 {
            self.change_steps(prior_delivered, delivered);
        }
    }

    fn change_steps(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = self.steps.saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery ended that was not spurious.
    pub(crate) fn count_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A segment was delivered, sent at `sent.0` and ending at `sent.1`. [linux-6.12 tcp_recovery.c tcp_rack_advance]
    pub(crate) fn advance(&mut self, tags: Tags, sent: (Micros, u64), flow: &Flow) {
        let rtt = micros_since(flow.now, sent.0);
        // Less than the minimum RTT: the original arrived, not the retransmission.
        if tags.retransmitted() && flow.min_rtt.is_none_or(|min| rtt < min) {
            return;
        }
        self.delivered(sent, rtt);
    }

    /// Time until a segment counts as lost; `None` = now. [linux-6.12 tcp_recovery.c tcp_rack_skb_timeout]
    pub(crate) fn time_left(&self, sent_at: Micros, window: Span, now: SimTime) -> Option<Span> {
        let age = micros_since(now, sent_at);
        let allowed = self.rtt + window;
        (allowed > age).then(|| allowed - age)
    }

    /// A segment was delivered after `rtt`: sent at `sent.0` and ending at `sent.1`.
    #[inline]
    pub(crate) fn delivered(&mut self, sent: (Micros, u64), rtt: Span) {
        self.advanced = true;
        self.rtt = rtt;
        if sent_after(sent, self.newest) {
            self.newest = sent;
        }
    }
}

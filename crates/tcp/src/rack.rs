//! RACK: a segment is lost when one sent sufficiently later was delivered.
//!
//! ```text
//! lost:  sent before the newest delivered segment,  and  rack.rtt + reo_wnd ≤ now − sent
//! reo_wnd = 0                                   in recovery, or with ≥ reordering segments SACKed,
//!                                               as long as no reordering was ever seen
//!         = min(min_rtt/4 · steps, srtt)        otherwise; steps grow with DSACKs, for 16 recoveries
//! ```
//! Segments that are not old enough arm the reordering timer. [rfc8985 §6] [linux-6.12 tcp_recovery.c]

use tailback_cc::{CaState, LostSegment};
use tailback_units::{Segs, SimTime, Span};

use crate::queue::{Index, Tags, sent_after};
use crate::rate_sample::micros_since;
use crate::sender::Sender;
use crate::timers::{TIMEOUT_MIN, TimerKind};

/// Recoveries for which a widened reordering window is kept. [linux-6.12 tcp.h TCP_RACK_RECOVERY_THRESH]
const PERSIST: u8 = 16;

/// What RACK knows.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Send time and end of the newest delivered segment.
    newest: (SimTime, u64),
    /// Its round-trip time.
    rtt: Span,
    /// Something was delivered since the last look.
    pub(crate) advanced: bool,
    pub(crate) dsack_seen: bool,
    /// At most 255. [linux-6.12 tcp_recovery.c tcp_rack_update_reo_wnd]
    pub(crate) steps: u8,
    pub(crate) persist: u8,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            newest: (SimTime::ZERO, 0),
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
}

impl Sender {
    /// A segment was delivered. [linux-6.12 tcp_recovery.c tcp_rack_advance]
    pub(crate) fn rack_advance(&mut self, tags: Tags, end: u64, sent_at: SimTime) {
        let rtt = micros_since(self.flow.now, sent_at);
        // Faster than any round trip: it is the original that arrived, not the retransmission.
        if tags.retransmitted() && self.flow.min_rtt.is_none_or(|min| rtt < min) {
            return;
        }
        self.rack.advanced = true;
        self.rack.rtt = rtt;
        if sent_after((sent_at, end), self.rack.newest) {
            self.rack.newest = (sent_at, end);
        }
    }

    /// Widens the reordering window after DSACKs, once per round trip; narrows it when its time is over.
    /// [rfc8985 §6.2 step 4] [linux-6.12 tcp_recovery.c tcp_rack_update_reo_wnd]
    pub(crate) fn rack_update_reordering_window(&mut self, prior_delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < self.rack.last_delivered {
            self.rack.dsack_seen = false;
        }
        if self.rack.dsack_seen {
            self.rack.steps = self.rack.steps.saturating_add(1);
            self.rack.dsack_seen = false;
            self.rack.last_delivered = self.flow.delivered;
            self.rack.persist = PERSIST;
        } else if self.rack.persist == 0 {
            self.rack.steps = 1;
        }
    }

    fn reordering_window(&self) -> Span {
        if self.reord_seen == 0
            && (self.flow.ca_state >= CaState::Recovery || self.sacked_out >= self.reordering)
        {
            return Span::ZERO;
        }
        let quarter = Span::from_micros(self.flow.min_rtt.map_or(0, |min| min.as_micros() >> 2));
        (quarter * u64::from(self.rack.steps)).min(self.rtt.srtt())
    }

    /// Time until a segment counts as lost; `None` = now. [linux-6.12 tcp_recovery.c tcp_rack_skb_timeout]
    pub(crate) fn rack_time_left(&self, index: Index, window: Span) -> Option<Span> {
        let age = micros_since(self.flow.now, self.queue.get(index).sent_at);
        let allowed = self.rack.rtt + window;
        (allowed > age).then(|| allowed - age)
    }

    /// Looks for losses in the order of transmission; returns how long until the next segment may be lost.
    /// [linux-6.12 tcp_recovery.c tcp_rack_detect_loss]
    pub(crate) fn rack_detect_loss(&mut self) -> Option<Span> {
        let window = self.reordering_window();
        let mut longest = None;
        let mut next = self.queue.oldest();
        while let Some(index) = next {
            next = self.queue.after_in_time(index);
            let segment = self.queue.get(index);
            if segment.tags.has(Tags::LOST) && !segment.tags.has(Tags::RETRANS) {
                continue;
            }
            if !sent_after(self.rack.newest, (segment.sent_at, segment.end())) {
                break;
            }
            match self.rack_time_left(index, window) {
                None => {
                    self.mark_lost(index);
                    self.queue.unlink(index);
                }
                left => longest = longest.max(left),
            }
        }
        longest
    }

    /// Detects losses after an ACK. True if the reordering timer was armed: the ACK must not touch the timer then.
    /// [linux-6.12 tcp_recovery.c tcp_rack_mark_lost]
    pub(crate) fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        let Some(left) = self.rack_detect_loss() else { return false };
        self.arm(TimerKind::Reordering, left + TIMEOUT_MIN);
        true
    }

    /// Marks a segment lost; a lost retransmission counts again. [linux-6.12 tcp_input.c tcp_mark_skb_lost]
    pub(crate) fn mark_lost(&mut self, index: Index) {
        let tags = self.queue.get(index).tags;
        if tags.has(Tags::SACKED) {
            return;
        }
        self.retransmit_hint = self.retransmit_hint.min(index);
        if !tags.has(Tags::LOST) {
            self.lost_out += 1;
            self.queue.get_mut(index).tags.set(Tags::LOST);
            self.count_lost(index);
        } else if tags.has(Tags::RETRANS) {
            self.queue.get_mut(index).tags.clear(Tags::RETRANS);
            self.retrans_out -= 1;
            self.count_lost(index);
        }
    }

    fn count_lost(&mut self, index: Index) {
        self.flow.lost += 1;
        let segment = self.queue.get(index);
        let lost = LostSegment {
            tx_in_flight: Segs(segment.in_flight),
            lost: self.flow.lost - segment.lost,
            is_app_limited: segment.tags.has(Tags::APP_LIMITED),
        };
        self.control.moments().segment_lost(&lost, &self.flow, &mut self.window);
    }
}

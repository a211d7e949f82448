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
use tailback_units::{Segs, Span};

use crate::queue::{Index, Tags, sent_after};
use crate::sender::Sender;
use crate::state::timer::TimerKind;
use crate::timers::TIMEOUT_MIN;

impl Sender {
    fn reordering_window(&self) -> Span {
        if self.recovery.reord_seen == 0 {
            let enough = self.scoreboard.sacked_out() >= self.recovery.reordering;
            let threshold = enough && self.settings.loss_detection.uses_threshold;
            if threshold || self.flow.ca_state >= CaState::Recovery {
                return Span::ZERO;
            }
        }
        let quarter = Span::from_micros(self.flow.min_rtt.map_or(0, |min| min.as_micros() >> 2));
        (quarter * u64::from(self.rack.steps)).min(self.rtt.srtt())
    }

    /// Detects losses in the order of transmission; returns the time until the next segment may count as lost.
    /// [linux-6.12 tcp_recovery.c tcp_rack_detect_loss]
    pub(crate) fn rack_detect_loss(&mut self) -> Option<Span> {
        let window = self.reordering_window();
        let mut longest = None;
        let mut next = self.scoreboard.queue().oldest();
        while let Some(index) = next {
            next = self.scoreboard.queue().after_in_time(index);
            let segment = self.scoreboard.get(index);
            if segment.tags.has(Tags::LOST) && !segment.tags.has(Tags::RETRANS) {
                continue;
            }
            if !sent_after(self.rack.newest, (segment.sent_at, segment.end())) {
                break;
            }
            match self.rack.time_left(self.scoreboard.get(index).sent_at, window, self.flow.now) {
                None => {
                    self.mark_lost(index);
                    self.scoreboard.leave_time_order(index);
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
        self.timer.arm(TimerKind::Reordering, left + TIMEOUT_MIN, &self.flow);
        true
    }

    /// Marks a segment lost; a lost retransmission counts again. [linux-6.12 tcp_input.c tcp_mark_skb_lost]
    pub(crate) fn mark_lost(&mut self, index: Index) {
        if !self.scoreboard.mark_lost(index) {
            return;
        }
        self.flow.lost += 1;
        let segment = self.scoreboard.get(index);
        let lost = LostSegment {
            tx_in_flight: Segs(segment.in_flight),
            lost: u64::from((self.flow.lost as u32).wrapping_sub(segment.lost)),
            is_app_limited: segment.tags.has(Tags::APP_LIMITED),
        };
        self.control.hooks_mut().segment_lost(&lost, &self.flow, &mut self.window);
    }
}
